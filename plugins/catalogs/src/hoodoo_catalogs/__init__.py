"""Catalogs: tables by name, in a folder, in AWS Glue, in a Hive Metastore, kept up to date after
each commit."""

__version__ = "0.2.0"
