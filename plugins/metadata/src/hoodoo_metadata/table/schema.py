"""The Avro schema of the metadata table's rows, and rows of any such schema as dictionaries."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import fastavro
from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo.model.table_version import VERSIONS
from hoodoo.timeline.codec.bounded import check_bounded

Json = Any  # a decoded JSON value
Row = dict[str, Any]

FIX = (
    "`hoodoo verify` compares the metadata table with the files, `hoodoo rebuild-index` rebuilds "
    "it."
)

# `type` of a row.
PARTITION_LIST, FILE_LIST, COLUMN_RANGE, KEY_FILTER, KEY_LOCATION, PARTITION_RANGE, KEY_OF_VALUE = (
    range(1, 8)
)


def record_schema(version: int) -> str:
    """The Avro JSON that rows are written with into a table of ``version``, on one line.

    Hudi 1.2.0 writes the same text, byte for byte, into tables of versions 6, 8 and 9.
    """
    if version not in VERSIONS:
        raise UnsupportedTableError(
            f"table version {version}",
            "how its metadata table's rows are written is not known.",
            "Use table version 6, 8 or 9.",
        )
    return _text()


@functools.cache
def _text() -> str:
    return resources.files("hoodoo_metadata").joinpath("record.avsc").read_text("utf-8")


@functools.lru_cache(16)
def fields_of(schema_text: str | None) -> list[dict[str, Json]]:
    """The fields of the row, of the schema that it was written with (None: that of version 9).

    They are whole: what is nested in them is Avro, too. Raises CorruptTableError.
    """
    _parsed(schema_text)
    try:
        fields: list[dict[str, Json]] = json.loads(schema_text or _text())["fields"]
        return fields
    except (ValueError, LookupError, TypeError) as error:
        raise _unreadable(f"no Avro record: {error}") from error


@functools.lru_cache(16)
def _parsed(schema_text: str | None) -> Json:
    try:
        plain = _plain(json.loads(schema_text or _text()))
        check_bounded(plain)
        return fastavro.parse_schema(plain, _force=True)
    except Exception as error:  # whatever the text provokes
        raise _unreadable(f"no Avro schema ({type(error).__name__}: {error})") from error


def _plain(schema: Json) -> Json:
    """``schema`` without logical types: values are taken and given as they are stored. Raises
    ValueError."""
    if isinstance(schema, list):
        return [_plain(member) for member in schema]
    if isinstance(schema, dict):
        # fastavro takes it for a record without fields.
        if schema.get("type") == "record" and not isinstance(schema.get("fields"), list):
            raise ValueError("a record has no fields")
        return {name: _plain(part) for name, part in schema.items() if name != "logicalType"}
    return schema


def encode_row(row: Mapping[str, Any]) -> bytes:
    """``row`` as a value of an HFile. Its key is not repeated in it, as Hudi does not; fields that
    are left out take their defaults, ``filesystemMetadata`` null."""
    out = io.BytesIO()
    whole = {"key": "", "filesystemMetadata": None, **row}
    fastavro.schemaless_writer(out, _parsed(None), whole)
    return out.getvalue()


class _Record(dict[str, Any]):
    """A record of a schema that may be damaged: what it should hold and does not is said so."""

    def __missing__(self, name: str) -> Any:
        raise _unreadable(f"the schema of a row has no {name}")


def decode_row(value: bytes, schema_text: str | None = None) -> Row:
    """The row that a value of an HFile holds. A wrapped value of a union of records is a pair, the
    record's name and the record. ``schema_text``: what it was written with; None: that of version
    9.

    Raises CorruptTableError.
    """
    source = io.BytesIO(value)
    try:
        row: Any = fastavro.schemaless_reader(
            source, _parsed(schema_text), return_record_name=True, return_record_name_override=True
        )
    except CorruptTableError:
        raise
    except Exception as error:  # whatever the bytes provoke
        raise _unreadable(
            f"a value is not of its schema ({type(error).__name__}: {error})"
        ) from error
    if source.tell() != len(value):
        raise _unreadable(f"a value of {len(value)} bytes ends after {source.tell()}")
    return _Record((name, _whole(part)) for name, part in row.items())


def _whole(part: Any) -> Any:
    return (
        _Record((name, _whole(inner)) for name, inner in part.items())
        if isinstance(part, dict)
        else part
    )


def _unreadable(rule: str) -> CorruptTableError:
    return CorruptTableError("metadata table", rule, FIX)
