"""The usual sources."""
