"""Compare: do two indexes say the same of the same keys?"""

from __future__ import annotations

import pyarrow as pa
from attrs import field, frozen

from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import ComputedIndex, LookupIndex
from hoodoo.metadata.asked import locations_of
from hoodoo.write.located import different
from hoodoo.write.target import WriteTarget


@frozen
class Comparison:
    """``found``: how many places of keys each of the two told. ``differences``: rows ``record_key``,
    ``partition_path``, ``file_id`` that only one of them told, ``found_by`` says which, 0 or 1."""

    found: tuple[int, int]
    differences: pa.Table = field(repr=False)

    @property
    def same(self) -> bool:
        return not self.differences.num_rows

    def __str__(self) -> str:
        first, second = self.found
        if self.same:
            return f"the indexes say the same of {first} keys."
        return f"the indexes differ in {self.differences.num_rows} places; they found {first} and {second}."


def compared(
    target: WriteTarget,
    one: LookupIndex | ComputedIndex,
    other: LookupIndex | ComputedIndex,
    keys: Stream,
) -> Comparison:
    """``keys``: as :data:`hoodoo.metadata.asked.KEYED`; read twice."""
    first, second = (locations_of(target, index, keys) for index in (one, other))
    return Comparison((first.num_rows, second.num_rows), different(first, second))
