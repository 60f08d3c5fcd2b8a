"""Rewrite: the rows of one slot become a new base file, merged with the file group's current one.

The base file is read row group by row group; only the incoming rows of one slot are held whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, frozen
from hoodoo.hookspecs.change_log import ChangeLog, ChangeLogFormat
from hoodoo.hookspecs.engine import PART, SLOT
from hoodoo.hookspecs.file_format import (
    BaseFileFormat,
    BaseFileReader,
    BaseFileWriter,
    InPlaceWriter,
    RewritesInPlace,
)
from hoodoo.hookspecs.merger import Merger
from hoodoo.model.commit import CHANGE_LOGS, WriteStat
from hoodoo.model.filegroup import CHANGE_SUFFIX, LogFile, path_of
from hoodoo.model.meta import FILE_NAME, META_COLUMNS, RECORD_KEY
from hoodoo.storage.api import Storage, of_size
from hoodoo.storage.temporaries import scratch_file
from hoodoo.timeline.markers import CREATE, MERGE
from hoodoo.timeline.names import parse_path

from hoodoo_rows.merge.meet import KeyJoin, Places
from hoodoo_rows.merge.pairs import needed_columns
from hoodoo_rows.model.internal_row import OP, PUT
from hoodoo_rows.produce.columns import SEQ, completed, read_stored, renamed, stored_rows
from hoodoo_rows.produce.key_changes import KeyChanges
from hoodoo_rows.produce.pending import Pending
from hoodoo_rows.write.erased import MergedSlice

# Waiting rows from which on keys are read twice, rather than look each batch up by itself.
_MANY = 1 << 18
# What travels with a row and is no column of the table.
_ASIDE = frozenset({SEQ, PART, SLOT})


@define
class _Counts:
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    kept: int = 0

    @property
    def written(self) -> int:
        """The number of rows in the new file."""
        return self.inserts + self.updates + self.kept

    @property
    def changed(self) -> bool:
        """Whether a row was inserted, updated or deleted."""
        return bool(self.inserts or self.updates or self.deletes)


@frozen
class MergeFile:
    """``schema`` is the stored schema (meta columns first). With ``matches`` an incoming row
    replaces or deletes the stored rows of its key; without, it is added (insert). ``changes``: of a
    table whose rewrites leave a change data log."""

    schema: pa.Schema
    storage: Storage
    file_format: BaseFileFormat
    merger: Merger
    pending: Pending
    matches: bool = True
    changes: ChangeLogFormat | None = None

    def write(
        self,
        rows: pa.Table,
        target: dict[str, Any],
        key_changes: KeyChanges,
        merged: MergedSlice | None = None,
    ) -> WriteStat | None:
        """``rows``: keyed, one for each key. ``key_changes`` gets the inserted and deleted keys.
        ``merged``: the stored rows, if log files have some. None if nothing changes."""
        there = {*META_COLUMNS, *rows.schema.names}
        lacking = [n for n in self.schema.names if n not in there]
        rows = completed(rows, self.schema, lacking)
        with ExitStack() as stack:
            local = stack.enter_context(scratch_file(self.storage))
            counts = _Counts()
            add = partial(
                _Output,
                schema=self.schema,
                instant=self.pending.requested,
                target=target,
                counts=counts,
                key_changes=key_changes,
            )
            log, noted = None, ""
            if target["base_path"] is None and merged is None:
                writer = self.file_format.writer(local, self.schema, rows.num_rows)
                output = add(writer)
                live = pc.equal(rows.column(OP), PUT)
                output.insert(rows if pc.all(live).as_py() else rows.filter(live))
                size = writer.close()
            else:
                log, noted = self._log(stack)
                base: Any = merged or stack.enter_context(
                    self.file_format.reader(self.storage, target["base_path"])
                )
                base = merged or of_size(base, target["base_path"], target["base_size"])
                # At the most: which of them are updates is known at the end only.
                expected, placed = base.num_rows + rows.num_rows, None
                if not (log or merged) and isinstance(self.file_format, RewritesInPlace):
                    named = {FILE_NAME: target["file_name"]}
                    placed = self.file_format.in_place(local, self.schema, expected, base, named)
                before = None if merged else base
                writer = placed or self.file_format.writer(local, self.schema, expected, before)
                output, waiting = add(writer), self._waiting(rows, lacking)
                if placed is None:
                    self._merge(waiting, base, output, log)
                else:
                    self._replace(waiting, lacking, placed, output)
                fresh = waiting.rest()
                output.insert(fresh)
                if log is not None:
                    log.inserted(fresh)
                size = writer.close()
            if not counts.changed:
                return None  # every incoming row lost: the current file stays
            partition, name = target["partition_path"], target["file_name"]
            logged = {} if log is None else self._put_log(noted, log.close(), partition, name)
            kind = CREATE if target["base_path"] is None else MERGE
            size = self.pending.put(self.storage, partition, name, local, kind, size)
            stat = _stat(target, path_of(partition, name), counts, size)
            return evolve(stat, extra={CHANGE_LOGS: logged}) if logged else stat

    def _log(self, stack: ExitStack) -> tuple[ChangeLog | None, str]:
        """The log of change data, and the local file that it is in."""
        if self.changes is None:
            return None, ""
        local = stack.enter_context(scratch_file(self.storage))
        log = self.changes.begin(local, self.pending.requested, self.schema)
        stack.callback(log.abandon)
        return log, local

    def _put_log(self, local: str, size: int, partition: str, name: str) -> dict[str, int]:
        """Before its base file: whoever sees that has the log. Path and size, as stats name it."""
        base = parse_path(name)
        assert base is not None
        file = LogFile(partition, base.file_id, base.instant, 1, base.write_token, CHANGE_SUFFIX)
        size = self.pending.put(self.storage, partition, file.name, local, CREATE, size)
        return {file.path: size}

    def _waiting(self, rows: pa.Table, lacking: list[str]) -> KeyJoin:
        absent = {name: np.ones(rows.num_rows, bool) for name in lacking}
        return KeyJoin(rows, self.merger, absent, _ASIDE)

    def _merge(
        self,
        waiting: KeyJoin,
        base: BaseFileReader,
        output: _Output,
        log: ChangeLog | None = None,
        ahead: Places | None = None,
    ) -> None:
        """The stored rows of ``base``, or those in their place. ``ahead``: the places of its keys,
        where they are known."""
        if ahead is None and waiting.rows.num_rows > _MANY:
            ahead = Places(waiting, _keys(base))
        for stored in read_stored(base, self.schema):
            if not self.matches:
                output.keep(stored)
                continue
            keys = stored.column(RECORD_KEY)
            met = waiting.meet(stored, ahead.take(len(keys)) if ahead else waiting.places(keys))
            output.keep(met.kept)
            if met.winners is not None:
                output.update(met.winners, met.deleted)
                if log is not None or (met.deleted and output.key_changes.tells):
                    before, gone = met.replaced()
                    output.key_changes.went(gone.column(RECORD_KEY))
                    if log is not None:
                        log.updated(before, met.winners)
                        log.deleted(gone)

    def _replace(
        self, waiting: KeyJoin, lacking: list[str], writer: InPlaceWriter, output: _Output
    ) -> None:
        """As :meth:`_merge`, with rows in the places of those that they replace."""
        seen = needed_columns(self.merger, waiting.rows.schema)
        looked_at = pa.schema([f for f in self.schema if f.name in seen])
        ahead = Places(waiting, chain.from_iterable(map(_keys, writer.parts)))
        for number, part in enumerate(writer.parts):
            at = ahead.take(part.num_rows) if self.matches else pa.nulls(0)
            if at.null_count == len(at):
                writer.keep(number)
                output.counts.kept += part.num_rows
                continue
            places, winners, whole = waiting.replacing(read_stored(part, looked_at), at)
            if pc.any(pc.not_equal(winners.column(OP), PUT)).as_py():  # null where nobody wins
                known = Places(waiting, iter(()), pa.chunked_array([at]))
                self._merge(waiting, part, output, ahead=known)  # rows go: those behind them move
                continue
            made = output.made(winners)
            writer.keep(number, places, made if whole else made.drop_columns(lacking))
            output.counts.updates += made.num_rows
            output.counts.kept += part.num_rows - made.num_rows


@define
class _Output:
    """Stored rows in, counted; incoming rows get their meta columns here."""

    writer: BaseFileWriter
    schema: pa.Schema
    instant: str
    target: dict[str, Any]
    counts: _Counts
    key_changes: KeyChanges

    def keep(self, stored: pa.RecordBatch) -> None:
        """Write ``stored`` rows as they are."""
        if stored.num_rows:
            self.counts.kept += stored.num_rows
            self.writer.write(renamed(stored, self.target["file_name"]), known=True)

    def insert(self, rows: pa.Table) -> None:
        """Write new ``rows``."""
        self._add(rows, known=False)
        self.counts.inserts += rows.num_rows
        self.key_changes.came(rows.column(RECORD_KEY))

    def update(self, rows: pa.Table, deleted: int) -> None:
        """Write ``rows`` in place of stored ones, of which ``deleted`` have no new row."""
        self._add(rows, known=True)
        self.counts.updates += rows.num_rows
        self.counts.deletes += deleted

    def _add(self, rows: pa.Table, known: bool) -> None:
        if rows.num_rows:
            self.writer.write(self.made(rows), known)

    def made(self, rows: pa.Table) -> pa.Table:
        """``rows`` as they are stored."""
        start = self.counts.inserts + self.counts.updates
        name, slot = self.target["file_name"], self.target["slot"]
        return stored_rows(rows, self.schema, self.instant, name, slot, start)


def _keys(base: BaseFileReader) -> Iterator[pa.Array]:
    return (batch.column(0) for batch in base.batches([RECORD_KEY]))


def _stat(target: dict[str, Any], path: str, counts: _Counts, size: int) -> WriteStat:
    return WriteStat(
        partition_path=target["partition_path"],
        file_id=target["file_id"],
        path=path,
        prev_commit=target["base_instant"] or "null",
        prev_base_file=target["base_name"],
        num_writes=counts.written,
        num_inserts=counts.inserts,
        num_updates=counts.updates,
        num_deletes=counts.deletes,
        file_size=size,
    )
