"""Where keys are in a table, asked for one batch of rows after another; and in base files, as an
index has seen them there.

Arrow's own lookups hash the whole table again at each call; what is kept here is made once for a
task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, IndexContext

from hoodoo_rows.merge.pairs import flat
from hoodoo_rows.model.java_hash import string_hash

Numbers = npt.NDArray[np.int64]
# With the number of the row in the base file, from 0; null where the file has the key twice.
ROWS_SCHEMA = LOCATIONS_SCHEMA.append(pa.field("position", pa.int64()))


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


class SeesRows(Protocol):
    """Optional for a lookup index: it looks into base files, and sees which row has a key."""

    def locate_rows(self, keys: Stream, context: IndexContext) -> Stream:
        """As ``locate``, with the column ``position``: ROWS_SCHEMA."""


def sees_rows(index: object) -> TypeGuard[SeesRows]:
    """Whether an index does."""
    return hasattr(index, "locate_rows")


class NotesRows(Protocol):
    """Optional for a writer of log files: blocks say which rows of a base file they change."""

    def at_rows(self, base_instant: str, rows: Numbers) -> None:
        """The rows of the next block have the numbers ``rows`` (from 0, ascending) in the base file
        of ``base_instant``."""


def notes_rows(writer: object) -> TypeGuard[NotesRows]:
    """Whether a writer does."""
    return hasattr(writer, "at_rows")


@frozen
class StoredAt:
    """``groups``: by partition path and file id (which names a bucket in each path, where Spark
    Hudi's writers do not block each other) the record keys (text) that the base file has, and the
    numbers of their rows, as long."""

    groups: Mapping[tuple[str, str], tuple[pa.Array, Numbers]]

    @classmethod
    def of(cls, found: pa.Table) -> StoredAt:
        """``found``: rows of ROWS_SCHEMA."""
        if not found.num_rows:
            return cls({})
        paths = flat(found.column("partition_path")).dictionary_encode()
        ids = flat(found.column("file_id")).dictionary_encode()
        groups = np.asarray(paths.indices, np.int64) * len(ids.dictionary) + np.asarray(ids.indices)
        order = np.argsort(groups, kind="stable")
        names, begins = np.unique(groups[order], return_index=True)
        keys = flat(found.column("record_key")).take(pa.array(order))
        filled = pc.fill_null(found.column("position"), -1)
        rows = np.asarray(filled, np.int64)[order]
        made = {}
        for name, start, end in zip(names, begins, [*begins[1:], len(order)], strict=True):
            path, file_id = divmod(int(name), len(ids.dictionary))
            group = paths.dictionary[path].as_py(), ids.dictionary[file_id].as_py()
            made[group] = keys.slice(start, end - start), rows[start:end]
        return cls(made)

    def rows(self, partition_path: str, file_id: str, keys: Any) -> Numbers | None:
        """The rows of the record ``keys``, all different, in the base file of a file group; None
        where one of them is not known."""
        there = self.groups.get((partition_path, file_id))
        if there is None or not len(keys):
            return None
        at = flat(pc.index_in(keys, value_set=there[0]))
        if at.null_count:
            return None
        rows = there[1][np.asarray(at)]
        return None if (rows < 0).any() else rows
