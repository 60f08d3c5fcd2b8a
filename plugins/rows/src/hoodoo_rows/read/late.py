"""Late: the columns of the filter are read first, then of the others what it lets through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import CorruptTableError

from hoodoo_rows.read.spec import let_through

# Of more than one row in so many a filter is faster than places.
_DENSE = 8
_MEMBERS = ("groups", "groups_left", "group_batches", "rows_near", "rows_at")
# A column of places, beside those of the filter.
_AT = "_hoodie__at"


class FindsRows(Protocol):
    """Optional for a reader of base files: it reads single row groups, and single rows of them."""

    def groups(self) -> Sequence[tuple[int, int]]:
        """Rows and bytes of each row group."""

    def groups_left(self, where: pc.Expression | None) -> list[int]:
        """The numbers of the row groups that may have rows of which ``where`` is true."""

    def group_batches(
        self,
        numbers: Sequence[int],
        columns: Sequence[str] | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of these row groups."""

    def rows_near(
        self, number: int, where: pc.Expression, columns: Sequence[str]
    ) -> npt.NDArray[np.int64] | None:
        """The places (ascending, from 0) of all rows of a row group of which ``where``, which looks
        at ``columns``, may be true; None where it is not known."""

    def rows_at(
        self, number: int, at: npt.NDArray[np.int64], columns: Sequence[str]
    ) -> pa.RecordBatch | None:
        """The rows in the places ``at`` (ascending) of a row group; None where it costs less to
        read all."""


def finds_rows(reader: object) -> TypeGuard[FindsRows]:
    """Whether a reader does. Asked of each file: isinstance of a Protocol takes 50 us."""
    return all(hasattr(reader, name) for name in _MEMBERS)


def matching_rows(
    reader: FindsRows, columns: Sequence[str], looked: Sequence[str], where: pc.Expression
) -> Iterator[pa.RecordBatch]:
    """The rows of which ``where`` is true, which looks at the columns ``looked``, in file order.

    Memory: of a row group the columns of the filter, where it is true; and a batch."""
    others = [name for name in columns if name not in looked]
    for number in reader.groups_left(where):
        found, count = _found(reader, number, looked, where)
        if found is None or not found.num_rows:
            continue
        at = found.column(_AT).to_numpy()
        few = reader.rows_at(number, at, others)
        if few is not None:
            yield _beside(found, few, columns)
            continue
        begin = 0
        for batch in reader.group_batches([number], others):
            first, last = np.searchsorted(at, (begin, begin + batch.num_rows)).tolist()
            if last > first:
                rows = _rows_at(batch, at[first:last] - begin)
                yield _beside(found.slice(first, last - first), rows, columns)
            begin += batch.num_rows
        if others and count is not None and begin != count:
            raise CorruptTableError(
                f"row group {number}",
                f"has {count} rows of some columns and {begin} of others.",
                "The file is damaged: restore it from a copy, or the table to a state before it "
                "(table.restore).",
            )


def _found(
    reader: FindsRows, number: int, looked: Sequence[str], where: pc.Expression
) -> tuple[pa.Table | None, int | None]:
    """The rows of a row group that are let through, None where it has no rows; and how many it has,
    where all were looked at."""
    near = reader.rows_near(number, where, looked)
    if near is not None and not len(near):
        return None, None
    few = None if near is None else reader.rows_at(number, near, looked)
    if few is not None:
        some = let_through(few.append_column(_AT, pa.array(near)), where)
        return pa.Table.from_batches([some]), None
    found, begin = [], 0
    for batch in reader.group_batches([number], looked):
        at = pa.array(np.arange(begin, begin + batch.num_rows))
        found.append(let_through(batch.append_column(_AT, at), where))
        begin += batch.num_rows
    return (pa.Table.from_batches(found) if found else None), begin


def _rows_at(batch: pa.RecordBatch, places: npt.NDArray[np.int64]) -> pa.RecordBatch:
    if len(places) == batch.num_rows:
        return batch
    if len(places) < batch.num_rows // _DENSE:
        return batch.take(pa.array(places))
    mask = np.zeros(batch.num_rows, bool)
    mask[places] = True
    return batch.filter(pa.array(mask))


def _beside(found: pa.Table, others: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    arrays: list[Any] = []
    for name in columns:
        if name in others.schema.names:
            arrays.append(others.column(name))
        else:
            arrays.append(found.column(name).combine_chunks())
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))
