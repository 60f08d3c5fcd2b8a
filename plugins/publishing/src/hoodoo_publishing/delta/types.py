"""Types and statistics as Delta Lake writes them (Delta transaction log protocol, "Schema
Serialization Format")."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from hoodoo.errors import SchemaError

from hoodoo_publishing.footers import Footer, longer

_PLAIN = {
    pa.bool_(): "boolean",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
}
_TEXT = 32  # characters of a bound, as Spark's Delta has it
# Types with bounds. Floating values have none: footers leave NaN out, and readers order it last.
_BOUNDED = ("integer", "long", "string", "date", "timestamp", "timestamp_ntz")


def schema_text(schema: pa.Schema) -> str:
    """The JSON of ``schema``. Raises SchemaError for a column without a type in Delta."""
    fields = [_field(field, field.name) for field in schema]
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))


def has_naive_timestamps(schema: pa.Schema) -> bool:
    """Whether a column, at any depth, is a timestamp without a zone."""
    return "timestamp_ntz" in schema_text(schema)


def _field(field: pa.Field, path: str) -> dict[str, Any]:
    return {"name": field.name, "type": _type(field.type, path), "nullable": True, "metadata": {}}


def _type(kind: pa.DataType, path: str) -> Any:
    t = pa.types
    if t.is_struct(kind):
        return {"type": "struct", "fields": [_field(f, f"{path}.{f.name}") for f in kind]}
    if t.is_list(kind):
        inner = _type(kind.value_type, f"{path}[]")
        return {"type": "array", "elementType": inner, "containsNull": True}
    if t.is_map(kind):
        return {
            "type": "map",
            "keyType": _type(kind.key_type, f"{path}{{}}"),
            "valueType": _type(kind.item_type, f"{path}{{}}"),
            "valueContainsNull": True,
        }
    if t.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if t.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if kind not in _PLAIN:
        raise SchemaError(
            f"column {path}",
            f"Delta Lake has no type for {kind}.",
            "Leave delta out of hoodoo.open.formats, or cast the column.",
        )
    return _PLAIN[kind]


def statistics(footer: Footer, names: Sequence[str], within: Collection[str]) -> str:
    """The statistics of one file, as JSON: for each column ``within`` (those of :func:`bounded`)
    bounds, or that all of it is null; else none for any column. Readers take one bound that is
    missing for null. ``names``: those of all columns."""
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for name in names:
        column, is_bounded = footer.columns.get(name), name in within
        if column is None and is_bounded:  # younger than the file
            nulls[name] = footer.rows
        if column is None:
            continue
        if column.nulls is not None:
            nulls[name] = column.nulls
        if is_bounded and column.nulls != column.values:
            low, high = _bound(column.least, False), _bound(column.most, True)
            if low is None or high is None:
                return json.dumps({"numRecords": footer.rows}, separators=(",", ":"))
            least[name], most[name] = low, high
    found: Mapping[str, Any] = {
        "numRecords": footer.rows,
        "minValues": least,
        "maxValues": most,
        "nullCount": nulls,
    }
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def bounded(schema: pa.Schema) -> list[str]:
    """The columns whose types have bounds."""
    return [field.name for field in schema if _type(field.type, field.name) in _BOUNDED]


def lacks(stats: str | None, names: Iterable[str]) -> set[str]:
    """Those of ``names`` of which the statistics of a file say no bounds, though they have some of
    others."""
    found = json.loads(stats or "{}")
    least, nulls = found.get("minValues") or {}, found.get("nullCount") or {}
    if not (least or nulls):
        return set()
    every = found.get("numRecords")
    return {name for name in names if name not in least and nulls.get(name) != every}


def _bound(value: Any, upper: bool) -> Any:
    if isinstance(value, str):
        return longer(value, _TEXT) if upper else value[:_TEXT]
    if isinstance(value, datetime):  # milliseconds: an upper bound is rounded up
        zone = value.tzinfo is not None
        at = value.astimezone(timezone.utc) if zone else value
        if upper and at.microsecond % 1000:
            try:
                at += timedelta(milliseconds=1)
            except OverflowError:
                return None
        text = at.strftime(f"%Y-%m-%dT%H:%M:%S.{at.microsecond // 1000:03d}")
        return text.rjust(23, "0") + ("Z" if zone else "")
    if isinstance(value, date):
        return value.isoformat()
    return value
