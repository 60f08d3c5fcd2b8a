"""Erased: rows that a write adds to a log file after a delete of their key.

Readers merge the log rows of a key with each other before they meet the base file (docs/adr/0009). Of a delete by key
and a later row the row is left. It would then be compared with the deleted row in the base file, and that one would be
shown again if it wins, or give its values (docs/adr/0035).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.merge.log_rows import read_log_rows
from hoodoo.merge.meet import KeyJoin
from hoodoo.merge.ops import DELETE, DELETE_ROW, OP, PUT
from hoodoo.merge.rule import MergeRule
from hoodoo.merge.slice import merged_rows
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import RECORD_KEY
from hoodoo.options.table import BY_EVENT_TIME
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline


def may_delete(storage: Storage, timeline: Timeline, marks: bool, slice_: FileSlice) -> bool:
    """Whether a log file of ``slice_`` may hold deletes by key, or with ``marks`` any deletes, as the commits say that
    wrote it. A log file of an archived commit may."""
    logs = slice_.row_logs
    writers = timeline.layout.log_writers({log.instant for log in logs}, timeline)
    counted = [_counted(storage, timeline, i.requested, marks) for i in writers] if logs else []
    return any(
        any(one.get(log.path) for one in counted) or not any(log.path in one for one in counted)
        for log in logs
    )


def _counted(storage: Storage, timeline: Timeline, instant: str, marks: bool) -> Mapping[str, bool]:
    """Log file -> whether it may hold deletes; made once for a timeline."""
    name = f"deletes {marks} {instant}"
    found = timeline.noted.get(name)
    if not isinstance(found, dict):
        write = timeline.find(instant)
        assert write is not None
        stats = timeline.metadata(storage, write).stats
        found = {s.path: s.num_deletes > (0 if marks else s.marks) for s in stats if s.log_version is not None}  # fmt: skip
        timeline.noted[name] = found
    return found


@frozen
class MergedSlice:
    """The rows of a file slice, as a base file reader gives them."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule
    slice_: FileSlice

    @property
    def schema(self) -> pa.Schema:
        return self.rule.out_schema

    @property
    def num_rows(self) -> int:
        """Of the base file: about as many are there with the log files."""
        if self.slice_.base_file is None:
            return 0
        with self.file_format.reader(self.storage, self.slice_.base_file.path) as base:
            return base.num_rows

    @property
    def metadata(self) -> Mapping[str, str]:
        return {}

    def batches(
        self, columns: Sequence[str] | None = None, where: pc.Expression | None = None,
        batch_rows: int | None = None, encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:  # fmt: skip
        for batch in merged_rows(self.storage, self.file_format, self.rule, self.slice_):
            yield batch if columns is None else batch.select(columns)

    def close(self) -> None:
        """Nothing is open between two calls."""

    def __enter__(self) -> MergedSlice:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def after_deletes(self, rows: pa.Table, compacting: bool) -> tuple[pa.Table, bool]:
        """``rows`` (keyed, one for each key) without those that delete what a log file has deleted; and whether one of
        the others would not be shown as it is in a log file, as a deleted row of the base file would be merged with it:
        of one that is there or, with ``compacting``, of one that a pending compaction makes."""
        rule = self.rule.narrowed([RECORD_KEY])
        logs = read_log_rows(self.storage, self.slice_.log_files, rule).waiting
        if logs is None:
            return rows, False
        state = logs.rows.column(OP).take(logs.places(rows.column(RECORD_KEY)))
        gone = pc.fill_null(pc.equal(state, DELETE), False)
        is_put = pc.equal(rows.column(OP), PUT)
        again = rows.filter(pc.and_(gone, is_put))
        is_hidden = bool(again.num_rows) and (compacting or self._meets_winner(again, rule))
        if rule.merger.merge_mode != BY_EVENT_TIME:
            # Of marks; one that has an ordering value is compared with later rows, as in Hudi.
            is_hidden |= bool(pc.any(pc.and_(pc.equal(state, DELETE_ROW), is_put)).as_py())
        return rows.filter(pc.or_(pc.invert(gone), is_put)), is_hidden

    def gone(self) -> pa.ChunkedArray:
        """The keys that log files have deleted."""
        rule = self.rule.narrowed([RECORD_KEY])
        logs = read_log_rows(self.storage, self.slice_.log_files, rule).waiting
        rows = merged_rows(self.storage, self.file_format, rule, self.slice_)
        living = pa.chunked_array([batch.column(RECORD_KEY) for batch in rows], pa.string())
        keys = logs.rows.column(RECORD_KEY) if logs is not None else living[:0]
        return keys.filter(pc.invert(pc.is_in(keys, value_set=living)))

    def _meets_winner(self, rows: pa.Table, rule: MergeRule) -> bool:
        """Whether a row of the base file does not lose to the one of ``rows`` with its key."""
        base = evolve(self.slice_, log_files=())
        shown = [OP, RECORD_KEY, *(n for n in rows.schema.names if n in rule.needed)]
        waiting = KeyJoin(rows.select(list(dict.fromkeys(shown))), rule.merger)
        for stored in merged_rows(self.storage, self.file_format, rule, base):
            at = waiting.places(stored.column(RECORD_KEY))
            hits = len(at) - at.null_count
            if hits:
                places, _rows, built = waiting.replacing([stored], at)
                if built or len(places) < hits:
                    return True
        return False
