"""Snapshot: one look at a table, which reads, writes and services share."""

from __future__ import annotations

import pyarrow as pa
from attrs import frozen

from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline


@frozen
class Snapshot:
    """``config``: the properties. ``schema``: the table's own columns by ``timeline`` (no meta columns). ``slices``: the
    newest of each file group that is part of the table by it."""

    storage: Storage
    config: TableConfig
    timeline: Timeline
    schema: pa.Schema
    slices: tuple[FileSlice, ...]
