"""Spark's SQL for DuckDB: each operator, cast and function that text may use is written so that
DuckDB computes the value that Spark computes in ANSI mode. What is not listed here is refused."""
