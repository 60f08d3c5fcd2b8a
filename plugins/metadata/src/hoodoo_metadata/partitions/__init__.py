"""The partitions of the metadata table as objects: how each begins, follows actions, and merges its
values."""
