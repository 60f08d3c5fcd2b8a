"""Rows become files, and files become rows: how Hoodoo's tables are written and read."""

__version__ = "0.2.0"
