"""Writing the archived timeline of versions 8 and 9: a file for new instants, and its place there.

A file is put before a manifest names it. One that a crash has left without a manifest is taken up
by the next archiver whose instants it holds, so that nothing is written twice or left lying."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import CommitConflictError, CorruptTableError, StorageUnknownError
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key

from hoodoo_services.archived import manifest as history
from hoodoo_services.archived.data_files import SCHEMA, HistoryWriter, read_rows
from hoodoo_services.archived.manifest import Files, HistoryFile, Snapshot

Key = tuple[str, str]  # requested time, action


@frozen
class HistoryRow:
    """A completed instant as it is archived; ``metadata`` and ``plan`` are bytes of its files."""

    requested: str
    completed: str | None
    action: str
    metadata: bytes
    plan: bytes

    @property
    def key(self) -> Key:
        return (self.requested, self.action)


def add(storage: Storage, config: TableConfig, rows: Sequence[HistoryRow]) -> None:
    """Make ``rows`` (by requested time) a part of the archived timeline, those that are not yet.

    When this returns, they are durable and readers find them. Raises CommitConflictError where too
    many others archive at the same time.
    """
    seen = history.snapshot(storage, config)
    near = [f for f in seen.files if _meets(f, rows)]
    stray = _stray(storage, config, seen, rows)
    known = {key for file in (*near, *stray) for key in keys(storage, config, file) or ()}
    new = [row for row in rows if row.key not in known]
    added = (*stray, *((_put(storage, config, new),) if new else ()))

    def change(files: Files) -> Files:
        names = {f.name for f in files}
        return (*files, *(f for f in added if f.name not in names))

    history.publish(storage, config, change)


def keys(storage: Storage, config: TableConfig, file: HistoryFile) -> frozenset[Key] | None:
    """The instants that a file holds; None if it is gone or another tool's crash has torn it."""
    path = f"{history.folder(config)}/{file.name}"
    try:
        table = read_rows(storage, path, ("instantTime", "action"))
    except (FileNotFoundError, CorruptTableError):
        return None
    columns = (table["instantTime"].to_pylist(), table["action"].to_pylist())
    return frozenset(zip(*columns, strict=True))


def _meets(file: HistoryFile, rows: Sequence[HistoryRow]) -> bool:
    first, last = order_key(rows[0].requested), order_key(rows[-1].requested)
    return order_key(file.first) <= last and first <= order_key(file.last)


def _stray(
    storage: Storage, config: TableConfig, seen: Snapshot, rows: Sequence[HistoryRow]
) -> list[HistoryFile]:
    """Whole files about instants of ``rows`` that were put and never named: their archiver is dead,
    or no further than this one."""
    named = {f.name for f in seen.files}
    listed = [
        file
        for entry in seen.entries
        if entry.name not in named
        and (file := HistoryFile.parse(entry.name, entry.size)) is not None
        and file.level == 0
        and _meets(file, rows)
    ]
    if listed:  # what older manifests name has been merged since
        for number in history.manifest_numbers(seen.entries):
            named.update(f.name for f in history.read_manifest(storage, config, number) or ())
    wanted = {row.key for row in rows}
    return [
        file
        for file in listed
        if file.name not in named and wanted & (keys(storage, config, file) or frozenset())
    ]


def _put(storage: Storage, config: TableConfig, rows: Sequence[HistoryRow]) -> HistoryFile:
    sink = io.BytesIO()
    with HistoryWriter(sink) as writer:
        writer.write(_table(rows))
    data = sink.getvalue()
    first, last = rows[0].requested, rows[-1].requested
    file = HistoryFile(f"{first}_{last}_0.parquet", len(data), first, last, 0)
    path = f"{history.folder(config)}/{file.name}"
    for _ in range(2):
        try:
            done = storage.put_if_absent(path, data)
        except StorageUnknownError:
            done = storage.put_if_absent(path, data)
        if done:
            return file
        there = keys(storage, config, file)
        if there is not None and there >= {row.key for row in rows}:
            found = storage.head(path)
            return evolve(file, size=found.size) if found else file
        if there is None:  # torn
            storage.delete(path)
    raise CommitConflictError(
        f"{storage.root}/{path}",
        "another archiver's file is there, with other instants.",
        "Nothing is lost: the next write archives again.",
    )


def _table(rows: Sequence[HistoryRow]) -> pa.Table:
    columns = [
        [row.requested for row in rows],
        [row.completed for row in rows],
        [row.action for row in rows],
        [row.metadata or None for row in rows],
        [row.plan or None for row in rows],
        [1] * len(rows),
    ]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
