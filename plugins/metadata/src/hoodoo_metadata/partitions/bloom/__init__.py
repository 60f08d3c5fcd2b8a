"""The partition of bloom filters of record keys."""
