"""Write: one new base file for each slot, merged with the file group's current one.

The base file is read row group by row group; only the incoming rows of one slot are held whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, frozen

from hoodoo.hookspecs.engine import SLOT, Side, Task
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileReader, BaseFileWriter
from hoodoo.hookspecs.merger import Merger
from hoodoo.model.commit import WriteStat
from hoodoo.model.meta import FILE_NAME, RECORD_KEY, encoded_as
from hoodoo.model.schema_conform import conform
from hoodoo.model.schema_promote import promoted
from hoodoo.storage.api import Storage
from hoodoo.write.columns import OP, PUT, SEQ
from hoodoo.write.pairs import fold, merge_pairs, needed_columns
from hoodoo.write.pending import Pending
from hoodoo.write.rows import renamed, stored_rows
from hoodoo.write.scratch import scratch_file
from hoodoo.write.stats import STATS_SCHEMA, stats_batch


@define
class _Counts:
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    kept: int = 0

    @property
    def written(self) -> int:
        return self.inserts + self.updates + self.kept

    @property
    def changed(self) -> bool:
        return bool(self.inserts or self.updates or self.deletes)


@frozen
class WriteSlots:
    """Step: routed rows in, one row of STATS_SCHEMA out for each file written.

    ``schema`` is the stored schema (meta columns first). With ``matches`` an incoming row replaces or
    deletes the stored rows of its key; without, it is added (insert).
    """

    schema: pa.Schema
    plan: Side
    storage: Storage
    file_format: BaseFileFormat
    merger: Merger
    pending: Pending
    matches: bool = True

    @property
    def out_schema(self) -> pa.Schema:
        return STATS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        plan = self.plan.table()
        mine = plan.filter(pc.equal(plan.column("part"), task.number)).to_pylist()
        targets = {row["slot"]: row for row in mine}
        filled = (batch for batch in batches if batch.num_rows)
        for slot, group in itertools.groupby(filled, key=_slot):
            rows = pa.Table.from_batches(list(group)).combine_chunks()
            stat = self._write(rows, targets[slot])
            if stat is not None:
                yield stats_batch([stat])

    def _write(self, rows: pa.Table, target: dict[str, Any]) -> WriteStat | None:
        rows = fold(_in_order(rows), self.merger)
        with scratch_file(self.storage) as local:
            counts = _Counts()
            if target["base_path"] is None:
                writer = self.file_format.writer(local, self.schema, rows.num_rows)
                output = _Output(writer, self.schema, self.pending.requested, target, counts)
                output.insert(rows.filter(pc.equal(rows.column(OP), PUT)))
            else:
                with self.file_format.reader(self.storage, target["base_path"]) as base:
                    # At the most: which of them are updates is known at the end only.
                    expected = base.num_rows + rows.num_rows
                    writer = self.file_format.writer(local, self.schema, expected, base)
                    output = _Output(writer, self.schema, self.pending.requested, target, counts)
                    self._merge(rows, base, output)
            size = writer.close()
            if not counts.changed:
                return None  # every incoming row lost: the current file stays
            # False: an earlier attempt of this very task left the same file, which is adopted.
            path = _join(target["partition_path"], target["file_name"])
            if not self.pending.put(self.storage, target["partition_path"], target["file_name"],
                                    local, new=target["base_path"] is None):  # fmt: skip
                found = self.storage.head(path)
                size = found.size if found else size
            return _stat(target, path, counts, size)

    def _merge(self, rows: pa.Table, base: BaseFileReader, output: _Output) -> None:
        rows = rows.combine_chunks()
        keys = rows.column(RECORD_KEY).combine_chunks()
        seen = np.zeros(rows.num_rows, bool)
        # All but the name of the file that they leave.
        kept = pa.schema([f for f in self.schema if f.name != FILE_NAME])
        names = [n for n in base.schema.names if n != FILE_NAME]
        for batch in base.batches(names, encoded=True):
            stored = conform(promoted(batch, kept), encoded_as(kept, batch.schema))
            if not self.matches:
                output.keep(stored)
                continue
            at = pc.index_in(stored.column(RECORD_KEY), value_set=keys)
            if at.null_count == len(at):
                output.keep(stored)
                continue
            hit = pc.is_valid(at)
            incoming = np.asarray(at.drop_null())
            seen[incoming] = True
            self._merge_batch(stored, hit, rows, incoming, output)
        fresh = rows.filter(pa.array(~seen))
        output.insert(fresh.filter(pc.equal(fresh.column(OP), PUT)))

    def _merge_batch(
        self,
        stored: pa.RecordBatch,
        hit: pa.BooleanArray,
        rows: pa.Table,
        incoming: npt.NDArray[Any],
        output: _Output,
    ) -> None:
        columns = needed_columns(self.merger, rows.drop_columns([SEQ]).schema)
        newer = rows.select(columns).take(pa.array(incoming))
        met = pa.Table.from_batches([stored]).filter(hit)
        puts = pa.array(np.full(met.num_rows, PUT, np.int8))
        older = pa.Table.from_arrays(
            [puts if f.name == OP else met.column(f.name).cast(f.type) for f in newer.schema],
            schema=newer.schema,
        )
        answer = merge_pairs(older, newer, self.merger)
        if answer.newer_wins is not None:
            wins = np.asarray(answer.newer_wins)
            replaced = np.zeros(stored.num_rows, bool)
            replaced[np.flatnonzero(np.asarray(hit))] = wins
            output.keep(stored.filter(pa.array(~replaced)))
            winners = rows.take(pa.array(incoming[wins]))
        else:
            output.keep(stored.filter(pc.invert(hit)))
            assert answer.rows is not None
            winners = answer.rows
        lives = pc.equal(winners.column(OP), PUT)
        output.update(winners.filter(lives), deleted=pc.sum(pc.invert(lives)).as_py() or 0)


@define
class _Output:
    """Stored rows in, counted; incoming rows get their meta columns here."""

    writer: BaseFileWriter
    schema: pa.Schema
    instant: str
    target: dict[str, Any]
    counts: _Counts

    def keep(self, stored: pa.RecordBatch) -> None:
        if stored.num_rows:
            self.counts.kept += stored.num_rows
            self.writer.write(renamed(stored, self.target["file_name"]), known=True)

    def insert(self, rows: pa.Table) -> None:
        self._add(rows, known=False)
        self.counts.inserts += rows.num_rows

    def update(self, rows: pa.Table, deleted: int) -> None:
        self._add(rows, known=True)
        self.counts.updates += rows.num_rows
        self.counts.deletes += deleted

    def _add(self, rows: pa.Table, known: bool) -> None:
        if not rows.num_rows:
            return
        start = self.counts.inserts + self.counts.updates
        name, slot = self.target["file_name"], self.target["slot"]
        made = stored_rows(rows, self.schema, self.instant, name, slot, start)
        self.writer.write(made, known)


def _in_order(rows: pa.Table) -> pa.Table:
    """``rows`` in the order in which they arrived; mostly they are already."""
    seq = rows.column(SEQ).to_numpy()
    return rows if (seq[1:] >= seq[:-1]).all() else rows.sort_by(SEQ)


def _slot(batch: pa.RecordBatch) -> int:
    return int(batch.column(SLOT)[0].as_py())


def _join(partition_path: str, name: str) -> str:
    return f"{partition_path}/{name}" if partition_path else name


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
