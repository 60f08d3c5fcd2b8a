"""Values and bounds as Iceberg stores them (table specification, "Binary single-value
serialization")."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hoodoo_publishing.footers import Footer, longer

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TEXT = 16  # characters of a bound
# Floating columns have no bounds: footers leave NaN out, and readers order it last.
_UNBOUNDED = ("float", "double", "binary", "time")
Pairs = list[dict[str, Any]]


def metrics(footer: Footer, leaves: Mapping[str, tuple[int, str]]) -> dict[str, Pairs]:
    """Sizes, counts and bounds of the columns of a file, by id."""
    found: dict[str, dict[int, Any]] = {
        name: {}
        for name in (
            "column_sizes",
            "value_counts",
            "null_value_counts",
            "lower_bounds",
            "upper_bounds",
        )
    }
    for path, column in footer.columns.items():
        if path not in leaves:
            continue
        number, kind = leaves[path]
        found["column_sizes"][number] = column.compressed
        found["value_counts"][number] = column.values
        if column.nulls is not None:
            found["null_value_counts"][number] = column.nulls
        repeated = ".list." in path or ".key_value." in path
        if column.least is None or kind in _UNBOUNDED or repeated:
            continue
        low, high = column.least, column.most
        if kind == "long" and column.physical == "INT32":
            kind = "int"  # readers know it for a long, and it stands if the widening is undone
        if kind == "string":
            low, high = low[:_TEXT], longer(high, _TEXT)
        if high is not None:
            found["lower_bounds"][number] = single(kind, low)
            found["upper_bounds"][number] = single(kind, high)
    return {
        name: [{"key": key, "value": value} for key, value in sorted(by_id.items())]
        for name, by_id in found.items()
    }


def single(kind: str, value: Any) -> bytes:
    """``value`` of the type ``kind`` as bytes."""
    if kind == "boolean":
        return b"\1" if value else b"\0"
    if kind == "int":
        return struct.pack("<i", value)
    if kind == "long":
        return struct.pack("<q", value)
    if kind == "date":
        assert isinstance(value, date)
        return struct.pack("<i", (value - _EPOCH.date()).days)
    if kind in ("timestamptz", "timestamp"):
        assert isinstance(value, datetime)
        at = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return struct.pack("<q", (at - _EPOCH) // timedelta(microseconds=1))
    if kind.startswith("decimal("):
        assert isinstance(value, Decimal)
        # With integers: a Decimal is rounded to the 28 digits of Python's context.
        sign, digits_, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        scale = int(kind[8:-1].split(", ")[1])
        digits = int("".join(map(str, digits_)) or "0") * 10 ** (scale + exponent)
        digits = -digits if sign else digits
        size = max(1, ((digits if digits >= 0 else ~digits).bit_length() + 8) // 8)
        return digits.to_bytes(size, "big", signed=True)
    text: str = value
    return text.encode()
