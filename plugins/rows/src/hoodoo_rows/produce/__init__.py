"""Produce: files that tasks make: their fence, markers, names, statistics, and which keys
changed."""
