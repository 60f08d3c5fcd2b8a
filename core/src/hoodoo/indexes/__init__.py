"""Indexes of a table compared: with each other, and with where the rows are."""
