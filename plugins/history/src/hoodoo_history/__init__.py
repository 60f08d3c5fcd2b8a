"""Reads of what happened to a Hoodoo table: rows that were written since a moment, and what each
commit did to each."""

__version__ = "0.2.0"
