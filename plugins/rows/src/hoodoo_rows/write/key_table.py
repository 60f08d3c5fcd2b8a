"""Where keys are in a table, asked for one batch of rows after another.

Arrow's own lookups hash the whole table again at each call; what is kept here is made once for a
task."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hoodoo_rows.merge.pairs import flat
from hoodoo_rows.model.java_hash import string_hash

Numbers = npt.NDArray[np.int64]


class KeyTable:
    """The rows of a table by one or more ``columns`` of text."""

    def __init__(self, *columns: pa.ChunkedArray | pa.Array) -> None:
        self._columns = [flat(column) for column in columns]
        hashes = _hashes(self._columns)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def places(self, *columns: pa.ChunkedArray | pa.Array) -> pa.Array:
        """The number of the first row with the values of each row of ``columns``; null: there is
        none."""
        asked = [flat(column) for column in columns]
        hashes = _hashes(asked)
        found = np.full(len(hashes), -1, np.int64)
        at, left = np.searchsorted(self._hashes, hashes), np.arange(len(hashes))
        while len(left):  # past the rows of other values that have the same hash
            left = left[at[left] < len(self._hashes)]
            left = left[self._hashes[at[left]] == hashes[left]]
            rows, same = self._order[at[left]], np.ones(len(left), bool)
            for mine, theirs in zip(self._columns, asked, strict=True):
                same &= pc.equal(mine.take(pa.array(rows)), theirs.take(pa.array(left))).to_numpy(
                    zero_copy_only=False
                )
            found[left[same]] = rows[same]
            left = left[~same]
            at[left] += 1
        return pa.array(found, mask=found < 0)

    def rows_of(self, *columns: pa.ChunkedArray | pa.Array) -> pa.Array:
        """The numbers of all rows with values that ``columns`` have, ascending."""
        rows = np.unique(self.places(*columns).drop_null().to_numpy())
        again, firsts = self._repeated
        return pa.array(np.union1d(rows, again[np.isin(firsts, rows)]))

    @cached_property
    def _repeated(self) -> tuple[Numbers, Numbers]:
        """The rows whose values an earlier row has, and the first of these."""
        firsts = self.places(*self._columns).to_numpy()
        again = np.flatnonzero(firsts != np.arange(len(firsts)))
        return again, firsts[again]


def _hashes(columns: list[pa.Array]) -> npt.NDArray[np.int32]:
    found = string_hash(columns[0])
    for column in columns[1:]:
        found = found * np.int32(31) + string_hash(column)
    return found
