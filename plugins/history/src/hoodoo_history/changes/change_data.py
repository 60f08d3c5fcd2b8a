"""Change data logs: what a writer noted of a commit's changes when it rewrote a base file.

Tables with ``hoodie.table.cdc.enabled`` have them. With both images in the log no other file is
needed, so that such changes outlive a clean of the file before; with the image before, the rows
that the commit wrote are looked up. Logs of keys alone spare nothing: those changes are computed
from slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import CorruptTableError
from hoodoo.kernel.log_files import LogFiles
from hoodoo.model.commit import CHANGE_LOGS, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import LogFile
from hoodoo.model.log_block import BlockKind
from hoodoo.model.meta import META_COLUMNS, RECORD_KEY
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path
from hoodoo_rows.api import Batches

from hoodoo_history.change_logs.mode import (
    BEFORE,
    BEFORE_AFTER,
    DELETED,
    INSERTED,
    UPDATED,
    mode,
)
from hoodoo_history.changes.unit import DELETE, INSERT, UPDATE, ChangeSpec

# Column `record_key` of a log with the image before.
KEY = "record_key"
_OPS = ((DELETED, DELETE), (UPDATED, UPDATE), (INSERTED, INSERT))
Found = tuple[str, "pa.Table | None", "pa.Table | None", "pa.ChunkedArray | None"]


def has_after(config: TableConfig) -> bool:
    """Whether the logs of the table hold both images."""
    return mode(config) == BEFORE_AFTER


def noted(
    config: TableConfig, spec: ChangeSpec, stats: Sequence[WriteStat]
) -> tuple[LogFile, ...] | None:
    """The change data logs that say all that ``spec`` asks of what ``stats`` wrote; else None.

    Images in logs have no meta columns. A file without a log (one rewritten) is not noted.
    """
    if mode(config) not in (BEFORE, BEFORE_AFTER) or not spec.needs.isdisjoint(META_COLUMNS):
        return None
    found: list[LogFile] = []
    for stat in stats:
        logs = stat.extra.get(CHANGE_LOGS)
        if not isinstance(logs, dict) or not logs or stat.log_version is not None:
            return None
        for path, size in logs.items():
            log = parse_path(path, size)
            if not isinstance(log, LogFile):
                return None
            found.append(log)
    return tuple(found)


def logged_changes(
    storage: Storage,
    logs: Sequence[LogFile],
    spec: ChangeSpec,
    ops: Sequence[str],
    files: LogFiles,
) -> Iterator[Found]:
    """(operation, rows before, rows after, their keys) by block; ``after`` is None too where the
    log does not say it, and keys where the log does. Raises CorruptTableError for damaged logs."""
    image = pa.schema([f for f in spec.rows.schema if f.name in spec.needs])
    for log in logs:
        with files.reader(storage, log.path, log.size) as reader:
            for damage in reader.damages:
                raise CorruptTableError(
                    f"{storage.root}: {damage}".rstrip("."),
                    "change data logs are nowhere else",
                    "restore the file from a copy, or read changes since a later point.",
                )
            for block in reader.blocks:
                if block.kind != BlockKind.CDC:
                    continue
                rows = reader.rows(block)
                for letter, op in _OPS:
                    if op not in ops:
                        continue
                    some = rows.filter(pc.equal(rows.column("op"), letter))
                    if some.num_rows:
                        yield op, *_images(some, op, image, log.path)


def _images(
    rows: pa.Table, op: str, image: pa.Schema, path: str
) -> tuple[pa.Table | None, pa.Table | None, pa.ChunkedArray | None]:
    before = None if op == INSERT else _image(rows, "before", image, path)
    if op == DELETE:
        return before, None, None
    if "after" in rows.schema.names:
        return before, _image(rows, "after", image, path), None
    return before, None, rows.column(KEY)


def _image(rows: pa.Table, name: str, image: pa.Schema, path: str) -> pa.Table:
    column = rows.column(name).combine_chunks()
    struct = column if isinstance(column, pa.Array) else column.chunk(0)
    batch = pa.RecordBatch.from_struct_array(struct)
    return pa.Table.from_batches([Batches.widened(batch, image, path)])


def looked_up(keys: pa.ChunkedArray, written: pa.Table, path: str) -> pa.Table:
    """The rows of ``written`` with these keys, in their order. CorruptTableError if one lacks."""
    at = pc.index_in(keys, value_set=written.column(RECORD_KEY).combine_chunks())
    if at.null_count:
        raise CorruptTableError(
            f"file group of {path}",
            "its change data log has keys that the commit's base file lacks",
            "restore the files from a copy, or read changes since a later point.",
        )
    return written.take(at)
