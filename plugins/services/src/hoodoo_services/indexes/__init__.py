"""Indexes of a table: compared, rebuilt, and taken for each other."""
