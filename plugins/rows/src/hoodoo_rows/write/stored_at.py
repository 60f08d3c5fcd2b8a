"""Which rows of base files a write changes, as the index has seen them when it looked for keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, IndexContext

from hoodoo_rows.merge.pairs import flat

Numbers = npt.NDArray[np.int64]
# With the number of the row in the base file, from 0; null where the file has the key twice.
ROWS_SCHEMA = LOCATIONS_SCHEMA.append(pa.field("position", pa.int64()))


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
    """``groups``: by file id the record keys (text) that its base file has, and the numbers of their
    rows, as long."""

    groups: Mapping[str, tuple[pa.Array, Numbers]]

    @classmethod
    def of(cls, found: pa.Table) -> StoredAt:
        """``found``: rows of ROWS_SCHEMA."""
        if not found.num_rows:
            return cls({})
        coded = flat(found.column("file_id")).dictionary_encode()
        order = np.argsort(coded.indices, kind="stable")
        ends = np.cumsum(np.bincount(coded.indices))
        keys = flat(found.column("record_key")).take(pa.array(order))
        filled = pc.fill_null(found.column("position"), -1)
        rows = np.asarray(filled, np.int64)[order]
        return cls(
            {
                name: (keys.slice(start, end - start), rows[start:end])
                for name, start, end in zip(
                    coded.dictionary.to_pylist(), [0, *ends[:-1]], ends, strict=True
                )
            }
        )

    def rows(self, file_id: str, keys: Any) -> Numbers | None:
        """The rows of the record ``keys``, all different, in the base file of a file group; None
        where one of them is not known."""
        there = self.groups.get(file_id)
        if there is None or not len(keys):
            return None
        at = flat(pc.index_in(keys, value_set=there[0]))
        if at.null_count:
            return None
        rows = there[1][np.asarray(at)]
        return None if (rows < 0).any() else rows
