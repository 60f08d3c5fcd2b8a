"""Restore: the table becomes what it was at a point."""
