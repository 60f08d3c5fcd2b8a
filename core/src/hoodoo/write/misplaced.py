"""Misplaced: rows that an index leaves where their key lies, in another partition path than their columns say."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo.model.meta import with_meta, without_meta
from hoodoo.options.kinds import FLAG
from hoodoo.produce.summary import Arrivals
from hoodoo.timeline.placement import FOLLOWS
from hoodoo.write.key_table import KeyTable
from hoodoo.write.located import MovingKeys, different, living, own_columns
from hoodoo.write.places import First, OnDriver, Places, narrow
from hoodoo.write.target import WriteTarget


def where_rows_stay(
    target: WriteTarget, places: Places, paths: AbstractSet[str], rows: Stream, arriving: Arrivals
) -> tuple[Places, bool]:
    """``places``, where the keys of ``rows`` lie (in the partition paths ``paths``), without those in other partition paths than the row's whose row is
    gone: it goes to its own. And whether the write leaves a row in another one.
    One pass over the keys; none if the driver has them and each place is one that a row names, or if the table has such
    rows already."""
    index = places.index
    if not index.is_global or index.moves_partitions:
        return places, False
    follows = FLAG.stored(target.config.get(FOLLOWS) or "")
    if not paths or (len(arriving.rows) == 1 and paths == {*arriving.rows}):
        return places, not follows and bool(paths)
    keys = arriving.keys
    if keys is not None and isinstance(places, OnDriver):
        named = KeyTable(*keys.columns).places(*places.found.columns[:2])
        if not named.null_count:
            return places, not follows  # each place is one that a row names
    engine, keyed = target.engine, narrow(target, rows)
    if target.logs is not None:
        moving = engine.collect(places.through(MovingKeys(), keyed))
        if not moving.num_rows:
            return places, not follows
        stored = with_meta(without_meta(own_columns(rows)))
        places = places.without(different(moving, living(target, index, moving, stored)))
    if not follows:
        return places, True
    leaving = engine.map(places.through(MovingKeys(puts=True), keyed), First(LOCATIONS_SCHEMA))
    return places, bool(engine.collect(leaving).num_rows)
