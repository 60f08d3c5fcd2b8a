"""The metadata table as a table: file groups, slices, log files, compaction."""
