"""Misplaced: rows that an index leaves where their key lies, in another partition path than their columns say."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from hoodoo.hookspecs.engine import Side, Stream, Task
from hoodoo.hookspecs.index import LookupIndex
from hoodoo.merge.ops import OP, PUT
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY
from hoodoo.options.kinds import FLAG
from hoodoo.produce.summary import Arrivals
from hoodoo.timeline.placement import FOLLOWS
from hoodoo.write.target import WriteTarget

_FOUND = pa.schema([("rows", pa.int64())])


def leaves_misplaced(
    target: WriteTarget, index: LookupIndex, staged: Stream, found: pa.Table, arriving: Arrivals
) -> bool:
    """Whether a write of ``staged`` rows, whose keys lie where ``found`` (LOCATIONS_SCHEMA) says, leaves one of
    them in another partition path than its own. One pass over the keys; none where that can't be, or where
    the table has such rows already."""
    if not index.is_global or index.moves_partitions or not found.num_rows:
        return False
    if not FLAG.stored(target.config.get(FOLLOWS) or ""):
        return True
    paths = set(arriving.rows)
    if len(paths) == 1 and set(pc.unique(found.column("partition_path")).to_pylist()) == paths:
        return False
    side = target.engine.side(found)
    return bool(target.engine.collect(target.engine.map(staged, FindMisplaced(side))).num_rows)


@frozen
class FindMisplaced:
    """Step: one row for each batch that has a row which stays in another partition path; its number."""

    found: Side

    @property
    def out_schema(self) -> pa.Schema:
        return _FOUND

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        locations = self.found.table().combine_chunks()
        known = locations.column("record_key")
        for batch in batches:
            at = pc.index_in(batch.column(RECORD_KEY), value_set=known)
            lies_in = locations.column("partition_path").take(at)
            elsewhere = pc.fill_null(pc.not_equal(lies_in, batch.column(PARTITION_PATH)), False)
            misplaced = pc.sum(pc.and_(elsewhere, pc.equal(batch.column(OP), PUT))).as_py()
            if misplaced:
                yield pa.record_batch([pa.array([misplaced], pa.int64())], schema=_FOUND)
