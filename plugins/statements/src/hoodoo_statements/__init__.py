"""Statements on Hoodoo tables: delete, update and merge by predicate, and SQL; columns altered by
hand."""

__version__ = "0.2.0"
