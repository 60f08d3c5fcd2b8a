"""Locks: exclusion between the writers of a table."""
