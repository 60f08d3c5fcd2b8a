"""Write: what each slot's rows become, a base file or a log file."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.hookspecs.change_log import ChangeLogFormat
from hoodoo.hookspecs.engine import SLOT, Side, Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.merger import Merger
from hoodoo.model.commit import WriteStat
from hoodoo.storage.api import Storage
from hoodoo.storage.together import side_by_side

from hoodoo_rows.merge.pairs import fold
from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.produce.columns import SEQ
from hoodoo_rows.produce.key_changes import WRITTEN, KeyChanges
from hoodoo_rows.produce.pending import Pending
from hoodoo_rows.produce.stats import STATS_SCHEMA, stats_batch
from hoodoo_rows.write.append_log import AppendLog
from hoodoo_rows.write.key_table import StoredAt
from hoodoo_rows.write.merge_file import MergeFile
from hoodoo_rows.write.target import LogSettings

# Files are written side by side across a network while they take a third of the memory of a task.
# Of a base file of one row group, rows are there as they are read and as they are written; packed,
# they take a third of it.
_SHARE, _UNPACKED = 3, 6


@frozen
class WriteSlots:
    """Step: routed rows in, one row of STATS_SCHEMA out for each file written (``tells_keys``: and
    the keys that came or went, as WRITTEN).

    ``schema`` is the stored schema (meta columns first). With ``matches`` an incoming row replaces
    or deletes the stored rows of its key; without, it is added (insert). ``changes``: how rewrites
    leave change data logs, if they do."""

    schema: pa.Schema
    plan: Side
    storage: Storage
    file_format: BaseFileFormat
    merger: Merger
    pending: Pending
    logs: LogSettings
    rule: MergeRule
    matches: bool = True
    changes: ChangeLogFormat | None = None
    tells_keys: bool = False
    reads: int = 0  # bytes of the files that are rewritten
    memory: int = 0  # bytes that a task may take
    seen: Side | None = None  # ROWS_SCHEMA: the rows of base files that log files change

    @property
    def out_schema(self) -> pa.Schema:
        """Stats of files, with their keys where an index wants them."""
        return WRITTEN if self.tells_keys else STATS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        plan = self.plan.table()
        mine = plan.filter(pc.equal(plan.column("part"), task.number)).to_pylist()
        targets = {row["slot"]: row for row in mine}
        stats = list[WriteStat]()  # in one batch: one for each costs more than its rows
        told = deque[KeyChanges]()
        calls = self._calls(batches, targets, task, told)
        for stat in side_by_side(self.storage, calls, self.memory // _SHARE):
            key_changes = told.popleft()
            if stat is not None and self.tells_keys:
                yield from key_changes.told(stat)
            elif stat is not None:
                stats.append(stat)
        if stats:
            yield stats_batch(stats)

    def _calls(
        self,
        batches: Iterator[pa.RecordBatch],
        targets: dict[int, dict[str, Any]],
        task: Task,
        told: deque[KeyChanges],
    ) -> Iterator[tuple[Callable[[], WriteStat | None], int]]:
        """What writes the file of each slot, and the memory that this takes, in bytes. ``told``
        gets what that tells."""
        rewrite = MergeFile(
            self.schema,
            self.storage,
            self.file_format,
            self.merger,
            self.pending,
            self.matches,
            self.changes,
        )
        append = AppendLog(
            self.schema,
            self.storage,
            self.file_format,
            self.pending,
            self.logs,
            self.rule,
            rewrite,
            None if self.seen is None else StoredAt.of(self.seen.table()),
        )
        filled = (batch for batch in batches if batch.num_rows)
        for number, (slot, group) in enumerate(
            itertools.groupby(filled, key=lambda batch: batch.column(SLOT)[0].as_py())
        ):
            rows = pa.Table.from_batches(list(group)).combine_chunks()
            rows = fold(_in_order(rows), self.merger)
            target = targets[slot]
            writes = rewrite if target["log_version"] is None else append
            told.append(KeyChanges(self.tells_keys, task, number))
            size = _UNPACKED * target["work"] + 2 * rows.nbytes
            yield partial(writes.write, rows, target, told[-1]), size


def _in_order(rows: pa.Table) -> pa.Table:
    """``rows`` in the order in which they arrived; mostly they are already."""
    seq = rows.column(SEQ).to_numpy()
    return rows if (seq[1:] >= seq[:-1]).all() else rows.sort_by(SEQ)
