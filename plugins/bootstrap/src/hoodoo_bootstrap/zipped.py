"""A base file of a bootstrap: Hudi's columns in a skeleton file, the others in a file of the
source.

Row n of the one belongs to row n of the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field
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
from hoodoo.storage.api import Storage

from hoodoo_bootstrap.folder import with_values

_META = tuple(pa.field(name, pa.string()) for name in META_COLUMNS)
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


@define(eq=False)
class ZippedReader:
    """Implements :class:`~hoodoo.hookspecs.file_format.BaseFileReader`. ``values``: the columns
    that the source file lacks and its folder says. ``name``: of the source file. ``open_skeleton``
    opens the other one, when it is needed first: most reads need the columns of the source
    alone."""

    storage: Storage
    path: str
    source: BaseFileReader
    values: Mapping[str, pa.Scalar]
    name: str
    open_skeleton: Callable[[], BaseFileReader]
    _skeleton: BaseFileReader | None = None
    _schema: pa.Schema = field(init=False)

    def __attrs_post_init__(self) -> None:
        made = [pa.field(name, value.type) for name, value in self.values.items()]
        self._schema = pa.schema([*_META, *self.source.schema, *made])

    @property
    def skeleton(self) -> BaseFileReader:
        """The file of Hudi's columns. CorruptTableError where it has another number of rows than
        the source file."""
        if self._skeleton is None:
            found = self.open_skeleton()
            if found.num_rows != self.source.num_rows:
                rows = found.num_rows
                found.close()
                rule = (
                    f"has {self.source.num_rows} rows, and {self.path} {rows}: it was "
                    "changed after the bootstrap."
                )
                raise changed(self.name, rule)
            self._skeleton = found
        return self._skeleton

    @property
    def schema(self) -> pa.Schema:
        """Hudi's columns, those of the source file, and those of its folder."""
        return self._schema

    @property
    def num_rows(self) -> int:
        return self.source.num_rows

    @property
    def metadata(self) -> Mapping[str, str]:
        """Of the skeleton's footer."""
        return self.skeleton.metadata

    def size(self) -> int:
        """Bytes of the skeleton, which the table knows as those of the base file."""
        there = None if self._skeleton is not None else self.storage.head(self.path)
        if there is not None:
            return there.size
        inner: Any = self.skeleton
        return int(inner.size()) if hasattr(inner, "size") else 0

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
        if groups is None:
            right = self.source.batches(others, None, batch_rows, encoded)
        else:
            assert isinstance(self.source, ReadsGroups)
            right = self.source.group_batches(groups[0], others, batch_rows, encoded)
        left = self._own(ours, None if groups is None else groups[1], batch_rows, encoded)
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

    def _own(
        self,
        columns: Sequence[str],
        spans: Sequence[tuple[int, int]] | None,
        batch_rows: int | None,
        encoded: bool,
    ) -> Iterator[pa.RecordBatch]:
        """Hudi's columns; None of ``spans``: all rows."""
        found = self.skeleton.batches(columns, None, batch_rows, encoded)
        yield from found if spans is None else within(found, spans)

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
        file = self.skeleton if column in META_COLUMNS else self.source
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
        return key_range(self.skeleton)

    def key_filter(self) -> MembershipFilter | None:
        """The skeleton's."""
        return key_filter(self.skeleton)

    def close(self) -> None:
        """Close both files."""
        if self._skeleton is not None:
            self._skeleton.close()
        self.source.close()

    def __enter__(self) -> ZippedReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


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
