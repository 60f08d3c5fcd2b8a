"""Undo: an instant of the data table leaves nothing in the metadata table.

Before its files leave the timeline of the data table: an instant that is completed here and unknown there
counts for every reader (Hudi takes it for archived).
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from hoodoo.errors import StorageError
from hoodoo.model.config import TableConfig
from hoodoo.produce.markers import MARKERS
from hoodoo.storage.api import Storage
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.names import parse_path

from hoodoo_metadata.below import Below
from hoodoo_metadata.table import FOLDER, own_config


def forget(storage: Storage, config: TableConfig, requested: str) -> None:
    """Take ``requested`` out of the metadata table of the table in ``storage``; one listing if there is none.

    A completed one is pending first, so that no reader sees half of it.
    """
    table = Below(storage, FOLDER)
    folders = _partitions(table)
    if not folders:
        return
    path = own_config(config).timeline_path
    layout = layout_of(config)
    mine = [
        (instant, entry.path)
        for entry in table.list(path)
        if (instant := layout.parse_instant(entry.name)) is not None
        and instant.requested == requested
    ]
    for instant, file in mine:
        if instant.is_completed:
            table.delete(file)
    for _ in range(2):  # again at the end: a task may have put one meanwhile
        _delete(table, folders, {requested})
        for _instant, file in sorted(mine, key=lambda m: m[1]):  # inflight before requested
            table.delete(file)
    with suppress(StorageError):
        table.delete_prefix(f"{MARKERS}/{requested}")


def sweep_forgotten(storage: Storage, undone: Collection[str]) -> None:
    """Delete what tasks put for the instants ``undone`` after these had been taken out. ``undone`` are on the
    timeline of the table no more, nor on that of the metadata table. Lists each partition."""
    table = Below(storage, FOLDER)
    _delete(table, _partitions(table), undone)


def _partitions(table: Below) -> list[str]:
    return [e.path for e in table.list() if e.is_dir and not e.name.startswith(".hoodie")]


def _delete(table: Below, folders: Collection[str], instants: Collection[str]) -> None:
    """The files of ``instants``, by their names."""
    for folder in folders:
        for entry in table.list(folder):
            found = parse_path(entry.path, entry.size)
            if found is not None and found.instant in instants:
                table.delete(entry.path)
