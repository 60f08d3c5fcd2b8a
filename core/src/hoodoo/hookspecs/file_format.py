"""Base file format: bytes of a base file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc
from attrs import Factory, frozen

from hoodoo.hookspecs.answers import Column, answers
from hoodoo.hookspecs.family import Family, Optional
from hoodoo.model.column_range import ColumnRange
from hoodoo.storage.api import Storage


class BaseFileReader(Protocol):
    """One open base file. Close it, or use it as a context manager."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the file, in file order, with the meta columns that it stores."""

    @property
    def num_rows(self) -> int:
        """The number of rows in the file."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """The footer's key-value metadata."""

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Rows in file order, row group by row group; ``columns`` are top-level names (those the
        file lacks are left out). ``where`` only prunes (row groups that cannot match are skipped):
        rows that don't match may still come. ``batch_rows`` is the most rows that a batch has; None
        leaves it to the format. With ``encoded``, columns of strings may come as dictionaries, and
        not as the :attr:`schema` says."""

    def close(self) -> None:
        """Close the file. Nothing more can be read from it."""

    def __enter__(self) -> BaseFileReader: ...

    def __exit__(self, *exc: object) -> None: ...


class MembershipFilter(Protocol):
    """Which record keys a base file may have, such as a bloom filter of them."""

    @answers(Column(pa.bool_(), like="keys", what="flags"))
    def might_contain(self, keys: pa.Array | pa.ChunkedArray) -> pa.BooleanArray:
        """As long as ``keys`` (strings): false where the file certainly lacks the key."""


@runtime_checkable
class KnowsKeys(Protocol):
    """Optional for a :class:`BaseFileReader`: it knows its record keys without reading rows.

    Keys that were taken out of a file which this one replaces may still count; never the reverse.
    Without these members nothing is known of the keys: whoever looks for some reads them.
    """

    def key_range(self) -> tuple[str, str] | None:
        """The least and the greatest record key; None where they aren't known, or none is stored.
        In the order of UTF-8 bytes or in Java's: who compares uses no bound in which these
        differ."""

    def key_filter(self) -> MembershipFilter | None:
        """The filter, or None; CorruptTableError for one that can't be read."""


@runtime_checkable
class FindsValues(Protocol):
    """Optional for a :class:`BaseFileReader`: it need not read a whole column to look for some
    values."""

    def batches_near(
        self, column: str, values: pa.Array | pa.ChunkedArray
    ) -> Iterator[pa.RecordBatch]:
        """``column`` alone, a column of strings, without parts of the file that can have none of
        ``values`` (in the order of their bytes). Other rows may come."""


@runtime_checkable
class KnowsNulls(Protocol):
    """Optional for a :class:`BaseFileReader`: each read of virtual keys asks it. Without it their
    columns are read."""

    def without_nulls(self, columns: Sequence[str]) -> bool:
        """Whether the file has all of the top-level ``columns`` and no null in any of them, as far
        as is known without reading rows."""


def key_range(reader: BaseFileReader) -> tuple[str, str] | None:
    """The least and the greatest record key of an open base file, as far as they are known."""
    return reader.key_range() if isinstance(reader, KnowsKeys) else None


def key_filter(reader: BaseFileReader) -> MembershipFilter | None:
    """The filter of its record keys, if it has one. Raises CorruptTableError for one that can't be
    read."""
    return reader.key_filter() if isinstance(reader, KnowsKeys) else None


class BaseFileWriter(Protocol):
    """Writes one base file at a local path."""

    def write(self, batch: pa.RecordBatch | pa.Table, known: bool = False) -> None:
        """Append rows; the schema is the one given at creation, except that a column of strings,
        but for the record key, may come as a dictionary, and that columns may come in another
        order. ``known``: rows of the ``base`` given at creation, whose keys need not be looked at
        again."""

    @property
    def written(self) -> int:
        """Bytes that the file would have if it ended with the rows that have been put into it so
        far, its footer included as far as that can be guessed. Rows that wait in memory don't
        count."""

    def flush(self) -> int:
        """Put the rows that wait into the file, as a part of it that can be read without the others
        (a row group); :attr:`written` then."""

    def close(self) -> int:
        """Finish the file, footer included; its size in bytes."""


