"""Compaction: the log files of a slice become a base file."""
