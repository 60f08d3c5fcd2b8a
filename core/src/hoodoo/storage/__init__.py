"""Storage: the only door to bytes."""
