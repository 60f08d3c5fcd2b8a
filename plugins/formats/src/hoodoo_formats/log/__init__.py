"""The data blocks of log files."""
