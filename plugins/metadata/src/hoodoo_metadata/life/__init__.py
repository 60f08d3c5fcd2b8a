"""The life of partitions: built, caught up, undone, dropped, verified."""
