"""Values of rows as JSON and as text, and back."""

from __future__ import annotations

import base64
import json
import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hoodoo.errors import DataError

_CUT = "..."
# What ends a line, or what a terminal obeys instead of showing it.
_CONTROLS = {
    code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
}


def rows_of(batch: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """The rows as values that JSON has: see :func:`plain`."""
    names = batch.schema.names
    columns = [
        [_plain_of(value, field.type) for value in column.to_pylist()]
        for column, field in zip(batch.columns, batch.schema, strict=True)
    ]
    if not columns:
        return [{} for _ in range(batch.num_rows)]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _plain_of(value: Any, kind: pa.DataType) -> Any:
    """A value of that type as :func:`plain` has it; a map becomes an object, also an empty one."""
    if value is None or not is_nested(kind):
        return plain(value)
    if pa.types.is_struct(kind):
        return {field.name: _plain_of(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return {str(plain(key)): _plain_of(inner, kind.item_type) for key, inner in value}
    return [_plain_of(inner, kind.value_type) for inner in value]


def plain(value: Any) -> Any:
    """``value`` as JSON has it: times as ISO 8601, decimals as text, so that no digit is lost,
    bytes in base64, and NaN and the infinities as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (Decimal, timedelta)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, dict):
        return {str(plain(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(inner, tuple) and len(inner) == 2 for inner in value):
            return {str(plain(key)): plain(inner) for key, inner in value}  # a map of Arrow
        return [plain(inner) for inner in value]
    return value


def cell(value: Any, most: int | None = None) -> str:
    """A value of :func:`plain` as it stands in a table: on one line, without control characters, at
    most ``most`` characters long."""
    if value is None:
        text = "null"
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, dict):
        text = "{" + ", ".join(f"{name}: {cell(inner)}" for name, inner in value.items()) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(cell(inner) for inner in value) + "]"
    else:
        text = str(value)
    text = text.translate(_CONTROLS)
    if most is not None and len(text) > most:
        return text[: max(0, most - len(_CUT))] + _CUT
    return text


def is_nested(kind: pa.DataType) -> bool:
    """Whether its values have parts."""
    return bool(pa.types.is_nested(kind))


def array_of(values: list[Any], field: pa.Field, naive_is_utc: bool = True) -> pa.Array:
    """Values of JSON as a column; the inverse of :func:`plain`. DataError for a value that does not
    fit."""
    try:
        return pa.array([_typed(value, field.type, naive_is_utc) for value in values], field.type)
    except (ValueError, TypeError, ArithmeticError, AttributeError, KeyError) as error:
        raise DataError(
            f"column {field.name!r}",
            f"has a value that is no {field.type} ({error}).",
            "Correct the file, or give the table another type.",
        ) from error


def _typed(value: Any, kind: pa.DataType, naive: bool) -> Any:
    if value is None:
        return None
    t = pa.types
    if t.is_struct(kind):
        return {field.name: _typed(value.get(field.name), field.type, naive) for field in kind}
    if t.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        return [
            (_typed(key, kind.key_type, naive), _typed(v, kind.item_type, naive))
            for key, v in pairs
        ]
    if t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind):
        if isinstance(value, str):
            raise ValueError(f"{value!r} is no list")
        return [_typed(inner, kind.value_type, naive) for inner in value]
    if t.is_binary(kind) or t.is_large_binary(kind) or t.is_fixed_size_binary(kind):
        return base64.b64decode(value, validate=True)
    if t.is_decimal(kind):
        return Decimal(str(value))
    if t.is_floating(kind):
        return float(value)
    if t.is_integer(kind):
        return _whole(value)
    if t.is_timestamp(kind):
        found = datetime.fromisoformat(_iso(value).replace("Z", "+00:00"))
        if found.tzinfo is None and kind.tz is not None and not naive:
            raise ValueError(
                f"{value!r} has no time zone: write it with one, or set hoodoo.naive.timestamps=UTC"
            )
        if found.tzinfo is not None and kind.tz is None:
            raise ValueError(f"{value!r} has a time zone, and the column has none: leave it out")
        return found
    if t.is_date(kind):
        return date.fromisoformat(_iso(value))
    if t.is_time(kind):
        return time.fromisoformat(_iso(value))
    if isinstance(value, str) and t.is_boolean(kind):
        return {"true": True, "false": False}[value.lower()]
    if (t.is_string(kind) or t.is_large_string(kind)) and not isinstance(value, str):
        if isinstance(value, (bool, dict, list)):
            return json.dumps(value, ensure_ascii=False, default=str)
        return str(value)
    return value


def _whole(value: Any) -> Any:
    """An integer: Arrow would cut the digits behind the point."""
    if isinstance(value, str):
        return int(value)
    if isinstance(value, (float, Decimal)):
        if value != int(value):
            raise ValueError(f"{value} is not whole")
        return int(value)
    return value


def _iso(value: Any) -> str:
    """Text, and no number: its unit is not known."""
    if not isinstance(value, str):
        raise ValueError(f"{value} is no text of the form of ISO 8601")
    return value


def without_nulls(kind: pa.DataType, known: pa.DataType | None = None) -> pa.DataType:
    """The type, with one for each part of it that is null everywhere: that of ``known``, or
    text."""
    if pa.types.is_null(kind):
        return pa.string() if known is None else known
    if pa.types.is_list(kind):
        inner = known.value_type if known is not None and pa.types.is_list(known) else None
        found = without_nulls(kind.value_type, inner)
        return kind if found == kind.value_type else pa.list_(found)
    if pa.types.is_struct(kind):
        fields = known if known is not None and pa.types.is_struct(known) else ()
        others = {field.name: field.type for field in fields}
        return pa.struct([f.with_type(without_nulls(f.type, others.get(f.name))) for f in kind])
    return kind
