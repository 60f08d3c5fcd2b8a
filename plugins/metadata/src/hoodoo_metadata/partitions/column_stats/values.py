"""Values of ``column_stats`` and ``partition_stats`` -> ranges, all rows at a time, with NumPy.

Which fields a value has is taken from the schema that it was written with. A bound is a union of as
many records as there are types: rows of one shape, which are those of one column as a rule, are
read together."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.log_block import ReadsRecords, RecordColumns
from hoodoo.model.column_range import ColumnRange

from hoodoo_metadata.partitions.column_stats.value_types import unwrapped
from hoodoo_metadata.table.avro_columns import ROWS, avro, columns_of
from hoodoo_metadata.table.schema import FIX, PARTITION_RANGE, fields_of

_STATS = "ColumnStatsMetadata"
_ENDS = ("minValue", "maxValue")
_KINDS = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_WANTED = frozenset(
    {
        "fileName",
        "columnName",
        "valueCount",
        "nullCount",
        "totalSize",
        "totalUncompressedSize",
        "isDeleted",
        "isTightBound",
        "typeOrdinal",
        "additionalInfo",
    }
)


def read_ranges(values: pa.Array, schema_text: str | None) -> list[ColumnRange] | None:
    """What ``values``, a binary array without nulls, say; None where it takes a look at each row to
    say it. Raises CorruptTableError."""
    reader, fields = avro(), _fields(schema_text)
    if reader is None or fields is None:
        return None
    found: list[ColumnRange] = []
    for first in range(0, len(values), ROWS):
        part = values.slice(first, ROWS)
        made = _of_any_shape(part, fields, reader)
        if made is None:
            return None
        found += made
    return found


@frozen
class _Field:
    """A field of a row. ``branches``: its type is a union of null and records, and what each of
    them holds (None for null, and for a record with something nested in it); None: it is flat."""

    name: str
    plain: Any
    kind: pa.DataType | None = None
    branches: tuple[tuple[str, tuple[_Field, ...] | None], ...] | None = None


class _Mixed(Exception):
    """``marks``: of rows that have different shapes, which one each of them has."""

    def __init__(self, marks: Any) -> None:
        self.marks = marks


class _Strange(Exception):
    """Something nested."""


def _of_any_shape(
    values: pa.Array, fields: tuple[_Field, ...], reader: ReadsRecords
) -> list[ColumnRange] | None:
    try:
        columns: dict[str, Any] = {}
        rows = columns_of(values, reader)
        _walk(rows, fields, columns)
        rows.finish()
        return list(_ranges(columns))
    except _Strange:
        return None
    except _Mixed as mixed:
        made: list[Any] = [None] * len(values)
        for mark in np.unique(mixed.marks):
            places = np.flatnonzero(mixed.marks == mark)
            part = _of_any_shape(values.take(pa.array(places)), fields, reader)
            if part is None:
                return None
            for place, one in zip(places.tolist(), part, strict=True):
                made[place] = one
        return made
    except (ValueError, IndexError) as error:
        raise CorruptTableError(
            "metadata table, partition column_stats",
            f"a value is not of its schema: {error}.",
            FIX,
        ) from error


def _walk(
    rows: RecordColumns, fields: tuple[_Field, ...], columns: dict[str, Any], within: str = ""
) -> None:
    """From the first of ``fields`` to the last; into ``columns`` what is wanted."""
    for field in fields:
        if field.branches is None:
            column = rows.column(field.plain, field.kind)
            if field.kind is not None:
                columns[f"{within}{field.name}"] = column
            continue
        marks = rows.column(field.plain, pa.int32())
        assert marks is not None
        found = marks.to_numpy()
        if not len(found):
            raise _Strange
        if (found != found[0]).any():
            raise _Mixed(found)
        if not 0 <= found[0] < len(field.branches):
            raise ValueError(f"{field.name} has a branch {found[0]}")
        name, inner = field.branches[found[0]]
        if name == "null":
            if field.name == _STATS:
                raise _Strange  # who decodes row by row says what is wrong
            continue
        if inner is None:
            raise _Strange
        if field.name in _ENDS:
            columns[f"{field.name} is"] = name
            _walk(rows, inner, columns, f"{field.name}.")
        else:
            _walk(rows, inner, columns)


def _ranges(columns: dict[str, Any]) -> Iterator[ColumnRange]:
    count = len(columns["columnName"])

    def values(name: str, default: Any = None) -> list[Any]:
        column = columns.get(name)
        found = [default] * count if column is None else column.to_pylist()
        return found if default is None else [default if one is None else one for one in found]

    ordinals, details = values("typeOrdinal"), values("additionalInfo")
    names = [columns.get(f"{end} is") for end in _ENDS]
    kinds: dict[Any, tuple[pa.DataType | None, bool]] = {}
    for key in set(zip(ordinals, details, strict=True)):
        info = None if key[0] is None else {"typeOrdinal": key[0], "additionalInfo": key[1]}
        told = [unwrapped(None if name is None else (name, {}), info)[1] for name in names]
        kind = told[0] if told[0] is not None else told[1]
        kinds[key] = kind, kind is not None and pa.types.is_decimal(kind)
    known = [kinds[key] for key in zip(ordinals, details, strict=True)]
    ends = []
    for end in _ENDS:
        raws = values(f"{end}.value")
        ends.append(
            [
                None
                if kind is None
                else int.from_bytes(raw, "big", signed=True)
                if decimal and isinstance(raw, bytes)
                else raw
                for raw, (kind, decimal) in zip(raws, known, strict=True)
            ]
        )
    types = values("type")
    for row in zip(
        values("columnName"),
        values("fileName"),
        *ends,
        [kind for kind, _ in known],
        values("valueCount", 0),
        values("nullCount", 0),
        values("totalSize", 0),
        values("totalUncompressedSize", 0),
        [kind == PARTITION_RANGE for kind in types],
        values("isTightBound", False),
        values("isDeleted"),
        strict=True,
    ):
        yield ColumnRange(*row)


@functools.lru_cache(16)
def _fields(schema_text: str | None) -> tuple[_Field, ...] | None:
    """The fields of a row; None where one of them can't be walked past."""
    reader = avro()
    if reader is None:
        return None
    named: dict[str, Any] = {}
    fields = fields_of(schema_text)
    _name({"type": "record", "name": "", "fields": fields}, named)
    made = []
    for field in fields:
        keeps = field["name"] == _STATS
        one = _field(field, named, reader, _WANTED if keeps else frozenset({"type"}), keeps)
        if one is None:
            return None
        made.append(one)
    return tuple(made) if any(field.name == _STATS for field in made) else None


