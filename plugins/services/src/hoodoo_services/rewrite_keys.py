"""Rewrite keys: an existing table's files stop to store their record keys (RFC-21, second roll-out
part).

The table's properties say first that keys are virtual; from then on stored ones are not looked at.
Then file groups are rewritten (:mod:`hoodoo_services.rewrite`); a run which is cut short is simply
begun again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.key_generator import KeyGenerator, table_properties
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import KEPT_META, POPULATE, STORED_UNTIL, VIRTUAL, TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.findings import Progress, silent
from hoodoo.model.meta import COMMIT_TIME, META_COLUMNS, PARTITION_PATH, RECORD_KEY
from hoodoo.options.virtual import KEPT_META as KEPT
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import StoredFiles

from hoodoo_services.indexes.stored import (
    Changes,
    delete_stored_index,
    stored_index,
    without_stored_keys,
)
from hoodoo_services.outcome import RewrittenKeys
from hoodoo_services.rewrite import forget_stored, rewritten

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class RewriteKeysAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once; what was cut short is
    begun again."""

    @classmethod
    def from_settings(cls, settings: Settings) -> RewriteKeysAction:
        return cls()

    def run(
        self,
        table: TableHandle,
        virtual: bool = True,
        engine: str | Engine | None = None,
        progress: Progress = silent,
    ) -> RewrittenKeys:
        if not virtual:
            _store_keys(table)
            return RewrittenKeys()
        self.enable(table)
        done, left = rewritten(table, partial(_stores_keys, table), engine, progress)
        if not left:
            forget_stored(table)
        groups = sum(len(commit.files) for commit in done)
        return RewrittenKeys(tuple(commit.instant for commit in done), groups, left)

    def enable(self, table: TableHandle, kept: Sequence[str] = (COMMIT_TIME,)) -> None:
        """The keys of ``table`` are virtual from now on; ``kept`` are the meta columns that rows
        store."""
        table.check_writable()
        table.refresh()
        if not table.config.populate_meta_fields:
            return
        kept = KEPT.parse(",".join(kept))
        generator = table.key_generator()
        StoredFiles.check_virtual(
            generator, table.config.key_generator or generator.__class__.__name__
        )
        columns = StoredFiles.key_columns(generator, table.schema)
        check_made(generator, table.stored_row(columns), columns)
        pinned = table_properties(generator)
        table.participants.drop_stale()
        table.use_properties(table.participants.each.make(True, table.participants.request()))
        enabled, own = enabling(table.timeline(), kept, pinned), stored_index(table)
        stored: Changes = {}

        def changes(now: TableConfig) -> Changes:
            nonlocal stored
            table.use_properties(now)  # others may have begun to build an index, or dropped one
            stored = without_stored_keys(table)
            return {**enabled, **stored}

        table.change_properties(changes)
        if stored:
            delete_stored_index(table, own)


def _stores_keys(table: TableHandle, slice_: FileSlice) -> bool:
    return StoredFiles.stores_keys(slice_, table.config)


def _store_keys(table: TableHandle) -> None:
    """The keys of ``table`` are stored ones again."""
    table.check_writable()
    table.refresh()
    if not table.config.populate_meta_fields:
        file_format = StoredFiles.format(table.source())
        generator = table.plugins().generator
        check_all_stored(table.storage, file_format, table.newest_slices()[1], generator)
        table.participants.drop_stale()
        table.change_properties(disabling())
    request = table.participants.request(own_index=stored_index(table))
    table.use_properties(table.participants.each.make(False, request))


def enabling(
    timeline: Timeline, kept: Sequence[str], pinned: Mapping[str, str]
) -> dict[str, str | None]:
    """The changes of properties that make the keys virtual. ``pinned``: what the key generator has
    to note."""
    newest = max((i.requested for i in timeline.instants), key=order_key, default=None)
    return {
        **pinned,
        POPULATE: "false",
        VIRTUAL: "true",
        KEPT_META: ",".join(kept),
        STORED_UNTIL: newest,
    }


def check_made(generator: KeyGenerator, row: pa.RecordBatch | None, columns: Sequence[str]) -> None:
    """ConfigError where the stored key of ``row`` is not what ``columns`` give."""
    if row is None or not row.num_rows:
        return
    stored = row.column(RECORD_KEY)[0].as_py()
    made = generator.record_keys(row.select(list(columns)))[0].as_py()
    if stored != made:
        raise ConfigError(
            f"record key {stored!r}",
            f"is stored in a row whose columns give {made!r}: virtual keys would not find it.",
            "open the table with the key generator that made its keys, or leave them stored.",
        )


def disabling() -> dict[str, str | None]:
    """The changes of properties that make the keys stored ones again: all files have to store
    them."""
    return {POPULATE: "true", VIRTUAL: None, KEPT_META: None, STORED_UNTIL: None}


def check_all_stored(
    storage: Storage,
    file_format: BaseFileFormat,
    slices: Sequence[FileSlice],
    generator: KeyGenerator,
) -> None:
    """ConfigError unless every row of ``slices`` has its record key and the other meta columns
    stored, and the key is the one that ``generator`` makes. Reads these columns, and those of
    keys."""
    for slice_ in slices:
        if slice_.row_logs:
            raise ConfigError(
                f"file group {slice_.file_id}",
                "has log files, which may lack their keys.",
                "compact the table first (table.compact()).",
            )
        if slice_.base_file is None:
            continue
        with file_format.reader(storage, slice_.base_file.path) as reader:
            keys = StoredFiles.key_columns(generator, reader.schema)
            for batch in reader.batches([*META_COLUMNS, *keys], encoded=True):
                if reason := _not_stored(batch, generator, keys, slice_.base_file.path):
                    raise ConfigError(
                        f"base file {slice_.base_file.path}",
                        f"has rows that {reason}: the keys of its table can't be stored ones "
                        "again.",
                        "copy the rows into a table that stores its keys.",
                    )


def _not_stored(
    batch: pa.RecordBatch, generator: KeyGenerator, keys: Sequence[str], path: str
) -> str | None:
    """Why the meta columns of ``batch`` are not what a table with stored keys has; None: they
    are."""
    for name in (RECORD_KEY, *META_COLUMNS):
        if name not in batch.schema.names or batch.column(name).null_count:
            return f"do not store {name}"
        # What Spark's bulk insert puts there. The path of a table without partitions is empty, too.
        if name != PARTITION_PATH and pc.any(pc.equal(batch.column(name), "")).as_py():
            return f"do not store {name}"
    stored, made = batch.column(RECORD_KEY), StoredFiles.record_keys(generator, batch, keys, path)
    if not pc.all(pc.equal(stored, made)).as_py():
        at = pc.index(pc.equal(stored, made), False).as_py()
        return f"store the key {stored[at].as_py()!r} where their columns give {made[at].as_py()!r}"
    return None
