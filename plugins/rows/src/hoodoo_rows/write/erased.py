"""Erased: rows that come after the delete of their key in a log file (docs/adr/0035)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.merger import order_of
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import RECORD_KEY
from hoodoo.options.table import BY_EVENT_TIME
from hoodoo.storage.api import Storage

from hoodoo_rows.merge.log_rows import may_have_deleted, read_log_rows
from hoodoo_rows.merge.meet import KeyJoin
from hoodoo_rows.merge.pairs import flat, is_plain, merge_pairs, needed_columns
from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.merge.slice import merged_rows
from hoodoo_rows.model.internal_row import DELETE, DELETE_ROW, OP, PUT


@frozen
class MergedSlice:
    """The rows of a file slice; its members are those of a base file's reader that a rewrite
    asks."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule
    slice_: FileSlice
    num_rows: int = 0  # not known

    @property
    def schema(self) -> pa.Schema:
        """The columns of the merged rows."""
        return self.rule.out_schema

    def batches(self, columns: Sequence[str], encoded: bool = False) -> Iterator[pa.RecordBatch]:
        """The merged rows, with ``columns``."""
        rule = self.rule.narrowed(columns)
        for batch in merged_rows(self.storage, self.file_format, rule, self.slice_):
            yield batch.select(columns)

    def after_deletes(self, rows: pa.Table, compacting: bool) -> tuple[pa.Table, pa.Array | None]:
        """``rows`` (keyed, one for each key) without deletes of what log files have deleted. If one
        of the others can't be in a log file, as a deleted row would be merged with it, the keys
        that log files have deleted. ``compacting``: a pending compaction may make a base file that
        has such a row, too."""
        rule = self.rule.narrowed([RECORD_KEY])
        files = self.slice_.log_files
        if not may_have_deleted(self.storage, files, rule, rows.column(RECORD_KEY)):
            return rows, None
        logs = read_log_rows(self.storage, files, rule).waiting
        if logs is None:
            return rows, None
        state = logs.rows.column(OP).take(logs.places(rows.column(RECORD_KEY)))
        gone = pc.fill_null(pc.equal(state, DELETE), False)
        is_put = pc.equal(rows.column(OP), PUT)
        again = rows.filter(pc.and_(gone, is_put))
        is_hidden = bool(again.num_rows) and (compacting or self._meets_winner(again, rule))
        matters = pc.or_(pc.invert(gone), is_put)
        if not is_plain(rule.merger, BY_EVENT_TIME):
            # Of marks; one that has an ordering value is compared with later rows, as in Hudi.
            again = pc.and_(pc.fill_null(pc.equal(state, DELETE_ROW), False), is_put)
            if rule.merger.merge_mode == BY_EVENT_TIME:
                again, lost = self._after_marks(rows, flat(again), logs)
                matters = pc.and_(matters, pc.invert(lost))
            is_hidden |= bool(pc.any(again).as_py())
        rows = rows.filter(matters)
        if not is_hidden:
            return rows, None
        living = pa.chunked_array(
            [batch.column(0) for batch in self.batches([RECORD_KEY])], pa.string()
        )
        keys = logs.rows.column(RECORD_KEY)
        return rows, keys.filter(pc.invert(pc.is_in(keys, value_set=living)))

    def _after_marks(
        self, rows: pa.Table, again: pa.Array, logs: KeyJoin
    ) -> tuple[pa.Array, pa.Array]:
        """Of the rows ``again``, which come after a row that is marked as deleted, those that win,
        and those that lose against it."""
        order = order_of(self.rule.merger) or self.rule.merger
        names = [n for n in needed_columns(order, logs.rows.schema) if n in rows.schema.names]
        older = logs.rows.select(names).take(logs.places(rows.column(RECORD_KEY)).filter(again))
        newer = rows.select(names).filter(again).cast(older.schema)
        wins = np.zeros(rows.num_rows, np.bool_)
        wins[np.asarray(again)] = merge_pairs(older, newer, order).newer_wins
        return pa.array(wins), pa.array(np.asarray(again) & ~wins)

    def _meets_winner(self, rows: pa.Table, rule: MergeRule) -> bool:
        """Whether a row of the base file does not simply lose to the one of ``rows`` with its
        key."""
        names = [n for n in rows.schema.names if n in (OP, RECORD_KEY) or n in rule.needed]
        waiting, base = KeyJoin(rows.select(names), rule.merger), evolve(self.slice_, log_files=())
        for stored in merged_rows(self.storage, self.file_format, rule, base):
            at = waiting.places(stored.column(RECORD_KEY))
            if at.null_count < len(at):
                places, _rows, built = waiting.replacing([stored], at)
                if built or len(places) < len(at) - at.null_count:
                    return True
        return False
