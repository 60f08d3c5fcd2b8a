"""Merge: rows of one key become one; a base file and its log files become a slice."""
