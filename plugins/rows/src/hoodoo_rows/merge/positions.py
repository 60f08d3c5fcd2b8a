"""Log rows meet stored rows by the numbers of these in the base file: no key is read or looked up.

A block says them where its writer has looked into the base file. They count where every block of a
slice says them of the slice's own base file; otherwise keys decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field
from hoodoo.hookspecs.file_format import BaseFileReader
from hoodoo.hookspecs.log_format import LogFileReader
from hoodoo.model.log_block import LogBlock

from hoodoo_rows.merge.meet import KeyJoin, Places
from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.read.late import finds_rows

Numbers = npt.NDArray[np.int64]
# A column of log rows: the number of the stored row, from 0.
POSITION = "_hoodie__position"


def base_rows(
    counted: Sequence[tuple[LogFileReader, LogBlock]], rule: MergeRule, base_instant: str | None
) -> list[Numbers] | None:
    """The rows that the blocks ``counted`` are about; None where one of them does not say it, or a
    key may stand for several. A merger that builds rows sees columns of the table alone, so its
    rows have no numbers."""
    if base_instant is None or not rule.by_rows or rule.merger.columns is None:
        return None
    if hasattr(rule.deletes, "deleted_keys"):
        return None
    found = []
    for reader, block in counted:
        rows = reader.base_rows(block, base_instant)
        if rows is None:
            return None
        found.append(rows)
    return found


def last_row(waiting: KeyJoin | None) -> int:
    """The greatest number that one of the waiting rows has; -1 where they have none."""
    if waiting is None or POSITION not in waiting.rows.schema.names:
        return -1
    return int(pc.max(waiting.rows.column(POSITION)).as_py())


@define
class RowPlaces:
    """The places of stored rows among waiting ones, for batch after batch, as
    :class:`~hoodoo_rows.merge.meet.Places`, by the column POSITION of ``rows``, which ascends."""

    rows: pa.Table
    start: int = 0
    _at: Numbers = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._at = np.asarray(self.rows.column(POSITION), np.int64)

    def take(self, rows: int) -> pa.Array:
        """The places (int32, null: none) of the next ``rows`` rows of the file."""
        first, last = np.searchsorted(self._at, (self.start, self.start + rows))
        if first == last:
            found = pa.nulls(rows, pa.int32())
        else:
            places = np.full(rows, -1, np.int32)
            places[self._at[first:last] - self.start] = np.arange(first, last, dtype=np.int32)
            found = pa.array(places, mask=places < 0)
        self.start += rows
        return found


def places_of(waiting: KeyJoin, keys: Iterator[pa.Array]) -> Places | RowPlaces:
    """Where the rows of a base file, all of them, are among the ``waiting`` ones: by their numbers,
    or by the record ``keys`` of the file."""
    if POSITION in waiting.rows.schema.names:
        return RowPlaces(waiting.rows)
    return Places(waiting, keys)


def numbered(
    reader: BaseFileReader, columns: Sequence[str], where: pc.Expression | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a base file, in batches whose columns may be dictionaries, each with the number
    of its first row. Row groups that ``where`` rules out are left out where the reader tells which
    these are."""
    start = 0
    if where is not None and finds_rows(reader):
        left = set(reader.groups_left(where))
        for number, (rows, _size) in enumerate(reader.groups()):
            begin = start
            for batch in (
                reader.group_batches([number], columns, None, True) if number in left else ()
            ):
                yield begin, batch
                begin += batch.num_rows
            start += rows
        return
    for batch in reader.batches(columns, encoded=True):
        yield start, batch
        start += batch.num_rows
