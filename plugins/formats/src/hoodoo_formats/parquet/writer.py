"""Writing one parquet base file: columns, row groups and the footer that Hudi's readers look
for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from attrs import Factory, frozen
from hoodoo.errors import StorageError
from hoodoo.model.meta import RECORD_KEY, REPEATED, encoded_as, repeated
from hoodoo.model.schema.avro import avro_text
from hoodoo_rows.model.normalize import conform, plain_schema

from hoodoo_formats.bloom import BloomOptions
from hoodoo_formats.logical import footer, to_stored
from hoodoo_formats.parquet.encodings import DISTINCT, dictionary_leaves, stored_schema, unified
from hoodoo_formats.parquet.field_ids import with_ids
from hoodoo_formats.record_keys import KeyStats

_MAX_ROWS = 1 << 20
# What the footer says of one column of one row group. Measured on tables of 8 to 20 columns: 90 to
# 200.
_CHUNK_BYTES = 140
# What the page index says of one page, of which none has more rows than Arrow puts into one.
_INDEXED_PAGE_BYTES, _PAGE_ROWS = 40, 20_000
# A file of so many columns and more, of so few bytes each: both encodings cost time for each
# column, and make it longer. 10 rows of 5,000 columns were written in 0.07 s where it took 0.22,
# and read in 0.07 s where it took 0.19.
_MANY, _TINY_BYTES = 256, 256
# Bytes: where a row group is one row, pyarrow 26 loses the value of a list in pages of six bytes or
# less.
_LEAST_PAGE = 64
# Bytes: a small file, whose pages have 50 bytes, then needs one call of the system and not two for
# each page.
_BUFFER = 32 << 10


@frozen
class WriterOptions:
    """``block_bytes`` bounds a row group by its size in memory; ``bloom`` None: no bloom filter;
    ``key_stats`` False: nothing about record keys in the footer (virtual keys); ``copies``: column
    chunks, and the bloom filter, may be copied from the file that is replaced. ``threads``: that
    encode the columns of a file. ``ids``: the field ids of columns, by path."""

    table_name: str = ""
    codec: str = "zstd"
    level: int | None = 1
    block_bytes: int = 120 << 20
    page_bytes: int = 1 << 20
    dictionary: bool = True
    bloom: BloomOptions | None = Factory(BloomOptions)
    key_stats: bool = True
    copies: bool = True
    threads: int = 1
    ids: Mapping[str, int] = Factory(dict)


class ParquetWriter:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileWriter`.

    Holds one row group of rows (``block_bytes``) and the record keys of the file. All columns are
    written optional, as Hudi's own are. ``keys`` collects what the footer says of record keys;
    None: nothing.
    """

    def __init__(
        self, local: str, schema: pa.Schema, options: WriterOptions, keys: KeyStats | None = None
    ) -> None:
        self._local = local
        self._options = options
        self._schema, avro = _described(schema, options.table_name)
        self._stats = keys if RECORD_KEY in schema.names else None
        self._pending: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._footer: dict[str, str | bytes] = {
            "parquet.avro.schema": avro,
            "writer.model.name": "avro",
            **(footer(self._schema) if any(map(pa.types.is_nested, self._schema.types)) else {}),
        }
        self._stored: pa.Schema | None = None
        self._file: pq.ParquetWriter | None = None
        self._sink: pa.NativeFile | None = None
        self._groups = self._pages = 0
        self._ends = False  # no other rows come

    @property
    def written(self) -> int:
        """Bytes of the file if it ended with the rows that are in it: those put down, and the
        footer as it may be expected."""
        put = 0 if self._sink is None else int(self._sink.tell())
        texts = sum(len(text) for text in self._footer.values())
        each = self._groups * _CHUNK_BYTES + self._pages * _INDEXED_PAGE_BYTES
        filters = self._stats.filter_bytes if self._stats else 0
        return put + texts + each * _leaves(self._schema) + filters

    def flush(self) -> int:
        """End the row group: rows that wait are put into the file. :attr:`written` then."""
        self._flush()
        return self.written

    def _open(self) -> tuple[pq.ParquetWriter, pa.Schema]:
        """The file, opened when its first rows are there: they say how each column is best
        encoded."""
        if self._file is not None and self._stored is not None:
            return self._file, self._stored
        self._stored = stored = stored_schema(self._schema, self._pending)
        ids = self._options.ids
        try:
            self._sink = pa.BufferedOutputStream(pa.OSFile(self._local, "wb"), _BUFFER)
            self._file = pq.ParquetWriter(
                self._sink,
                with_ids(stored, ids) if ids else stored,
                **self._settings(stored, self._pending),
            )
        except OSError as error:
            raise self._failed(error) from error
        return self._file, stored

    def _settings(self, stored: pa.Schema, first: Sequence[pa.RecordBatch]) -> dict[str, Any]:
        """How columns are encoded of which ``first`` are rows."""
        tiny = self._tiny(first)
        distinct = [name for name in DISTINCT if name in stored.names]
        dictionaries: list[str] | bool = False
        if self._options.dictionary and not tiny:
            dictionaries = dictionary_leaves(stored, first, distinct)
        return {
            "compression": "none" if tiny else self._options.codec,
            "compression_level": None if tiny else self._options.level,
            "use_dictionary": dictionaries,
            "column_encoding": {name: "DELTA_BYTE_ARRAY" for name in distinct},
            "data_page_size": max(self._options.page_bytes, _LEAST_PAGE),
            "store_schema": False,
            "write_page_index": True,  # who looks for few rows reads their pages alone
        }

    def _tiny(self, first: Sequence[pa.RecordBatch]) -> bool:
        """Whether ``first`` are all rows of a file whose columns are many and hold next to
        nothing."""
        columns = len(self._schema)
        if not self._ends or self._groups or columns < _MANY:
            return False
        return sum(batch.nbytes for batch in first) < columns * _TINY_BYTES

    def write(self, batch: pa.RecordBatch | pa.Table, known: bool = False) -> None:
        """Append rows. Raises SchemaError if they can't be brought into the file's schema."""
        batches = batch.to_batches() if isinstance(batch, pa.Table) else [batch]
        for one in batches:
            rest = conform(one, encoded_as(self._schema, one.schema))
            if self._stats is not None:
                self._stats.add(rest.column(RECORD_KEY), known)
            while rest.num_rows:
                per_row = max(1, rest.nbytes // rest.num_rows)
                room = min(
                    _MAX_ROWS - self._rows, (self._options.block_bytes - self._bytes) // per_row
                )
                part = rest.slice(0, max(1, room))
                self._pending.append(part)
                self._rows += part.num_rows
                self._bytes += part.num_rows * per_row
                rest = rest.slice(part.num_rows)
                if self._rows >= _MAX_ROWS or self._bytes + per_row > self._options.block_bytes:
                    self._flush()

    def _flush(self) -> None:
        if not self._rows:
            return
        stored = self._begun()
        table = pa.Table.from_batches([_in_form(batch, stored) for batch in self._pending], stored)
        table = unified(table)
        self._pending, self._rows, self._bytes = [], 0, 0
        self._groups += 1
        self._pages += -(-table.num_rows // _PAGE_ROWS)
        try:
            self._put(table)
        except OSError as error:
            raise self._failed(error) from error

    def _begun(self) -> pa.Schema:
        """The schema in which rows are put into the file, which is open then."""
        return self._open()[1]

    def _put(self, table: pa.Table) -> None:
        """A row group, at the end of the file."""
        self._open()[0].write_table(table, row_group_size=_MAX_ROWS)

    def _end(self) -> None:
        """The footer."""
        file, _ = self._open()
        file.add_key_value_metadata(self._footer)
        file.close()

    def close(self) -> int:
        """Finish the file; its size in bytes. It is not synced: handing it to the store does
        that."""
        self._ends = True
        self._flush()
        if self._stats is not None:
            self._footer |= self._stats.footer()
        try:
            self._end()
            if self._sink is not None:
                self._sink.close()
            return os.path.getsize(self._local)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(
            f"file {self._local}",
            f"it could not be written ({error}).",
            "Check space and permissions of the directory; nothing was published.",
        )


# Rows that are hashed in less time than it takes to compare them with the first.
_FEW = 1024

# The schema that was described last, and how: a task writes all its files in one.
_last: tuple[pa.Schema, str, tuple[pa.Schema, str]] | None = None


def _described(schema: pa.Schema, table_name: str) -> tuple[pa.Schema, str]:
    """What files have in place of ``schema``, and the text for Hudi's readers."""
    global _last
    last = _last
    if last is None or last[0] is not schema or last[1] != table_name:
        plain = plain_schema(schema)
        _last = last = schema, table_name, (plain, avro_text(plain, table_name))
    return last[2]


def _leaves(fields: Iterable[pa.Field]) -> int:
    """Columns of the file that ``fields`` become."""
    counted = 0
    for field in fields:
        inner = [field.type.field(i) for i in range(field.type.num_fields)]
        counted += _leaves(inner) if inner else 1
    return counted


def _in_form(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """``batch`` with its columns in the types of ``schema``. Only those that differ are looked at:
    there may be thousands that do not."""
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    kinds = zip(batch.schema.types, schema.types, strict=True)
    for at in [i for i, (found, wanted) in enumerate(kinds) if found != wanted]:
        field = schema.field(at)
        column = batch.column(at)
        if pa.types.is_nested(column.type):  # it may be of a logical type
            column = to_stored(column, column.type)
        batch = batch.set_column(at, field, _as(column, field.type))
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    if kind != REPEATED:
        return column.cast(kind)
    if len(column) > _FEW and not column.null_count:
        first = column[0]
        if pc.all(pc.equal(column, first)).as_py():  # cheaper than hashing each row
            return repeated(first.as_py(), len(column))
    return column.dictionary_encode()
