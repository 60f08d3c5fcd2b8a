"""Hoodoo tables where data frames are: polars, pandas, pyarrow datasets."""

__version__ = "0.2.0"
