"""File formats: Parquet base files, and the data blocks of log files."""

__version__ = "0.2.0"
