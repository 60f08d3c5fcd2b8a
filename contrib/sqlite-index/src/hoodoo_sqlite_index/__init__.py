"""An index of record keys in an SQLite database."""

__version__ = "0.1.0"
