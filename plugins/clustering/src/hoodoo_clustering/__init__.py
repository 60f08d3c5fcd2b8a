"""Clustering of Hoodoo tables (RFC-19): which files are rewritten together, how, and beside
whom."""

__version__ = "0.2.0"
