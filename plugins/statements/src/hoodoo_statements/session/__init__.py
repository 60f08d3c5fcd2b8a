"""Sessions: SQL over tables that have names, by DuckDB in this process or by Spark."""
