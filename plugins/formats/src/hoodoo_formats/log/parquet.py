"""Parquet data blocks: each holds a whole Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.log_block import BlockKind
from hoodoo.model.meta import encoded_as
from hoodoo_rows.model.normalize import conform, plain_schema

from hoodoo_formats import logical
from hoodoo_formats.log.content import BlockContent, Undecodable, decoding
from hoodoo_formats.options import CODEC, CODECS, LEVELS
from hoodoo_formats.parquet import footer, some_rows
from hoodoo_formats.parquet.encodings import DISTINCT, dictionary_leaves, stored_schema
from hoodoo_formats.parquet.footer import NoFooter
from hoodoo_formats.parquet.some_rows import BROKEN, is_large, rows_at

_FOOTER_BYTES = 1 << 30


@frozen
class ParquetBlocks:
    """Implements :class:`hoodoo.hookspecs.log_block.LogBlockFormat`. ``codec`` and ``level`` are
    pyarrow's."""

    codec: str = "zstd"
    level: int | None = 1

    @classmethod
    def from_settings(cls, settings: Settings) -> ParquetBlocks:
        codec = CODECS[settings.value(CODEC)]
        return cls(codec, LEVELS.get(codec))

    @property
    def kind(self) -> int:
        return BlockKind.PARQUET

    def decode(
        self, content: BlockContent, schema_text: str, columns: Sequence[str] | None, obj: str
    ) -> pa.Table:
        with decoding(obj):
            return _all_rows(_opened(content.opened(sparsely=columns is not None)), columns)

    def decode_rows(
        self,
        at: npt.NDArray[np.int64],
        content: BlockContent,
        schema_text: str,
        columns: Sequence[str] | None,
        obj: str,
    ) -> pa.Table:
        with decoding(obj):
            opened = content.opened(sparsely=True)
            file = _opened(opened)
            wanted = _wanted(file, columns)
            flat = bool(wanted.names) and not any(map(pa.types.is_nested, wanted.types))
            # Blocks of this writer have one row group.
            one = file.metadata.row_group(0) if file.metadata.num_row_groups == 1 else None
            if flat and one and is_large(one.num_rows, one.total_byte_size):
                with suppress(NoFooter):
                    tree = footer.known(footer.content(opened))
                    found = rows_at(opened, tree, 0, at, wanted)
                    if found is not None:
                        return pa.Table.from_batches([found])
            return _all_rows(file, columns).take(at)

    def encode(
        self, rows: Sequence[pa.RecordBatch], schema: pa.Schema, schema_text: str
    ) -> Iterator[bytes | pa.Buffer]:
        """Encoded as base files are; without bloom filter and key statistics, which nobody
        reads."""
        batches = [conform(batch, encoded_as(schema, batch.schema)) for batch in rows]
        stored = stored_schema(schema, batches)
        distinct = [name for name in DISTINCT if name in stored.names]
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(
            sink,
            stored,
            compression=self.codec,
            compression_level=self.level,
            use_dictionary=dictionary_leaves(stored, batches, distinct),
            column_encoding={name: "DELTA_BYTE_ARRAY" for name in distinct},
            store_schema=False,
            # The log format has no checksum of its own.
            write_page_checksum=True,
            write_page_index=True,
        ) as file:
            columns = [
                pa.chunked_array([_as(b.column(i), f.type, kind) for b in batches], f.type)
                for i, (f, kind) in enumerate(zip(stored, schema.types, strict=True))
            ]
            table = pa.Table.from_arrays(columns, schema=stored).unify_dictionaries()
            if table.num_rows:
                file.write_table(table)
            said = {"parquet.avro.schema": schema_text, "writer.model.name": "avro"}
            file.add_key_value_metadata({**said, **logical.footer(schema)})
        yield sink.getvalue()


def rows_near(content: BlockContent, column: str, values: pa.Array) -> npt.NDArray[np.int64] | None:
    """By the page index of a block of one row group: the rows of the pages that leave room for one
    of ``values``. None where no page is left out."""
    with suppress(NoFooter, Undecodable, *BROKEN):  # whoever decodes it says what is wrong
        opened = content.opened(sparsely=True)
        tree = footer.known(footer.content(opened))
        groups = footer.value(tree, footer.GROUPS, ())
        if len(groups) == 1 and is_large(
            footer.value(groups[0], footer.GROUP_ROWS, 0),
            footer.value(groups[0], footer.GROUP_RAW, 0),
        ):
            return some_rows.rows_near(opened, tree, 0, {column: values})
    return None


def _opened(file: pa.NativeFile) -> pq.ParquetFile:
    return pq.ParquetFile(
        file,
        pre_buffer=False,
        page_checksum_verification=True,
        coerce_int96_timestamp_unit="us",
        thrift_string_size_limit=_FOOTER_BYTES,
    )


def _wanted(file: pq.ParquetFile, columns: Sequence[str] | None) -> pa.Schema:
    """Those of ``columns`` that a block has, in plain types."""
    schema = plain_schema(file.schema_arrow)
    if len(set(schema.names)) < len(schema.names):
        raise Undecodable("two of its columns have one name")
    known = frozenset(schema.names)
    names = schema.names if columns is None else dict.fromkeys(columns)
    return pa.schema([schema.field(n) for n in names if n in known])


def _all_rows(file: pq.ParquetFile, columns: Sequence[str] | None) -> pa.Table:
    wanted = _wanted(file, columns)
    if not wanted.names:
        return pa.table({"none": pa.nulls(file.metadata.num_rows)}).select([])
    found = file.read(columns=wanted.names, use_threads=False).select(wanted.names)
    batches = [conform(batch, wanted) for batch in found.to_batches()]
    return pa.Table.from_batches(batches, schema=wanted)


def _as(column: pa.Array, kind: pa.DataType, known: pa.DataType) -> pa.Array:
    """``column``, whose type in memory is ``known``, as the ``kind`` that the file has."""
    if column.type == kind:
        return column
    column = logical.to_stored(column, known)
    if column.type == kind:
        return column
    return column.dictionary_encode() if pa.types.is_dictionary(kind) else column.cast(kind)
