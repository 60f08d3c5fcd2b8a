"""Files of a service that is about to be published: the schema they have, and those that no stat names."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from hoodoo.model.filegroup import BaseFile
from hoodoo.model.meta import without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo.timeline.view import list_data


def schema_then(
    storage: Storage, timeline: Timeline, requested: str, schema: pa.Schema
) -> pa.Schema:
    """The table's own schema when the service ``requested`` was planned, ``schema`` if nobody said one until
    then: who reads as of it must be able to read its files, and what it rewrites is as old."""
    text = timeline.latest_schema_text(storage, requested)
    return schema if text is None else without_meta(arrow_schema(text))


def remove_unnamed(
    storage: Storage, timeline: Timeline, requested: str, named: set[str], paths: Collection[str]
) -> None:
    """Base files of the instant ``requested`` in the partition ``paths`` that are not among those ``named`` are
    deleted: an earlier run, or another tool's, left them. None is where another process has completed the instant."""
    unnamed = [
        entry.path
        for entry in list_data(storage, paths)
        if isinstance(file := parse_path(entry.path, entry.size), BaseFile)
        and file.instant == requested
        and entry.path not in named
    ]
    # Looked at after the listing: if another one has completed it, these files may be its own.
    if unnamed and reload(storage, timeline).find(requested) is None:
        for path in unnamed:
            storage.delete(path)
