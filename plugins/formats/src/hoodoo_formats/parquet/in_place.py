"""A parquet file that replaces another one: what does not change is copied as bytes.

Rows that are replaced stay in their places, so a column chunk none of whose values change is as it
was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.model.meta import RECORD_KEY, REPEATED, encoded_as, repeated
from hoodoo_rows.api import Batches
from hoodoo_rows.model.conform import conform

from hoodoo_formats.logical import to_stored
from hoodoo_formats.parquet import footer
from hoodoo_formats.parquet.assembled import AssembledWriter
from hoodoo_formats.parquet.chunks import Chunk, is_known
from hoodoo_formats.parquet.fixed_bytes import FixedBytes
from hoodoo_formats.parquet.footer import NoFooter
from hoodoo_formats.parquet.reader import ParquetReader
from hoodoo_formats.parquet.writer import WriterOptions
from hoodoo_formats.record_keys import KeyStats, min_max

Places = npt.NDArray[np.int64]

# Bytes of a column chunk, on average, from which on files are copied: to compare and describe it
# costs a millisecond. Measured with 160 columns: 0.9 of the time with 11 KB, 0.6 with 34 KB; with
# 600 columns of 5 KB 1.6.
COPIED_FROM = 32 << 10
# Columns of a file that is copied: to begin to read one takes time in proportion to all. With 800
# columns of 42 KB 0.93.
_MOST_COLUMNS = 1000
# Row groups that have fewer rows than this share of the largest one are joined with their
# neighbours, so that a file does not gather a small one with each write.
_SMALL = 8
# A file of more row groups is written anew if they are this small a share of the bytes that one may
# have.
_FEW_GROUPS, _SMALL_BYTES = 8, 64
# Bytes before compression and rows of a row group beyond which it is not decoded at once, column by
# column.
_LARGEST_GROUP, _MOST_ROWS = 1 << 30, 4 << 20
# Bytes of a decoded column beyond which its row group is written anew, batch by batch: a few long
# values that are repeated are little in the file. The same for new values: Arrow joins no more than
# 2 GB of them.
LARGEST_COLUMN = 256 << 20
# Bits of a value up to which a column of a row group is decoded at once.
_SHORT = 256
_CODECS = {"none": 0, "snappy": 1, "gzip": 2, "brotli": 4, "lz4": 7, "zstd": 6}


def begin(
    local: str,
    schema: pa.Schema,
    options: WriterOptions,
    base: ParquetReader,
    constants: Mapping[str, str],
) -> InPlaceWriter | None:
    """The writer of the file at ``local``, which replaces ``base``. None where most would be
    encoded anew all the same, or where anything about ``base`` is unusual."""
    if not options.key_stats or base.key_range() is None or not is_known(base.writer):
        return None
    if RECORD_KEY not in schema.names or RECORD_KEY not in base.schema.names:
        return None
    if not _are_worth_keeping(base, options):
        return None
    # Of the rows that are expected most may be updates: whether the filter has become too small is
    # known at the end.
    keys = KeyStats.begin(options.bloom, base.num_rows, base)
    if options.bloom is not None and keys.started is None:
        return None  # a filter that is built anew needs all keys
    base.bring(local + ".old")
    try:
        writer = InPlaceWriter(local, schema, options, keys, base, constants)
    except NoFooter:  # of the old file, or of one by this pyarrow
        return None
    return writer if writer.copies_most else None


def _are_worth_keeping(base: ParquetReader, options: WriterOptions) -> bool:
    groups = base.groups()
    if base.leaves > _MOST_COLUMNS:
        return False
    few = len(groups) <= _FEW_GROUPS or (
        base.size() // len(groups) >= options.block_bytes // _SMALL_BYTES
    )
    return (
        bool(groups)
        and few
        and all(rows <= _MOST_ROWS and size <= _LARGEST_GROUP for rows, size in groups)
    )


class _TooLong(Exception):
    """A column of a row group takes too much memory when it is decoded."""


class InPlaceWriter(AssembledWriter):
    """Implements :class:`hoodoo.hookspecs.file_format.InPlaceWriter`.

    Holds one column of a row group, and what has been encoded of the others. Chunks are copied
    whose column the schema describes as the old file's does, and which have the compression that is
    asked for."""

    def __init__(
        self,
        local: str,
        schema: pa.Schema,
        options: WriterOptions,
        keys: KeyStats,
        base: ParquetReader,
        constants: Mapping[str, str],
    ) -> None:
        super().__init__(local, schema, options, keys)
        self._base, self._layout, self._constants = base, base.layout(), dict(constants)
        self._large = max(group.rows for group in self._layout.groups)
        self._fixed = FixedBytes(self._layout, base)
        self._taken: list[int] = []

    @property
    def parts(self) -> Sequence[PartReader]:
        """The row groups of the file that is replaced."""
        found = enumerate(self._layout.groups)
        return [PartReader(self._base, number, group.rows) for number, group in found]

    def keep(self, part: int, at: pa.Array | None = None, rows: pa.Table | None = None) -> None:
        """The rows of the part, in the places ``at`` those of ``rows``."""
        group = self._layout.groups[part]
        self._taken.append(part)
        if not group.rows:
            return
        new = _New.of(at, rows, self._schema)
        if _SMALL * group.rows <= self._large:
            self._rewrite(part, new)
            return
        self._flush()  # rows that came before
        try:
            chunks = self._chunks(part, new)
        except _TooLong:
            self._rewrite(part, new)
            return
        if self._stats is not None:
            self._stats.rows += group.rows
        self._add(group.rows, chunks)

    def close(self) -> int:
        """As of the ordinary writer."""
        if self._stats is not None and len(self._taken) == len(self._layout.groups):
            self._stats.reach(self._base.key_range())
        elif self._stats is not None:  # what was left out may have had the least key
            for keys in self._stored_keys(self._taken):
                self._stats.reach(min_max(keys))
        if self._stats is not None and self._stats.outgrows(self._base):
            self._stats.restart(self._stored_keys(range(len(self._layout.groups))))
        return super().close()

    def _stored_keys(self, parts: Iterable[int]) -> Iterator[pa.Array]:
        for part in parts:
            for batch in self._base.part_batches(part, [RECORD_KEY]):
                yield batch.column(0)

    @property
    def copies_most(self) -> bool:
        """Whether at least half of the bytes could be copied."""
        there = copied = 0
        for group in self._layout.groups:
            for name, chunks in group.chunks.items():
                size = sum(chunk.size for chunk in chunks)
                there += size
                copied += size if self._copies(name, chunks) else 0
        return 2 * copied >= there

    def _copies(self, name: str, chunks: Sequence[Chunk]) -> bool:
        """Whether the file may have these chunks as they are."""
        if name in self._constants or name not in self._template.elements:
            return False
        if self._layout.elements[name] != self._template.elements[name]:
            return False
        codec = _CODECS.get(self._options.codec)
        return all(
            footer.value(chunk.meta, footer.CODEC) == codec
            and (self._options.dictionary or footer.DICTIONARY_PAGE not in chunk.meta)
            for chunk in chunks
        )

    def _chunks(self, part: int, new: _New) -> dict[str, list[Chunk]]:
        """A row group: what is copied, and what is encoded again."""
        group, chunks = self._layout.groups[part], {}
        for field in self._schema:
            name, there = field.name, self._layout.groups[part].chunks.get(field.name, [])
            if name in self._constants:
                made = pa.chunked_array([repeated(self._constants[name], group.rows)])
            else:
                copies = bool(there) and self._copies(name, there)
                if copies and (name == RECORD_KEY or not new.has(name)):
                    chunks[name] = there
                    continue
                if new.size(name) > LARGEST_COLUMN:
                    raise _TooLong
                if copies and new.are_there(part, field, self._fixed):
                    chunks[name] = there
                    continue
                stored = self._old(part, field)
                if copies and new.is_there(stored, field):
                    chunks[name] = there
                    continue
                made = new.put(stored, name)
            made = to_stored(made, field.type)
            chunks |= self._encoded(pa.table([made], names=[name]))
        return chunks

    def _old(self, part: int, field: pa.Field) -> pa.ChunkedArray:
        """A column of the old file as the new one wants it; null where it lacks it. Raises
        _TooLong."""
        count = self._layout.groups[part].rows
        if field.name not in self._base.schema.names:
            return pa.chunked_array([pa.nulls(count, field.type)])
        found, size = [], 0
        # One batch where all values have one size, which is faster.
        short = 0 < _bits(self._base.schema.field(field.name).type) <= _SHORT
        rows = count if short or field.name in self._base.dictionaries else None
        for batch in self._of_part(part, pa.schema([field]), rows):
            size += batch.nbytes
            if size > LARGEST_COLUMN:
                raise _TooLong
            found.append(batch.column(0))
        return pa.chunked_array(found, None if found else field.type)

    def _of_part(
        self, part: int, wanted: pa.Schema, rows: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        for batch in self._base.part_batches(part, wanted.names, rows, encoded=True):
            yield conform(Batches.promoted(batch, wanted), encoded_as(wanted, batch.schema))

    def _rewrite(self, part: int, new: _New) -> None:
        """The rows of a part as the ordinary writer has them, batch by batch."""
        wanted = pa.schema([f for f in self._schema if f.name not in self._constants])
        start = 0
        for batch in self._of_part(part, wanted):
            here = new.between(start, start + batch.num_rows)
            start += batch.num_rows
            made = {
                name: here.put(pa.chunked_array([batch.column(name)]), name)
                for name in wanted.names
            }
            made |= {n: repeated(v, batch.num_rows) for n, v in self._constants.items()}
            self.write(pa.table(made).select(self._schema.names), known=True)

    def _add(self, rows: int, chunks: dict[str, list[Chunk]]) -> None:
        self._groups += 1
        try:
            self._opened().add(rows, chunks)
        except OSError as error:
            raise self._failed(error) from error


@frozen
class PartReader:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileReader`: one row group of an open
    file, which closing leaves open."""

    inner: ParquetReader
    number: int
    num_rows: int

    @property
    def schema(self) -> pa.Schema:
        return self.inner.schema

    @property
    def metadata(self) -> Mapping[str, str]:
        return self.inner.metadata

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """As of a whole file; ``where`` prunes nothing."""
        return self.inner.part_batches(self.number, columns, batch_rows, encoded)

    def close(self) -> None:
        """Nothing: the file is another reader's."""

    def __enter__(self) -> PartReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@frozen
