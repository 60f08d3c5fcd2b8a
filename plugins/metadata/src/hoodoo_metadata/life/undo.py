"""Undo: an instant of the data table leaves nothing in the metadata table.

Before its files leave the timeline of the data table: an instant that is completed here and unknown
there counts for every reader (Hudi takes it for archived)."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from attrs import evolve
from hoodoo.actions.rollback.failed_logs import left_behind
from hoodoo.errors import StorageError
from hoodoo.kernel.log_files import log_files
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import scratch_file
from hoodoo.timeline import properties
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.markers import MARKERS
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.plans import planned_logs
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import load

from hoodoo_metadata.table.below import Below
from hoodoo_metadata.table.log_places import time_of_day
from hoodoo_metadata.table.metadata_table import FOLDER, own_config
from hoodoo_metadata.table.own_logs import logs_of

# What the instant of a rollback ends with in a metadata table of version 6.
_ROLLBACK = "006"


def forget(storage: Storage, config: TableConfig, requested: str) -> None:
    """Take ``requested`` out of the metadata table of the table in ``storage``; one listing if
    there is none.

    A completed one is pending first, so that no reader sees half of it.
    """
    table = Below(storage, FOLDER)
    folders = _partitions(table)
    if not folders:
        return
    layout = layout_of(config)
    groups = _written(table, config, requested) if layout.log_names_slice else frozenset()
    # Again at the end: its writer may have begun it, and a task may have put a file meanwhile.
    for _ in range(2):
        mine = _timeline_files(table, config, {requested})
        for instant, file in mine:
            if instant.is_completed:
                table.delete(file)
        if layout.log_names_slice:
            _take_back(table, config, folders, requested, groups)
        else:
            _delete(table, folders, {requested})
        for _instant, file in sorted(mine, key=lambda m: m[1]):  # inflight before requested
            table.delete(file)
    with suppress(StorageError):
        table.delete_prefix(f"{MARKERS}/{requested}")


def sweep_forgotten(storage: Storage, undone: Collection[str]) -> None:
    """Delete what was put for the instants ``undone``, which are not on the timeline of the table
    any more, after these had been taken out: files of tasks, and what a writer began that died
    then. Lists each partition."""
    table = Below(storage, FOLDER)
    config = properties.load(storage)
    begun = [f for f in _timeline_files(table, config, undone) if not f[0].is_completed]
    for _instant, file in sorted(begun, key=lambda found: found[1]):  # inflight before requested
        table.delete(file)
    if not layout_of(config).log_names_slice:
        _delete(table, _partitions(table), undone)
        return
    planned = planned_logs(Snapshot(table, load(table, own_config(config))))
    for folder in _partitions(table):
        parsed = (parse_path(e.path, e.size) for e in table.list(folder) if not e.is_dir)
        logs = [file for file in parsed if isinstance(file, LogFile)]
        for log in left_behind(table, logs, set(undone), log_files()):
            if log.path not in planned:
                table.delete(log.path)


def _timeline_files(
    table: Below, config: TableConfig, requested: Collection[str]
) -> list[tuple[Instant, str]]:
    """The instants of the metadata table that were ``requested``, with their files."""
    layout = layout_of(config)
    parsed = (
        (layout.parse_instant(entry.name), entry.path)
        for entry in table.list(own_config(config).timeline_path)
    )
    return [
        (found, path)
        for found, path in parsed
        if found is not None and found.requested in requested
    ]


def _partitions(table: Below) -> list[str]:
    return [e.path for e in table.list() if e.is_dir and not e.name.startswith(".hoodie")]


def _written(table: Below, config: TableConfig, requested: str) -> frozenset[tuple[str, str]]:
    """The file groups that the deltacommit of ``requested`` says it writes to: another engine's may
    say so while it is pending. Before its files leave the timeline."""
    timeline = load(table, own_config(config))
    found: set[tuple[str, str]] = set()
    for state in (State.COMPLETED, State.INFLIGHT):
        with suppress(FileNotFoundError):
            told = timeline.metadata(table, Instant(requested, "deltacommit", state))
            found.update((s.partition_path, s.file_id) for s in told.stats if s.file_id)
    return frozenset(found)


def _take_back(
    table: Below,
    config: TableConfig,
    folders: Collection[str],
    requested: str,
    groups: Collection[tuple[str, str]],
) -> None:
    """In version 6: log files of ``requested`` alone go, but for those that a compaction is about
    to read; of others its blocks are taken back."""
    found = logs_of(table, folders, requested, log_files(), groups)
    planned = planned_logs(Snapshot(table, load(table, own_config(config))))
    for log in found.whole:
        if log.path not in planned:
            table.delete(log.path)
    for log in found.shared:
        behind = evolve(
            log, version=log.version + 1, write_token=f"0-0-{time_of_day(requested)}", size=0
        )
        with scratch_file(table) as local:
            writer = log_files().writer(local)
            writer.rollback_block(f"{requested}{_ROLLBACK}", requested)
            writer.close()
            table.put_file_if_absent(behind.path, local)


def _delete(table: Below, folders: Collection[str], instants: Collection[str]) -> None:
    """The files of ``instants``, by their names."""
    for folder in folders:
        for entry in table.list(folder):
            found = parse_path(entry.path, entry.size)
            if found is not None and found.instant in instants:
                table.delete(entry.path)
