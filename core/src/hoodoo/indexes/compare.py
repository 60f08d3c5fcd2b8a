"""Compare: do two indexes say the same of the same keys, and does an index say what is?"""

from __future__ import annotations

import pyarrow as pa
from attrs import Factory, field, frozen

from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, ComputedIndex, LookupIndex
from hoodoo.indexes.lookup import locations_of, places, stale
from hoodoo.write.located import different
from hoodoo.write.target import WriteTarget

Compared = LookupIndex | ComputedIndex
_FOUND = LOCATIONS_SCHEMA.append(pa.field("found_by", pa.int8()))


@frozen
class Comparison:
    """``found``: how many places of keys each of the two named. ``differences``: rows ``record_key``,
    ``partition_path``, ``file_id`` that only one of them named, ``found_by`` says which, 0 or 1.

    ``stale``: rows of the same kind, entries of an index that stores them which are of no row of the table.
    Nobody asks for these keys, so they are no differences. They are looked for where all keys are compared.
    """

    found: tuple[int, int]
    differences: pa.Table = field(repr=False)
    stale: pa.Table = field(repr=False, default=Factory(lambda: _FOUND.empty_table()))

    @property
    def same(self) -> bool:
        """Whether both said the same of all keys asked for, stale entries aside."""
        return not self.differences.num_rows

    def __str__(self) -> str:
        first, second = self.found
        said = f"the indexes differ in {self.differences.num_rows} places; they found {first} and {second}."
        if self.same:
            said = f"the indexes say the same of {first} keys."
        if self.stale.num_rows:
            said += f" {self.stale.num_rows} entries are stale: the table has no such row."
        return said


def compared(target: WriteTarget, one: Compared, other: Compared, keys: Stream) -> Comparison:
    """``keys``: as :data:`hoodoo.indexes.lookup.KEYED`; read twice."""
    first, second = (locations_of(target, index, keys) for index in (one, other))
    return Comparison((first.num_rows, second.num_rows), different(first, second))


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