@runtime_checkable
class BaseFileFormat(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.file_format``. Picklable."""

    @property
    def extension(self) -> str:
        """With the dot: ``.parquet``."""

    def reader(self, storage: Storage, path: str) -> BaseFileReader:
        """Open ``path`` of ``storage``; CorruptTableError names the file if it can't be read."""

    def writer(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None = None,
        base: BaseFileReader | None = None,
    ) -> BaseFileWriter:
        """Start a file at ``local``. Record-key statistics and the bloom filter are made from
        ``_hoodie_record_key`` if the schema has it filled.

        ``expected_rows`` is a hint. ``base`` is the file that this one replaces: what it says of
        its keys may be carried over, if no row is written as ``known`` that isn't in it."""


class InPlaceWriter(BaseFileWriter, Protocol):
    """Writes a base file that has rows of the one which it replaces in their old places, so that
    what does not change can be copied as it is stored. Rows that are written besides come between
    the parts."""

    @property
    def parts(self) -> Sequence[BaseFileReader]:
        """The rows of each part of the file that is replaced (row groups)."""

    def keep(self, part: int, at: pa.Array | None = None, rows: pa.Table | None = None) -> None:
        """The rows of the part of this number, but in the places ``at`` (ascending, from 0) those
        of ``rows``, whose keys are the stored ones. Columns that ``rows`` lacks stay as they are.
        Each part at most once, in order."""


@runtime_checkable
class RewritesInPlace(Protocol):
    """Optional for a :class:`BaseFileFormat`: a file that replaces another one can have parts of it
    as they are. Without it all rows are read and written."""

    def in_place(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None,
        base: BaseFileReader,
        constants: Mapping[str, str],
    ) -> InPlaceWriter | None:
        """Start a file at ``local``, as :meth:`BaseFileFormat.writer` does. ``constants``: string
        columns with one value in all rows of copied parts. ``base`` stays open until the file is
        closed. None if it is better to write the whole file."""


@runtime_checkable
class UsesThreads(Protocol):
    """Optional for a :class:`BaseFileFormat`: several threads can encode one file. Without it one
    does."""

    def with_threads(self, threads: int) -> BaseFileFormat:
        """The same format, whose writers use up to ``threads`` threads at a time. What they write
        depends on the number that is given, not on how many run."""


@frozen
class ColumnBounds:
    """What a base file holds in one column.

    ``least`` and ``greatest`` are Arrow scalars of the type that the file has: each value that is
    neither null nor NaN lies between them, ends included; None where that is not known, or all is
    null. ``nulls`` of the file's rows are null. ``stored_bytes`` and ``raw_bytes``: of the column
    in the file, and before compression; 0 where nobody has counted them.
    """

    least: pa.Scalar | None
    greatest: pa.Scalar | None
    nulls: int
    stored_bytes: int = 0
    raw_bytes: int = 0


@runtime_checkable
class HasColumnRanges(Protocol):
    """Optional for a :class:`BaseFileFormat`: it knows least and greatest values without reading
    rows.

    Without it nothing is known of the columns of its files: ``column_stats`` of the metadata table
    holds nothing of them, reads prune nothing by it, clustering by ranges takes them for unknown.
    """

    def column_ranges(
        self, storage: Storage, path: str, columns: Sequence[str]
    ) -> Mapping[str, ColumnBounds]:
        """The ranges of those of ``columns`` (fields of structs: ``outer.inner``) that it knows, in
        the base file ``path``. CorruptTableError names a file that can't be read."""


@frozen
class BaseRanges:
    """Of one base file: ``rows``, the least and the greatest record key (``keys``), the paths of
    the ``columns`` that it has, and the ``ranges`` by column of those whose ranges are known. Those
    may be without bounds (:attr:`~hoodoo.model.column_range.ColumnRange.is_known`)."""

    rows: int
    keys: tuple[str, str] | None = None
    columns: frozenset[str] = frozenset()
    ranges: Mapping[str, ColumnRange] = Factory(dict)


@runtime_checkable
class HasBaseRanges(Protocol):
    """Optional for a :class:`BaseFileFormat`: one look at a file, such as at its footer, answers
    all that is asked of its keys and columns. Without it the file is opened, and
    :class:`HasColumnRanges` is asked."""

    def base_ranges(self, storage: Storage, path: str, columns: Sequence[str]) -> BaseRanges:
        """What the base file ``path`` holds, with the ranges of those of ``columns`` that it knows.
        CorruptTableError names a file that is missing or can't be read."""


@runtime_checkable
class FormatTraits(Protocol):
    """Optional for a :class:`BaseFileFormat`."""

    @property
    def plain_parquet(self) -> bool:
        """See :func:`is_plain_parquet`."""

    @property
    def column_stats(self) -> bool:
        """Whether tables of these files have ranges of columns in their metadata table."""


def is_plain_parquet(file_format: object) -> bool:
    """Whether any reader of Parquet reads the files: the format has an attribute ``plain_parquet``
    that is True: Spark reads them itself then. The extension does not say it: an encrypting format
    may well write ``.parquet``."""
    return getattr(file_format, "plain_parquet", False) is True


@frozen
class StoredFilter:
    """The filter of the base file ``path`` as it is stored elsewhere: its ``kind``, by Hudi's name,
    and bytes."""

    path: str
    kind: str
    content: bytes


@runtime_checkable
class StoresFilters(Protocol):
    """Optional for a :class:`BaseFileFormat`: filters of record keys can be stored elsewhere than
    in the files."""

    def stored_filter(self, storage: Storage, path: str) -> StoredFilter | None:
        """Of the keys of the base file ``path``, as it has it or rebuilt; None where it holds no
        keys."""

    def opened_filter(self, stored: StoredFilter) -> MembershipFilter:
        """``stored`` again. CorruptTableError for one that can't be read."""


FAMILY = Family(
    "hoodoo_file_formats",
    """Offer base file formats. When: base files are read or written. Default: ``PARQUET``
    (hoodoo-formats).

    Names are those of ``hoodie.table.base.file.format``. The factory returns a
    :class:`BaseFileFormat`.""",
    (BaseFileFormat,),
    optional=(
        FormatTraits,
        HasColumnRanges,
        HasBaseRanges,
        StoresFilters,
        RewritesInPlace,
        UsesThreads,
    ),
    lacking={"plain_parquet": Optional(False), "column_stats": Optional(True)},
    parts={
        "reader": (BaseFileReader, KnowsKeys, FindsValues, KnowsNulls),
        "membership_filter": (MembershipFilter,),
        "writer": (BaseFileWriter,),
        "in_place_writer": (InPlaceWriter,),
    },
    travels=True,
)
