"""Hudi's meta columns, by the names that other readers know."""

from __future__ import annotations

COMMIT_TIME = "_hoodie_commit_time"
RECORD_KEY = "_hoodie_record_key"
FILE_NAME = "_hoodie_file_name"
META_COLUMNS = (
    COMMIT_TIME,
    "_hoodie_commit_seqno",
    RECORD_KEY,
    "_hoodie_partition_path",
    FILE_NAME,
)
