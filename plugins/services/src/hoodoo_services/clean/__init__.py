"""Clean: old file slices that nobody needs are deleted."""
