"""Stored keys: files from before the record keys of their table became virtual."""

from __future__ import annotations

from hoodoo.model.config import STORED_UNTIL, TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.timeline.instants import order_key


def stores_keys(slice_: FileSlice, config: TableConfig) -> bool:
    """Whether some of the slice's files are from when the table stored its keys."""
    until = config.get(STORED_UNTIL)
    if config.populate_meta_fields or until is None:
        return False
    base = () if slice_.base_file is None else (slice_.base_file,)
    return any(order_key(f.instant) <= order_key(until) for f in (*base, *slice_.log_files))
