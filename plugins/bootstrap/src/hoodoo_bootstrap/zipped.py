"""A base file of a bootstrap: Hudi's columns in a skeleton file, the others in a file of the
source.

Row n of the one belongs to row n of the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.file_format import (
    BaseFileReader,
    FindsValues,
    KnowsNulls,
    MembershipFilter,
    key_filter,
    key_range,
)
from hoodoo.model.meta import META_COLUMNS
from hoodoo_rows.api import StoredFiles

from hoodoo_bootstrap.folder import with_values

CHANGED = (
    "Restore the file as it was at the bootstrap; rows that were written to the table since "
    "are in its own files. "
    "Files of a source may not be changed or deleted while base files need them."
)


@runtime_checkable
class ReadsGroups(Protocol):
    """What a reader has whose files are groups of rows that can be read by themselves."""

    def groups(self) -> Sequence[tuple[int, int]]:
        """Rows and bytes of each."""

    def groups_left(self, where: pc.Expression | None) -> list[int]:
        """The numbers of those that may have rows of which ``where`` is true."""

    def group_batches(
        self,
        numbers: Sequence[int],
        columns: Sequence[str] | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of these, as ``batches`` has them."""


@frozen
class ZippedReader(StoredFiles.ReaderAround):
    """Implements :class:`~hoodoo.hookspecs.file_format.BaseFileReader`. ``inner`` reads
    the skeleton, ``source`` the source file. ``values``: the columns that the source file lacks
    and its folder says. ``name``: of the source file."""

    source: BaseFileReader
    values: Mapping[str, pa.Scalar]
    name: str

    @property
    def schema(self) -> pa.Schema:
        """Hudi's columns, those of the source file, and those of its folder."""
        made = [pa.field(name, value.type) for name, value in self.values.items()]
        return pa.schema([*self.inner.schema, *self.source.schema, *made])

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Rows by their position. The source file's statistics prune: the same rows for all
        columns."""
        known = self.schema.names
        names = known if columns is None else [name for name in columns if name in known]
        ours = [name for name in names if name in META_COLUMNS]
        others = [n for n in names if n not in self.values and n not in META_COLUMNS]
        groups = None if where is None else self._groups(where)
        left = self.inner.batches(ours, None, batch_rows, encoded)
        if groups is None:
            right = self.source.batches(others, None, batch_rows, encoded)
        else:
            numbers, spans = groups
            left = within(left, spans)
            assert isinstance(self.source, ReadsGroups)
            right = self.source.group_batches(numbers, others, batch_rows, encoded)
        if not ours:
            for batch in right:
                yield with_values(names, batch, self.values) if names else batch
        elif len(ours) == len(names):
            yield from left
        else:
            for one, other in self._aligned(left, right):
                columns_of_both = [*one.columns, *other.columns]
                both = pa.RecordBatch.from_arrays(columns_of_both, names=[*ours, *others])
                yield with_values(names, both, self.values)

    def _groups(self, where: pc.Expression) -> tuple[list[int], list[tuple[int, int]]] | None:
        """Row groups of the source file that may match, and their first and last rows; None:
        all."""
        if not isinstance(self.source, ReadsGroups):
            return None
        numbers = self.source.groups_left(where)
        ends = list(accumulate(rows for rows, _bytes in self.source.groups()))
        return numbers, [(ends[n] - self.source.groups()[n][0], ends[n]) for n in numbers]

    def _aligned(
        self, left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """Pieces of both with the same rows. CorruptTableError where one ends before the other."""
        one, other = next(left, None), next(right, None)
        while one is not None and other is not None:
            rows = min(one.num_rows, other.num_rows)
            if rows:
                yield one.slice(0, rows), other.slice(0, rows)
            one = one.slice(rows) if rows < one.num_rows else next(left, None)
            other = other.slice(rows) if rows < other.num_rows else next(right, None)
        rest = [batch for batch in (one, other) if batch is not None and batch.num_rows]
        if rest or any(batch.num_rows for side in (left, right) for batch in side):
            raise changed(self.name, "has another number of rows than its footer says.")

    def batches_near(
        self, column: str, values: pa.Array | pa.ChunkedArray
    ) -> Iterator[pa.RecordBatch]:
        """Of the file that has the column."""
        file = self.inner if column in META_COLUMNS else self.source
        if column in self.values or not isinstance(file, FindsValues):
            yield from self.batches([column])
        else:
            yield from file.batches_near(column, values)

    def without_nulls(self, columns: Sequence[str]) -> bool:
        """As the source's file says; of a column that its folder says, too."""
        stored = [name for name in columns if name not in self.values]
        if any(not self.values[name].is_valid for name in columns if name in self.values):
            return False
        return isinstance(self.source, KnowsNulls) and self.source.without_nulls(stored)

    def key_range(self) -> tuple[str, str] | None:
        """The skeleton's."""
        return key_range(self.inner)

    def key_filter(self) -> MembershipFilter | None:
        """The skeleton's."""
        return key_filter(self.inner)

    def close(self) -> None:
        """Close both files."""
        self.inner.close()
        self.source.close()


def within(
    batches: Iterator[pa.RecordBatch], spans: Sequence[tuple[int, int]]
) -> Iterator[pa.RecordBatch]:
    """The rows in ``spans`` (first, and the one after the last), which ascend."""
    at, waiting = 0, deque(spans)
    for batch in batches:
        end = at + batch.num_rows
        while waiting and waiting[0][0] < end:
            start, stop = waiting[0]
            first, last = max(start, at), min(stop, end)
            yield batch.slice(first - at, last - first)
            if stop > end:
                break
            waiting.popleft()
        at = end


def changed(name: str, rule: str) -> CorruptTableError:
    """The error about the source file ``name``."""
    return CorruptTableError(f"source file {name}", rule, CHANGED)
