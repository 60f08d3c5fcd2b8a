"""The operations that rows of Spark can be written with, by a stream or by the data source."""

from __future__ import annotations

OPERATIONS = (
    "upsert",
    "insert",
    "append",
    "bulk_insert",
    "delete",
    "insert_overwrite",
    "insert_overwrite_table",
)
