"""Avro data blocks, and those of change data, whose rows are Avro, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.log_block import BlockKind
from hoodoo_rows.model.normalize import conform

from hoodoo_formats.log.avro_decode import FlatField, Rows, flat_fields
from hoodoo_formats.log.avro_read import avro_rows
from hoodoo_formats.log.avro_write import encode_rows
from hoodoo_formats.log.changes import encode_changes
from hoodoo_formats.log.content import BlockContent, decoding
from hoodoo_formats.log.lanes import Bytes, Places
from hoodoo_formats.logical import batch_to_stored


@frozen
class AvroBlocks:
    """Implements :class:`hoodoo.hookspecs.log_block.LogBlockFormat` and ``ReadsRecords``."""

    @classmethod
    def from_settings(cls, settings: Settings) -> AvroBlocks:
        return cls()

    @property
    def kind(self) -> int:
        return BlockKind.AVRO

    def decode(
        self, content: BlockContent, schema_text: str, columns: Sequence[str] | None, obj: str
    ) -> pa.Table:
        with decoding(obj):
            return avro_rows(content.whole(), schema_text, columns, obj)

    def fields(self, schema: Mapping[str, Any]) -> Sequence[FlatField] | None:
        return flat_fields(schema)

    def records(self, data: Bytes, starts: Places, ends: Places) -> Rows:
        return Rows(data, starts, ends)

    def encode(
        self, rows: Sequence[pa.RecordBatch], schema: pa.Schema, schema_text: str
    ) -> Iterator[bytes | pa.Buffer]:
        stored = [batch_to_stored(conform(batch, schema)) for batch in rows]
        return encode_rows(stored, schema_text)


@frozen
class ChangeBlocks(AvroBlocks):
    """Implements :class:`hoodoo.hookspecs.log_block.LogBlockFormat`: what a commit did to rows of a
    base file, read as other Avro is."""

    @property
    def kind(self) -> int:
        return BlockKind.CDC

    def encode(
        self, rows: Sequence[pa.RecordBatch], schema: pa.Schema, schema_text: str
    ) -> Iterator[bytes | pa.Buffer]:
        return encode_changes(list(map(batch_to_stored, rows)), schema_text)
