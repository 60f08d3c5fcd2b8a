"""Text in, expressions out: SQL as people write it for Spark, read with sqlglot; DuckDB computes
what is made of it."""
