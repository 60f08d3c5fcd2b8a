"""Misplaced: rows that an index leaves where their key lies, in another partition path than their columns say."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, LookupIndex
from hoodoo.model.meta import with_meta, without_meta
from hoodoo.options.kinds import FLAG
from hoodoo.produce.summary import Arrivals
from hoodoo.timeline.placement import FOLLOWS
from hoodoo.write.key_table import KeyTable
from hoodoo.write.located import MovingKeys, different, living, own_columns
from hoodoo.write.target import WriteTarget


def where_rows_stay(
    target: WriteTarget, index: LookupIndex, staged: Stream, found: pa.Table, arriving: Arrivals
) -> tuple[pa.Table, bool]:
    """``found`` (LOCATIONS_SCHEMA), where the keys of ``staged`` rows lie, without places in other partition paths than
    the row's whose row is gone: it goes to its own. And whether the write leaves a row in another one.
    One pass over the keys; none if the driver has them and each place is one that a row names, or if the table has such
    rows already."""
    if not index.is_global or index.moves_partitions or not found.num_rows:
        return found, False
    follows, paths = FLAG.stored(target.config.get(FOLLOWS) or ""), set(arriving.rows)
    if len(paths) == 1 and set(pc.unique(found.column("partition_path")).to_pylist()) == paths:
        return found, not follows
    keys = arriving.keys
    if keys is not None and not KeyTable(*keys.columns).places(*found.columns[:2]).null_count:
        return found, not follows  # each place is one that a row names
    if target.logs is not None:
        step = MovingKeys(target.engine.side(found))
        moving = target.engine.collect(target.engine.map(staged, step))
        if not moving.num_rows:
            return found, not follows
        stored = with_meta(without_meta(own_columns(staged)))
        gone = different(moving, living(target, index, moving, stored))
        found = found.join(gone, LOCATIONS_SCHEMA.names, join_type="left anti", use_threads=False)
    if not follows:
        return found, True
    step = MovingKeys(target.engine.side(found), puts=True)
    return found, bool(target.engine.collect(target.engine.map(staged, step)).num_rows)
