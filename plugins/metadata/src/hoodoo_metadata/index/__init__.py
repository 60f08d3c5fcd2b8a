"""The indexes that look keys up in the metadata table."""
