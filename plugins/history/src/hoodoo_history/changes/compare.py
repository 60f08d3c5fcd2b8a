"""Compare: the rows of a unit before and after its commit -> what the commit did to them.

A row of the new state that bears the commit's time was written by it. A row of the old state whose
key the new state does not hold in a row of another time is gone, or was replaced by a written one.
So equal values don't count as no change: an update to the same values is an update, as in Hudi.

Memory: the rows that the commit wrote, those that they replace, and the keys of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import COMMIT_TIME, RECORD_KEY
from hoodoo.storage.api import Storage
from hoodoo_rows.api import Batches, MergeRule, NewFiles, Reads, RowSpec

from hoodoo_history.changes.change_data import logged_changes, looked_up
from hoodoo_history.changes.unit import DELETE, INSERT, UPDATE, ChangeSpec, ChangeUnit
from hoodoo_history.window import or_untimed

# Rows that are looked up together: a call hashes all keys of the other side.
_TOGETHER = 1 << 19
_BATCH = 1 << 15
_ROW = "_hoodie__row"
Places = npt.NDArray[np.int64]


@frozen
class Comparison:
    """``rule`` says how log files are merged; its ``visible`` is that of the newest state asked
    for."""

    storage: Storage
    file_format: BaseFileFormat
    spec: ChangeSpec
    rule: MergeRule | None = None
    logs: LogFiles = field(factory=log_files, eq=False, repr=False)

    def rows(self, unit: ChangeUnit) -> Iterator[pa.RecordBatch]:
        """The changes of ``unit``, in the shape of ``spec.out_schema``: deletes, updates,
        inserts."""
        for op, before, after in self._found(unit):
            if op in unit.ops:
                yield from self._shaped(unit, op, before, after)

    def _found(self, unit: ChangeUnit) -> Iterator[tuple[str, pa.Table | None, pa.Table | None]]:
        rows, time = self.spec.rows, pc.field(COMMIT_TIME)
        old_rows = evolve(rows, timed=False)  # whoever wrote them, it was before
        if unit.logs:
            yield from self._noted(unit)
            return
        if not unit.old:
            written = _where(rows, time == unit.instant)
            for batch in self._read(unit, unit.new, unit.instant, written):
                yield INSERT, None, pa.Table.from_batches([batch])
            return
        if not unit.new:
            for batch in self._read(unit, unit.old, unit.before, old_rows):
                yield DELETE, pa.Table.from_batches([batch]), None
            return
        added, kept = self._new_state(unit)
        replaced: list[pa.Table] = []
        stayed = 0
        for old in _gathered(self._read(unit, unit.old, unit.before, old_rows)):
            gone = old.filter(pc.invert(pc.is_in(old.column(RECORD_KEY), value_set=kept)))
            stayed += old.num_rows - gone.num_rows
            hit = pc.is_in(gone.column(RECORD_KEY), value_set=_flat(added.column(RECORD_KEY)))
            yield DELETE, gone.filter(pc.invert(hit)), None
            replaced.append(gone.filter(hit))
        before = pa.concat_tables(replaced) if replaced else added.slice(0, 0)
        at, to = _pairs(before.column(RECORD_KEY), added.column(RECORD_KEY))
        if len(at) < before.num_rows:  # more rows of one key before than after
            yield DELETE, before.take(_others(at, before.num_rows)), None
        yield UPDATE, before.take(pa.array(at)), added.take(pa.array(to))
        yield INSERT, None, added.take(_others(to, added.num_rows))
        if stayed < len(kept):
            yield from self._returned(unit, kept)

    def _returned(
        self, unit: ChangeUnit, kept: pa.ChunkedArray
    ) -> Iterator[tuple[str, pa.Table | None, pa.Table | None]]:
        """Rows of older commits that were not there before: a delete in the log had hidden the row
        in the base file, and a later log row that loses against that one lets it through again."""
        rows = self.spec.rows
        old_rows = evolve(rows, timed=False)
        for old in _gathered(self._read(unit, unit.old, unit.before, old_rows)):
            known = pc.is_in(kept, value_set=_flat(old.column(RECORD_KEY)))
            kept = kept.filter(pc.invert(known))
        if not len(kept):
            return
        for batch in self._read(unit, unit.new, unit.instant, rows):
            came = pc.is_in(batch.column(RECORD_KEY), value_set=_flat(kept))
            older = pc.not_equal(batch.column(COMMIT_TIME), unit.instant)
            found = batch.filter(pc.and_(came, older))
            if found.num_rows:
                yield INSERT, None, pa.Table.from_batches([found])

    def _noted(self, unit: ChangeUnit) -> Iterator[tuple[str, pa.Table | None, pa.Table | None]]:
        written: pa.Table | None = None
        for op, before, after, keys in logged_changes(
            self.storage, unit.logs, self.spec, unit.ops, self.logs
        ):
            if keys is not None:
                if written is None:
                    rows = self.spec.rows
                    mine = _where(rows, pc.field(COMMIT_TIME) == unit.instant)
                    found = self._read(unit, unit.new, unit.instant, mine)
                    written = pa.Table.from_batches(found, rows.out_schema)
                after = looked_up(keys, written, unit.logs[0].path)
            yield op, before, after

    def _new_state(self, unit: ChangeUnit) -> tuple[pa.Table, pa.ChunkedArray]:
        """The rows that the commit wrote, and the keys of the others."""
        rows, time = self.spec.rows, pc.field(COMMIT_TIME)
        added: list[pa.RecordBatch] = []
        kept: list[pa.Array] = []
        bare = [s for s in unit.new if not s.log_files]
        narrow = RowSpec(
            pa.schema([rows.schema.field(COMMIT_TIME), rows.schema.field(RECORD_KEY)]),
            (RECORD_KEY,),
            timed=rows.timed,
        )
        for batch in self._read(unit, bare, unit.instant, _where(narrow, time != unit.instant)):
            kept.append(batch.column(RECORD_KEY))
        added += self._read(unit, bare, unit.instant, _where(rows, time == unit.instant))
        logged = [s for s in unit.new if s.log_files]  # merged once, not twice
        for batch in self._read(unit, logged, unit.instant, rows):
            ours = pc.equal(batch.column(COMMIT_TIME), unit.instant)
            added.append(batch.filter(ours))
            kept.append(batch.column(RECORD_KEY).filter(pc.invert(ours)))
        table = pa.Table.from_batches(added, rows.out_schema)
        return table, pa.chunked_array(kept, pa.string())

    def _read(
        self, unit: ChangeUnit, slices: Iterable[FileSlice], limit: str, spec: RowSpec
    ) -> Iterator[pa.RecordBatch]:
        rule = self.rule
        if rule is not None and rule.visible.committed is not None:  # version 6
            rule = evolve(rule, visible=evolve(rule.visible, limit=limit))
        for slice_ in slices:
            for batch in Batches.of_slice(self.storage, self.file_format, spec, slice_, rule):
                if unit.parts > 1:
                    mine = pc.equal(
                        NewFiles.part_of(batch.column(RECORD_KEY), unit.parts), unit.part
                    )
                    batch = batch.filter(mine)
                if batch.num_rows:
                    yield batch

    def _shaped(
        self, unit: ChangeUnit, op: str, before: pa.Table | None, after: pa.Table | None
    ) -> Iterator[pa.RecordBatch]:
        count = next(t.num_rows for t in (before, after) if t is not None)
        if self.spec.where is not None:
            matches = [_matching(t, self.spec.where) for t in (before, after) if t is not None]
            chosen = pa.array(np.unique(np.concatenate(matches)))
            before = before and before.take(chosen)
            after = after and after.take(chosen)
            count = len(chosen)
        for start in range(0, count, _BATCH):
            length = min(_BATCH, count - start)
            columns = [pa.repeat(text, length) for text in (op, unit.instant, unit.completed)]
            columns += [self._image(t and t.slice(start, length), length) for t in (before, after)]
            yield pa.RecordBatch.from_arrays(columns, schema=self.spec.out_schema)

    def _image(self, rows: pa.Table | None, length: int) -> pa.Array:
        kind = self.spec.image
        if rows is None:
            return pa.nulls(length, kind)
        columns = [_flat(rows.column(name)) for name in self.spec.images]
        if not columns:
            return pa.array([{}] * length, kind)
        return pa.StructArray.from_arrays(columns, fields=list(kind))


def _where(spec: RowSpec, where: pc.Expression) -> RowSpec:
    where = or_untimed(where) if spec.timed else where
    return evolve(spec, where=where, where_columns=Reads.referenced(where, spec.schema))


def _matching(rows: pa.Table, where: pc.Expression) -> Places:
    """Places of the rows that ``where`` lets through."""
    numbered = rows.append_column(_ROW, pa.array(np.arange(rows.num_rows)))
    return np.asarray(Batches.let_through(numbered, where).column(_ROW), np.int64)


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= _TOGETHER:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _pairs(before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[Places, Places]:
    """Places of rows of one key on both sides: the first with the first, the second with the
    second."""
    keys = pc.unique(after)
    old = np.asarray(pc.index_in(before, value_set=keys), np.int64)
    new = np.asarray(pc.index_in(after, value_set=keys), np.int64)
    most = max(len(old), len(new)) + 1
    _same, at, to = np.intersect1d(
        old * most + _turn(old), new * most + _turn(new), assume_unique=True, return_indices=True
    )
    order = np.argsort(to)
    return at[order].astype(np.int64), to[order].astype(np.int64)


def _turn(codes: Places) -> Places:
    """How many equal codes come before each."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.searchsorted(ordered, ordered, side="left")
    turns = np.empty(len(codes), np.int64)
    turns[order] = np.arange(len(codes)) - first
    return turns


def _others(places: Places, count: int) -> pa.Array:
    left = np.ones(count, bool)
    left[places] = False
    return pa.array(np.flatnonzero(left))


def _flat(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else found.chunk(0)
