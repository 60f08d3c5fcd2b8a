"""Hoodoo beside Spark Hudi, Delta Lake and Iceberg: the same rows, the same Spark, the same cores, by turns."""
