"""Procedures that show the files of a table, or of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hoodoo.model.filegroup import FileSlice
from hoodoo.options.kinds import Pattern
from hoodoo.participants.listing import build
from hoodoo.storage.api import Entry, Storage
from hoodoo.table.settings import open_storage
from hoodoo.table.table import Table
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_statements.session.procedures.procedure import Call, Procedure, Rows
from hoodoo_statements.session.table_functions import planned_groups

_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")


def slices(table: Table) -> tuple[FileSlice, ...]:
    """Every file slice of the table, also those that newer ones have replaced."""
    found = build(Snapshot(table.handle.storage, table.timeline()))
    return tuple(one for group in found.groups(replaced=True) for one in group.slices)


def _every_slice(call: Call) -> Rows:
    root = call.table.handle.storage.root
    return [
        (
            *_of_base(one, root),
            len(one.row_logs),
            sum(log.size for log in one.row_logs),
            _listed(f"{root}/{log.path}" for log in one.row_logs),
        )
        for one in slices(call.table)
        if _within(one, call)
    ][: call.limit]


def _newest_slices(call: Call) -> Rows:
    table, root = call.table, call.table.handle.storage.root
    planned = planned_groups(table)
    rows = []
    for one in table.file_slices():
        if not _within(one, call):
            continue
        base = one.base_file.size if one.base_file else 0
        logs = _divided(one, planned)
        sizes = [sum(log.size for log in each) for each in logs]
        rows.append(
            (
                *_of_base(one, root),
                len(one.row_logs),
                sum(sizes),
                *sizes,
                *(size / base if base else 0.0 for size in sizes),
                *(_listed(f"{root}/{log.path}" for log in each) for each in logs),
            )
        )
    return rows[: call.limit]


def _divided(one: FileSlice, planned: set[tuple[str, str]]) -> tuple[tuple[Any, ...], ...]:
    """The log files that a planned compaction takes, and the others."""
    waits = (one.partition_path, one.file_id) in planned
    return (one.row_logs, ()) if waits else ((), one.row_logs)


def _of_base(one: FileSlice, root: str) -> tuple[Any, ...]:
    base = one.base_file
    path = "" if base is None else f"{root}/{base.path}"
    return one.partition_path, one.file_id, one.instant, path, base.size if base else 0


def _listed(paths: Iterable[str]) -> str:
    return f"[{', '.join(paths)}]"


def _within(one: FileSlice, call: Call) -> bool:
    for name in ("path_regex", "partition_path"):
        wanted = str(call.get(name, "ALL_PARTITIONS"))
        if wanted == "ALL_PARTITIONS":
            continue
        if name == "partition_path" and one.partition_path != wanted:
            return False
        if name == "path_regex" and not Pattern().parse(wanted).fullmatch(one.partition_path):
            return False
    return True


def _folder(call: Call) -> Rows:
    """How many files a folder has, and how large they are; of each folder in it, on demand."""
    storage = _storage(call)
    found = list(_below(storage))
    if not call.get("is_sub"):
        rows = [_sums(storage.root, found)]
    else:
        by: dict[str, list[Entry]] = {}
        for entry in found:
            by.setdefault(entry.path.partition("/")[0], []).append(entry)
        rows = [_sums(f"{storage.root}/{name}", entries) for name, entries in by.items()]
    if call.get("sort"):
        rows.sort(key=lambda row: row[2], reverse=True)
    return rows[: call.limit]


def _sums(path: str, entries: list[Entry]) -> tuple[Any, ...]:
    size = sum(one.size for one in entries)
    folders, files = sum(one.is_dir for one in entries), sum(not one.is_dir for one in entries)
    return folders + 1, files, size, _in_units(size), path, -1, size, -1


def _in_units(size: int) -> str:
    shown, unit = float(size), 0
    while shown >= 1024 and unit < len(_UNITS) - 1:
        shown, unit = shown / 1024, unit + 1
    return f"{shown:.2f}{_UNITS[unit]}"


def _invalid(call: Call) -> Rows:
    """The Parquet files below a folder whose footer can't be read."""
    storage, rows = _storage(call), []
    for entry in _below(storage):
        if entry.is_dir or not entry.name.endswith(".parquet"):
            continue
        try:
            with storage.open(entry.path) as file:
                pq.read_metadata(file)
        except (pa.ArrowInvalid, OSError):
            rows.append((f"{storage.root}/{entry.path}",))
    return rows[: call.limit]


def _storage(call: Call) -> Storage:
    return open_storage(str(call.get("path")), {})


def _below(storage: Storage, folder: str = "") -> Iterator[Entry]:
    """Everything in a folder, at any depth."""
    for entry in storage.list(folder):
        yield entry
        if entry.is_dir:
            yield from _below(storage, entry.path)


_BASE = "partition file_id base_instant data_file data_file_size:long"
_VIEW = "table path max_instant- include_max- include_in_flight- exclude_compaction- limit=10"
PROCEDURES = {
    "show_fsview_all": Procedure(
        f"{_VIEW} path_regex=ALL_PARTITIONS filter",
        f"{_BASE} num_delta_files:long total_delta_file_size:long delta_files",
        _every_slice,
    ),
    "show_fsview_latest": Procedure(
        f"{_VIEW} path_regex=ALL_PARTITIONS filter partition_path=ALL_PARTITIONS merge-",
        f"{_BASE} num_delta_files:long total_delta_file_size:long "
        "delta_size_compaction_scheduled:long delta_size_compaction_unscheduled:long "
        "delta_to_base_radio_compaction_scheduled:double "
        "delta_to_base_radio_compaction_unscheduled:double "
        "delta_files_compaction_scheduled delta_files_compaction_unscheduled",
        _newest_slices,
    ),
    "show_fs_path_detail": Procedure(
        "path* is_sub=false sort=true limit=100 filter",
        "path_num:long file_num:long storage_size:long storage_size(unit) storage_path "
        "space_consumed:long quota:long space_quota:long",
        _folder,
    ),
    "show_invalid_parquet": Procedure(
        "path* parallelism- limit=100 needDelete- partitions- instants- filter", "path", _invalid
    ),
}
