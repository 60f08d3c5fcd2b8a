"""An index of record keys in an SQLite database."""

__version__ = "0.2.0"
