"""Base files of earlier schemas, read as if their columns had the names that the table has now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.hookspecs.file_format import (
    BaseFileFormat,
    BaseFileReader,
    BaseFileWriter,
    BaseRanges,
    ColumnBounds,
    FindsValues,
    HasColumnRanges,
    InPlaceWriter,
    KnowsNulls,
    MembershipFilter,
    RewritesInPlace,
    StoredFilter,
    StoresFilters,
    UsesThreads,
    key_filter,
    key_range,
)
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path

from hoodoo_rows.evolution import Evolved
from hoodoo_rows.evolution.history import History
from hoodoo_rows.evolution.names import Names
from hoodoo_rows.model.filter_text import text_of
from hoodoo_rows.produce.base_ranges import base_ranges
from hoodoo_rows.read.reader_around import ReaderAround


@frozen
class EvolvedFormat(Evolved):
    """Implements :class:`~hoodoo.hookspecs.file_format.BaseFileFormat` around another one.
    Spark's and other libraries' readers of Parquet know no earlier names, so files are not
    plain."""

    stored: BaseFileFormat
    history: History

    @property
    def extension(self) -> str:
        """The inner format's."""
        return self.stored.extension

    def _names(self, path: str) -> Names | None:
        file = parse_path(path)
        return None if file is None else self.history.names(file.instant)

    def reader(self, storage: Storage, path: str) -> BaseFileReader:
        """Open ``path``, with the table's names of columns."""
        found, names = self.stored.reader(storage, path), self._names(path)
        return found if names is None else EvolvedReader(found, names)

    def writer(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None = None,
        base: BaseFileReader | None = None,
    ) -> BaseFileWriter:
        """As the inner format: new files have the table's names."""
        return self.stored.writer(local, schema, expected_rows, base)

    def with_threads(self, threads: int) -> BaseFileFormat:
        """The same, with the inner format's threads."""
        if not isinstance(self.stored, UsesThreads):
            return self
        return evolve(self, stored=self.stored.with_threads(threads))

    def in_place(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None,
        base: BaseFileReader,
        constants: Mapping[str, str],
    ) -> InPlaceWriter | None:
        """As the inner format. None for a file with other names: all of it is written."""
        if isinstance(base, EvolvedReader) or not isinstance(self.stored, RewritesInPlace):
            return None
        return self.stored.in_place(local, schema, expected_rows, base, constants)

    def column_ranges(
        self, storage: Storage, path: str, columns: Sequence[str]
    ) -> Mapping[str, ColumnBounds]:
        """As the inner format's, by the table's names."""
        if not isinstance(self.stored, HasColumnRanges):
            return {}
        there = self._paths(path, columns)
        found = self.stored.column_ranges(storage, path, list(there.values()))
        return {name: found[file] for name, file in there.items() if file in found}

    def base_ranges(self, storage: Storage, path: str, columns: Sequence[str]) -> BaseRanges:
        """As the inner format's, by the table's names."""
        there = self._paths(path, columns)
        found = base_ranges(storage, self.stored, path, list(there.values()))
        known = {n: found.ranges[f] for n, f in there.items() if f in found.ranges}
        ranges = {name: evolve(one, column=name) for name, one in known.items()}
        return evolve(
            found,
            columns=frozenset(n for n, f in there.items() if f in found.columns),
            ranges=ranges,
        )

    def _paths(self, path: str, columns: Sequence[str]) -> dict[str, str]:
        """Of those of ``columns`` that the file can have their names in it."""
        names = self._names(path)
        found = {n: n if names is None else names.path_in_file(n) for n in columns}
        return {name: file for name, file in found.items() if file is not None}


@frozen
class EvolvedFilters(EvolvedFormat):
    """The same of a format whose filters can be stored elsewhere."""

    def stored_filter(self, storage: Storage, path: str) -> StoredFilter | None:
        """The inner format's."""
        assert isinstance(self.stored, StoresFilters)
        return self.stored.stored_filter(storage, path)

    def opened_filter(self, stored: StoredFilter) -> MembershipFilter:
        """The inner format's."""
        assert isinstance(self.stored, StoresFilters)
        return self.stored.opened_filter(stored)


@frozen
class EvolvedReader(ReaderAround):
    """A base file whose columns have the table's names."""

    names: Names

    @property
    def schema(self) -> pa.Schema:
        """The file's columns, by the table's names."""
        return pa.schema(self.names.fields(self.inner.schema))

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """As the inner reader's. A filter of columns that have other names prunes nothing."""
        own = self.schema.names
        asked = own if columns is None else [n for n in columns if n in own]
        if where is not None and any(self.names.moves(n) for n in _named(where, self.names)):
            where = None
        for batch in self.inner.batches(self.names.in_file(asked), where, batch_rows, encoded):
            yield self.names.batch(batch)

    def batches_near(
        self, column: str, values: pa.Array | pa.ChunkedArray
    ) -> Iterator[pa.RecordBatch]:
        """As the inner reader's; all of a column that has another name in the file."""
        if self.names.moves(column) or not isinstance(self.inner, FindsValues):
            yield from self.batches([column])
        else:
            yield from self.inner.batches_near(column, values)

    def without_nulls(self, columns: Sequence[str]) -> bool:
        """As the inner reader's; nothing is known of columns with other names."""
        moved = any(self.names.moves(n.partition(".")[0]) for n in columns)
        return (
            not moved and isinstance(self.inner, KnowsNulls) and self.inner.without_nulls(columns)
        )

    def key_range(self) -> tuple[str, str] | None:
        """The inner reader's."""
        return key_range(self.inner)

    def key_filter(self) -> MembershipFilter | None:
        """The inner reader's."""
        return key_filter(self.inner)


def _named(where: pc.Expression, names: Names) -> list[str]:
    """The table's columns that may be in the filter, and some more."""
    text = text_of(where)
    return [n for n in (*names.stored, *names.absent) if n in text]


def evolved(file_format: BaseFileFormat, history: History) -> BaseFileFormat:
    """``file_format`` as it reads files of all schemas of ``history``."""
    kind = EvolvedFilters if isinstance(file_format, StoresFilters) else EvolvedFormat
    return kind(file_format, history)
