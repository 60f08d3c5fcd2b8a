"""Partitions ``column_stats`` and ``partition_stats``: the least and greatest values of columns."""