class _New:
    """Rows that come in the places ``at`` of stored ones."""

    at: Places
    rows: pa.Table

    @staticmethod
    def of(at: pa.Array | None, rows: pa.Table | None, schema: pa.Schema) -> _New:
        if at is None or rows is None or not rows.num_rows:
            return _New(np.zeros(0, np.int64), pa.table({}))
        wanted = pa.schema([f for f in schema if f.name in rows.schema.names])
        found = rows.combine_chunks().to_batches()
        made = [conform(batch, encoded_as(wanted, batch.schema)) for batch in found]
        return _New(np.asarray(at).astype(np.int64), pa.Table.from_batches(made))

    def has(self, name: str) -> bool:
        return name in self.rows.schema.names

    def size(self, name: str) -> int:
        """Bytes of the values of a column."""
        return int(self.rows.column(name).nbytes) if self.has(name) else 0

    def between(self, start: int, end: int) -> _New:
        """Those with places from ``start`` on, but before ``end``, counted from ``start``."""
        low, high = np.searchsorted(self.at, [start, end])
        return _New(self.at[low:high] - start, self.rows.slice(low, high - low))

    def put(self, stored: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        """The column ``stored`` with these values in their places."""
        if not len(self.at) or not self.has(name):
            return stored
        return _replaced(stored, self.at, _flat(self.rows.column(name)))

    def are_there(self, part: int, field: pa.Field, stored: FixedBytes) -> bool:
        """Whether a row group has these values in their places, as far as their bytes say."""
        known = field.name in stored.lengths and pa.types.is_decimal128(field.type)
        return known and stored.are_there(
            part, field.name, self.at, _flat(self.rows.column(field.name))
        )

    def is_there(self, stored: pa.ChunkedArray, field: pa.Field) -> bool:
        """Whether ``stored`` has these values in their places, to the last bit."""
        if _hides_bits(field.type):
            return False
        start, new = 0, _plain(self.rows.column(field.name))
        for chunk in stored.chunks:  # Arrow would join them to take values of all
            low, high = np.searchsorted(self.at, [start, start + len(chunk)])
            old = _plain(chunk.take(pa.array(self.at[low:high] - start)))
            start += len(chunk)
            if not _same_bits(old, new.slice(low, high - low)):
                return False
        return True


def _same_bits(old: pa.Array, new: pa.Array) -> bool:
    if pa.types.is_floating(old.type):
        whole = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[old.type.bit_width]
        old, new = old.view(whole), new.view(whole)
    return bool(old.equals(new))


def _bits(kind: pa.DataType) -> int:
    """Bits of a value of a type whose values have one size; 0 of others."""
    try:
        return int(kind.bit_width)
    except ValueError:
        return 0


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()


def _hides_bits(kind: pa.DataType) -> bool:
    """Whether a nested type has floating numbers: Arrow takes both zeros for equal."""
    inner = [kind.field(i).type for i in range(kind.num_fields)]
    return any(pa.types.is_floating(one) or _hides_bits(one) for one in inner)


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if column.type == REPEATED:
        column = column.cast(pa.string())
    return _flat(column) if isinstance(column, pa.ChunkedArray) else column


def _replaced(stored: pa.ChunkedArray, at: Places, new: pa.Array) -> pa.ChunkedArray:
    """``stored`` with the values ``new`` in the places ``at``, which ascend."""
    if not len(at):
        return stored
    if stored.type != REPEATED:
        new = _plain(new)
    made, start = [], 0
    for chunk in stored.chunks:
        low, high = np.searchsorted(at, [start, start + len(chunk)])
        here, some = at[low:high] - start, new.slice(low, high - low)
        start += len(chunk)
        if not len(here):
            made.append(chunk)
        elif stored.type == REPEATED:
            made.append(_replaced_codes(chunk, here, some))
        else:
            made.append(_replaced_values(chunk, here, some))
    return pa.chunked_array(made, stored.type)


def _replaced_codes(chunk: pa.DictionaryArray, at: Places, new: pa.Array) -> pa.DictionaryArray:
    """A dictionary to which the values that it lacks are added."""
    values = _plain(new)
    known = pa.concat_arrays([chunk.dictionary, _lacking(chunk.dictionary, values)])
    mask = np.zeros(len(chunk), bool)
    mask[at] = True
    codes = pc.index_in(values, value_set=known)
    if values.null_count:  # a dictionary of its own has no null here
        codes = pc.if_else(pc.is_valid(values), codes, pa.scalar(None, pa.int32()))
    indices = pc.replace_with_mask(chunk.indices, pa.array(mask), codes)
    return pa.DictionaryArray.from_arrays(indices, known)


def _lacking(known: pa.Array, values: pa.Array) -> pa.Array:
    found = pc.unique(values.drop_null())
    return found.filter(pc.invert(pc.is_in(found, value_set=known)))


def _replaced_values(chunk: pa.Array, at: Places, new: pa.Array) -> pa.Array:
    if not pa.types.is_nested(chunk.type):
        mask = np.zeros(len(chunk), bool)
        mask[at] = True
        try:
            return pc.replace_with_mask(chunk, pa.array(mask), new)
        except pa.ArrowNotImplementedError:  # a type without such a kernel
            pass
    order = np.arange(len(chunk))
    order[at] = len(chunk) + np.arange(len(at))
    return pa.concat_arrays([chunk, new]).take(pa.array(order))
