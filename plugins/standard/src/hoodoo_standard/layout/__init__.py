"""Layouts: which file group takes an insert."""
