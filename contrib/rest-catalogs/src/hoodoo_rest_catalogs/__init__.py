"""Catalogs that are asked over HTTP: Unity Catalog, Apache Polaris, BigQuery."""

__version__ = "0.2.0"
