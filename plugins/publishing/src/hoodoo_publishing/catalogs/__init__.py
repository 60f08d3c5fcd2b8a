"""Entries in catalogs for readers of other formats: ``faces``: which there are, and their updates
after what was published; ``entry``: those of Hive and Glue; ``commits``: those of Iceberg's own
catalogs."""
