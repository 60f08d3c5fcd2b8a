"""Compare: do two indexes say the same of the same keys, and does an index say what is?"""

from __future__ import annotations

import pyarrow as pa
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, ComputedIndex, LookupIndex, PathIndex
from hoodoo_rows.api import KeyLookup, WriteTarget

from hoodoo_services.indexes.lookup import locations_of, places, stale
from hoodoo_services.outcome import Comparison

Compared = LookupIndex | ComputedIndex | PathIndex
_FOUND = LOCATIONS_SCHEMA.append(pa.field("found_by", pa.int8()))


def compared(target: WriteTarget, one: Compared, other: Compared, keys: Stream) -> Comparison:
    """``keys``: as :data:`hoodoo_services.indexes.lookup.KEYED`; read twice."""
    first, second = (locations_of(target, index, keys, True) for index in (one, other))
    return Comparison((first.num_rows, second.num_rows), KeyLookup.different(first, second))


def compared_whole(target: WriteTarget, one: Compared, other: Compared, keys: Stream) -> Comparison:
    """The same of ``keys``, which are all of the table, and of entries that are of none of them."""
    found = compared(target, one, other, keys)
    there = places(target)
    old = [_by(stale(target, index, there), n) for n, index in enumerate((one, other))]
    return Comparison(found.found, found.differences, pa.concat_tables(old))


def _by(rows: pa.Table, number: int) -> pa.Table:
    return rows.append_column(
        _FOUND.field("found_by"), pa.repeat(pa.scalar(number, pa.int8()), rows.num_rows)
    )
