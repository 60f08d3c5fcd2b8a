"""Rows of ``bloom_filters``: the filter of a base file. Source:
``HoodieMetadataPayload.createBloomFilterMetadataRecord``."""

from __future__ import annotations

from attrs import frozen
from hoodoo.errors import CorruptTableError

from hoodoo_metadata.table.schema import FIX, KEY_FILTER, decode_row, encode_row


@frozen
class FilterRow:
    """A filter's ``kind``, by Hudi's name, and bytes. ``timestamp``: the instant that stored it.
    ``is_deleted``: the file is gone, and so is its filter."""

    kind: str
    content: bytes
    timestamp: str
    is_deleted: bool = False


def encode_filter(row: FilterRow) -> bytes:
    """The value that says so."""
    told = {
        "type": row.kind,
        "timestamp": row.timestamp,
        "bloomFilter": row.content,
        "isDeleted": row.is_deleted,
    }
    return encode_row({"type": KEY_FILTER, "BloomFilterMetadata": told})


def decode_filter(value: bytes, schema_text: str | None = None) -> FilterRow:
    """What ``value`` says. ``schema_text``: what it was written with; None: that of version 9.
    Raises CorruptTableError."""
    row = decode_row(value, schema_text)
    told = row.get("BloomFilterMetadata")
    if told is None:
        raise CorruptTableError(
            "metadata table, partition bloom_filters",
            f"holds a row of type {row.get('type')} that says nothing of a filter.",
            FIX,
        )
    return FilterRow(told["type"], told["bloomFilter"], told["timestamp"], told["isDeleted"])