def _field(
    field: dict[str, Any],
    named: dict[str, Any],
    reader: ReadsRecords,
    wanted: frozenset[str],
    opens: bool,
) -> _Field | None:
    """``opens``: the records of a union are looked into."""
    name = field["name"]
    flat = None if _refers(field["type"], named) else reader.fields({"fields": [field]})
    if flat is not None:
        return _Field(name, flat[0], _kind(field["type"]) if name in wanted else None)
    union = field["type"]
    if not isinstance(union, list) or "null" not in union:
        return None
    (mark,) = reader.fields({"fields": [{"name": name, "type": "int"}]}) or (None,)
    branches = []
    for member in union:
        record = named.get(member) if isinstance(member, str) else member
        inner: list[_Field | None] = [None]
        if opens and isinstance(record, dict) and record.get("type") == "record":
            keep = frozenset({"value"}) if name in _ENDS else wanted
            inner = [_field(one, named, reader, keep, True) for one in record["fields"]]
        label = member if isinstance(member, str) else member.get("name", "")
        whole = None if None in inner else tuple(one for one in inner if one is not None)
        branches.append((label, whole))
    return _Field(name, mark, None, tuple(branches))


def _refers(kind: Any, named: dict[str, Any]) -> bool:
    """Whether a type is the name of another one."""
    return any(
        member in named
        for member in (kind if isinstance(kind, list) else [kind])
        if isinstance(member, str)
    )


def _kind(kind: Any) -> pa.DataType | None:
    if isinstance(kind, list):
        kind = next((member for member in kind if member != "null"), None)
    while isinstance(kind, dict):
        kind = kind.get("type")
    return _KINDS.get(kind) if isinstance(kind, str) else None


def _name(kind: Any, named: dict[str, Any]) -> None:
    """All records of a schema, by name."""
    if isinstance(kind, list):
        for member in kind:
            _name(member, named)
    elif isinstance(kind, dict):
        if kind.get("type") == "record":
            named[kind["name"]] = kind
            for field in kind["fields"]:
                _name(field["type"], named)
        else:
            for part in ("items", "values", "type"):
                _name(kind.get(part), named)
