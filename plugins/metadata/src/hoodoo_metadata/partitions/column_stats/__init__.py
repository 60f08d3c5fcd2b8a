"""The partitions of column ranges: what values files and partition paths have."""
