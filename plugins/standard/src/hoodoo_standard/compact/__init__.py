"""Compaction strategies: which file slices become a base file next."""
