"""Mergers: which of two rows of one key is kept."""
