"""Reading one parquet base file, row group by row group."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hoodoo.errors import CorruptTableError, StorageError
from hoodoo.hookspecs.file_format import StoredFilter
from hoodoo.model.meta import META_COLUMNS, RECORD_KEY, encoded_as
from hoodoo.storage.api import Storage, open_named
from hoodoo.storage.together import at_once
from hoodoo_rows.api import StoredFiles
from hoodoo_rows.model.normalize import conform, plain_schema

from hoodoo_formats import record_keys
from hoodoo_formats.bloom import BloomFilter
from hoodoo_formats.parquet import footer, some_rows
from hoodoo_formats.parquet.chunks import Layout
from hoodoo_formats.parquet.footer import LongText, NoFooter, Struct
from hoodoo_formats.parquet.row_groups import RowGroups
from hoodoo_formats.parquet.some_rows import BROKEN as _BROKEN

_FILTER = (record_keys.FILTER, record_keys.FILTER_TYPE)
# A footer may carry a bloom filter of many MB; these are the limits of its text, not an allocation.
_FOOTER_BYTES = 1 << 30
# Arrow copies the texts of a footer each time that it looks at it: 4 to 9 ms for a bloom filter of
# 7 MB. Of a footer of more bytes it gets one without the filter, which is read when it is needed.
_LARGE_FOOTER_BYTES = 512 << 10
# Column chunks are read in pieces of this many bytes, not whole: memory follows the batch.
_BUFFER_BYTES = 1 << 18
# Across a network each piece is a request.
_FAR_BUFFER_BYTES = 4 << 20
_COPIED_BYTES = 8 << 20  # of a whole file that is copied
# A batch is about this long. Measured on a TPC-H lineitem file: batches of 131,072 rows are decoded
# in 0.37 s where those of 65,536 take 0.44 s and those of 16,384 take 0.50 s.
_BATCH_BYTES = 32 << 20
_MIN_BATCH, _MAX_BATCH = 4096, 131_072
# Across a network pages are read where a row group has so many bytes: each column is a request
# either way.
_FAR_PAGED_BYTES = 64 << 20
# More values than that leave out no page, as a rule, and each of them is compared in Python.
_MOST_NAMED = 4096
_ENCODINGS = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})


class ParquetReader:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileReader`.

    Batches are in :attr:`schema`: plain strings, bytes and lists, whatever the writer used.
    Decoding runs in the calling thread, because tasks already run beside each other.
    """

    def __init__(self, storage: Storage, path: str, skeletons: bool = False) -> None:
        self._obj = f"base file {path}"
        self._path = path
        self._footer: dict[bytes, bytes | LongText] | None = None
        self._far = at_once(storage) > 1
        self._coded: pq.ParquetFile | None = None
        self._content: bytes | None = None  # of a large footer, without its bloom filter
        # A filter, columns, and the values that it names of them: the same for each row group.
        self._named: tuple[pc.Expression, list[str], dict[str, pa.Array]] | None = None
        self._file = open_named(storage, path, self._obj)
        try:
            self._parquet, small = self._opened()
            self._schema = plain_schema(self._parquet.schema_arrow)
        except _BROKEN as error:
            self._file.close()
            raise self._corrupt(error) from error
        self._groups = RowGroups(self._parquet, small, self._schema)
        # Batches are selected by name; a name that occurs twice would be ambiguous.
        if len(set(self._schema.names)) < len(self._schema.names):
            self.close()
            raise CorruptTableError(
                self._obj, "two of its columns have one name.", "Rewrite the file."
            )
        # Else each column of the table would be one that came after the file: null.
        if not skeletons and self._schema.names and set(self._schema.names) <= set(META_COLUMNS):
            self.close()
            raise StoredFiles.bootstrapped(self._obj)

    def _opened(self) -> tuple[pq.ParquetFile, pa.NativeFile]:
        """The file, and one with a footer that says the same of its row groups."""
        near = not self._far and self._file.size() > _LARGE_FOOTER_BYTES
        with suppress(NoFooter, *_BROKEN):
            if near and footer.length(self._file) > _LARGE_FOOTER_BYTES:
                content, text = footer.without_text(self._file, record_keys.FILTER)
                small = footer.file_of(content)
                opened = self.open_file(metadata=pq.read_metadata(small))
                self._footer = {**opened.metadata.metadata, record_keys.FILTER.encode(): text}
                self._content = content
                return opened, small
        return self.open_file(), self._file

    def open_file(self, **more: Any) -> pq.ParquetFile:
        """The file as pyarrow opens it; ``metadata``: a footer in place of its own."""
        return pq.ParquetFile(
            self._file,
            pre_buffer=False,
            buffer_size=_FAR_BUFFER_BYTES if self._far else _BUFFER_BYTES,
            coerce_int96_timestamp_unit="us",
            thrift_string_size_limit=_FOOTER_BYTES,
            **more,
        )

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    @property
    def num_rows(self) -> int:
        return int(self._parquet.metadata.num_rows)

    @property
    def metadata(self) -> Mapping[str, str]:
        """The footer's key-value metadata, decoded again at each call."""
        found = self._entries()
        return {k.decode("utf-8", "replace"): self._text(v) for k, v in found.items()}

    def key_range(self) -> tuple[str, str] | None:
        """The smallest and the largest record key, from the footer."""
        return record_keys.key_range(self._texts(record_keys.MIN_KEY, record_keys.MAX_KEY))

    def key_filter(self) -> BloomFilter | None:
        """Hudi's bloom filter in the footer. Raises CorruptTableError for one that can't be
        read."""
        return record_keys.key_filter(self._texts(*_FILTER), self._obj)

    def without_nulls(self, columns: Sequence[str]) -> bool:
        """By the counts of the footer, which has been read."""
        metadata = self._parquet.metadata
        if metadata.num_columns == len(self._schema):  # no nested ones: places are those of leaves
            at = [self._schema.get_field_index(name) for name in columns]
        else:
            every = range(metadata.num_columns)
            leaves = {metadata.schema.column(j).path: j for j in reversed(every)}
            known = frozenset(self._schema.names)
            at = [leaves.get(name, -1) if name in known else -1 for name in columns]
        if -1 in at:
            return False
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for column in at:
                found = group.column(column).statistics
                if found is None or not found.has_null_count or found.null_count:
                    return False
        return True

    def stored_filter(self) -> StoredFilter | None:
        """The same as the footer has it, for who keeps it elsewhere, too."""
        return record_keys.stored_filter(self._path, self._texts(*_FILTER))

    def _texts(self, *names: str) -> dict[str, str]:
        """Those entries of the footer alone: a bloom filter is long."""
        found = self._entries()
        return {n: self._text(found[n.encode()]) for n in names if n.encode() in found}

    def _entries(self) -> dict[bytes, bytes | LongText]:
        if self._footer is None:
            self._footer = self._parquet.metadata.metadata or {}
        return self._footer

    def _text(self, text: bytes | LongText) -> str:
        try:
            found = text.read(self._file) if isinstance(text, LongText) else text
        except (NoFooter, *_BROKEN) as error:
            raise self._corrupt(error) from error
        return found.decode("utf-8", "replace")

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Rows in file order, in the order of ``columns`` (those the file lacks left out).

        ``where`` skips row groups whose statistics prove that no row matches, and nothing else.
        With ``encoded``, columns that are dictionaries in the file stay so.
        """
        rows = 0
        for batch in self._batches(columns, self.groups_left(where), batch_rows, encoded):
            rows += batch.num_rows
            yield batch
        if where is None and rows != self.num_rows:  # a damaged footer has no checksum
            raise self._corrupt(f"its row groups have {rows} rows, its footer says {self.num_rows}")

    def groups_left(self, where: pc.Expression | None) -> list[int]:
        """The row groups that :meth:`batches` reads for ``where``, by number: see
        :meth:`groups`."""
        if where is None:
            return list(range(self._parquet.metadata.num_row_groups))
        return self._groups.left(where)

    def group_batches(
        self,
        numbers: Sequence[int],
        columns: Sequence[str] | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """:meth:`batches` of these row groups."""
        yield from self._batches(columns, numbers, batch_rows, encoded)

    def part_batches(
        self,
        number: int,
        columns: Sequence[str] | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """:meth:`batches` of one row group. Only after :meth:`layout`. Raises CorruptTableError
        where they have other rows than the row group: columns are asked for one by one, and would
        not fit together."""
        rows, wanted = 0, self._parquet.metadata.row_group(number).num_rows
        for batch in self._batches(columns, [number], batch_rows, encoded):
            rows += batch.num_rows
            yield batch
        if rows != wanted:
            raise self._corrupt(f"row group {number} has {rows} rows, its footer says {wanted}")

    def rows_near(
        self, number: int, where: pc.Expression, columns: Sequence[str]
    ) -> npt.NDArray[np.int64] | None:
        """The places (ascending, from 0) of the rows of a row group in pages that may have rows of
        which ``where`` is true, by the values that it names of ``columns``. None where no page is
        left out, or the file has no page index."""
        names = [n for n in columns if n in self._names]
        if self._far or not self._is_paged(number, self._schema.names):  # others follow
            return None
        if self._named is None or self._named[0] is not where or self._named[1] != names:
            found = self._groups.named(where, names)
            few = {name: values for name, values in found.items() if len(values) <= _MOST_NAMED}
            self._named = where, names, few
        named = self._named[2]
        with suppress(NoFooter):
            return some_rows.rows_near(self._file, self._tree, number, named) if named else None
        return None

    def rows_at(
        self, number: int, at: npt.NDArray[np.int64], columns: Sequence[str]
    ) -> pa.RecordBatch | None:
        """The rows in the places ``at`` (ascending, from 0) of a row group, by the pages that have
        them. None where the file has no page index, or it costs as much to read all its rows."""
        names = [n for n in columns if n in self._names]
        wanted = pa.schema([self._schema.field(n) for n in names])
        if any(map(pa.types.is_nested, wanted.types)) or not self._is_paged(number, names):
            return None
        try:
            return some_rows.rows_at(self._file, self._tree, number, at, wanted)
        except NoFooter:
            return None
        except _BROKEN as error:
            raise self._corrupt(error) from error

    def _is_paged(self, number: int, names: Sequence[str]) -> bool:
        group = self._parquet.metadata.row_group(number)
        if not some_rows.is_large(group.num_rows, group.total_byte_size):
            return False
        if self._far:
            return bool(group.total_byte_size >= _FAR_PAGED_BYTES)
        known = "_tree" in self.__dict__
        return known or some_rows.is_worth_it(self._parquet.metadata, number, names)

    @cached_property
    def _tree(self) -> Struct:
        return footer.known(self._content or footer.content(self._file))

    def size(self) -> int:
        """Bytes of the file."""
        return int(self._file.size())

    @property
    def writer(self) -> str:
        """The program that wrote it."""
        return str(self._parquet.metadata.created_by)

    @property
    def leaves(self) -> int:
        """Columns of a row group, those within others too."""
        return int(self._parquet.metadata.num_columns)

    def chunk_bytes(self) -> int:
        """Bytes of a column chunk, on average."""
        return self.size() // max(1, self._parquet.metadata.num_row_groups * self.leaves)

    def groups(self) -> Sequence[tuple[int, int]]:
        """Rows and bytes before compression of each row group."""
        metadata = self._parquet.metadata
        found = (metadata.row_group(n) for n in range(metadata.num_row_groups))
        return [(group.num_rows, group.total_byte_size) for group in found]

    def bring(self, local: str) -> None:
        """Read from a copy at ``local`` from now on, if the file lies across a network: who reads
        it column by column reads some bytes twice. The copy has no name any more when this returns,
        and goes with the reader."""
        if not self._far:
            return
        try:
            with pa.OSFile(local, "wb") as sink:
                size, at = self.size(), 0
                while at < size:
                    piece = self._file.read_at(min(_COPIED_BYTES, size - at), at)
                    if not len(piece):
                        raise OSError("it ends before its footer")
                    sink.write(piece)
                    at += len(piece)
            near = pa.OSFile(local)
        except OSError as error:
            raise StorageError(
                self._obj,
                f"it could not be copied to {local} ({error}).",
                "Check space and permissions of the directory; nothing was published.",
            ) from error
        finally:
            with suppress(OSError):
                os.unlink(local)
        self._file.close()
        self._file, self._far, self._coded = near, False, None
        self._parquet = self.open_file(metadata=self._parquet.metadata)

    def layout(self) -> Layout:
        """Where the file has its column chunks. Raises NoFooter where they can't be copied.

        Arrow copies the texts of a footer for each read of a column: they are left out then."""
        found = Layout.of(self._file, self._content)
        if self._content is not None:  # they are left out
            return found
        self._texts(record_keys.FILTER)  # noted
        lean = pa.BufferReader(footer.MAGIC + footer.serialized(found.without_texts()))
        try:
            self._parquet, self._coded = self.open_file(metadata=pq.read_metadata(lean)), None
        except _BROKEN as error:
            raise self._corrupt(error) from error
        return found

    def batches_near(
        self, column: str, values: pa.Array | pa.ChunkedArray
    ) -> Iterator[pa.RecordBatch]:
        """``column`` alone, of text, without the row groups whose statistics leave no room for any
        of ``values`` (strings in the order of their bytes). Other rows than those asked for may
        come."""
        yield from self._batches([column], self.groups_near(column, values))

    def _batches(
        self,
        columns: Sequence[str] | None,
        groups: Sequence[int],
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        rows = self._batch_rows() if batch_rows is None else batch_rows
        names = [n for n in columns if n in self._names] if columns is not None else None
        if names == [] or not self._schema.names:
            yield from self._empty_rows(groups, rows)
            return
        wanted = (
            self._schema if names is None else pa.schema([self._schema.field(n) for n in names])
        )
        try:
            repeated = self.dictionaries if encoded else frozenset()
            kept = [n for n in wanted.names if n in repeated]
            for batch in self._as_dictionaries(kept).iter_batches(
                batch_size=rows, row_groups=groups, columns=names, use_threads=False
            ):
                yield conform(batch, encoded_as(wanted, batch.schema) if kept else wanted)
        except _BROKEN as error:
            raise self._corrupt(error) from error

    def _batch_rows(self) -> int:
        """As many rows as make a batch of about BATCH_BYTES; long ones spare calls and
        dictionaries."""
        metadata = self._parquet.metadata
        size = 0
        for number in range(metadata.num_row_groups):
            size += metadata.row_group(number).total_byte_size
        each = max(1, size // max(1, metadata.num_rows))
        return min(max(_BATCH_BYTES // each, _MIN_BATCH), _MAX_BATCH)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._schema.names)

    @cached_property
    def dictionaries(self) -> frozenset[str]:
        """The columns of text that are dictionary encoded, by and large, in all row groups.

        Told by their size: where a dictionary grew too large, plain values followed, which take
        four bytes and more. Arrow can't read other encodings as dictionaries at all."""
        text = {f.name for f in self._schema if pa.types.is_string(f.type)} - {RECORD_KEY}
        metadata = self._parquet.metadata
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            for j in range(group.num_columns if text else 0):
                chunk = group.column(j)
                if chunk.path_in_schema in text and not (
                    chunk.has_dictionary_page
                    and _ENCODINGS.issuperset(chunk.encodings)
                    and chunk.total_uncompressed_size < 2.5 * chunk.num_values
                ):
                    text.discard(chunk.path_in_schema)
        return frozenset(text)

    def _as_dictionaries(self, names: Sequence[str]) -> pq.ParquetFile:
        if not names:
            return self._parquet
        if self._coded is None:  # to open it takes time in proportion to its columns
            self._coded = self.open_file(
                read_dictionary=sorted(self.dictionaries), metadata=self._parquet.metadata
            )
        return self._coded

    def _empty_rows(self, groups: Sequence[int], batch_rows: int) -> Iterator[pa.RecordBatch]:
        rows = sum(self._parquet.metadata.row_group(i).num_rows for i in groups)
        while rows > 0:
            step = min(rows, batch_rows)
            yield pa.record_batch([pa.nulls(step)], ["none"]).select([])
            rows -= step

    def groups_near(self, column: str, values: pa.Array | pa.ChunkedArray) -> list[int]:
        """The row groups whose statistics leave room for one of ``values``, which ascend."""
        return self._groups.near(column, values)

    def _corrupt(self, error: Exception | str) -> CorruptTableError:
        return CorruptTableError(
            self._obj,
            f"it can't be read as parquet ({error}).",
            "Restore the file from a copy, or roll back or restore the table to before it.",
        )

    def close(self) -> None:
        self._parquet.close()
        self._file.close()

    def __enter__(self) -> ParquetReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
