"""Cleaning policies: which file slices nobody needs any more."""
