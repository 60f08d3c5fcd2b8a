"""Indexes of a table: compared, made anew, and taken for each other."""
