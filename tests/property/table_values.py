"""The columns of the random tables, and few but nasty values for each type of the format."""

from __future__ import annotations

import datetime as dt
import decimal
import zlib
from typing import Any

import pyarrow as pa

UTC = dt.timezone.utc
NAN = float("nan")


def _day(text: str) -> dt.date:
    return dt.date.fromisoformat(text)


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=UTC)


_D = decimal.Decimal
MICROS = pa.timestamp("us", "UTC")
INNER = pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", pa.list_(pa.int64()))])

# column -> type, values; a row's values follow from one number, 0 makes them all null.
PAYLOAD: dict[str, tuple[pa.DataType, list[Any]]] = {
    "w": (pa.int32(), [0, -1, 2**31 - 1, -(2**31)]),
    "f": (pa.float32(), [0.0, -0.0, 1.5, NAN, float("inf"), -2.5]),
    "big": (pa.int64(), [0, 2**63 - 1, -(2**63), 2**53 + 1]),
    "real": (pa.float64(), [0.0, 0.1, -0.0, NAN, float("-inf"), 5e-324]),
    "flag": (pa.bool_(), [True, False]),
    "text": (pa.string(), ["", "plain", "é𝄞 \n\t'\"\\", "x" * 300]),
    "raw": (pa.binary(), [b"", b"\x00\xff", b"bytes" * 50]),
    "day": (pa.date32(), [_day("1970-01-01"), _day("1969-12-31"), _day("0001-01-01"), _day("9999-12-31")]),
    "clock_ms": (pa.time32("ms"), [dt.time(0), dt.time(23, 59, 59, 999000)]),
    "clock_us": (pa.time64("us"), [dt.time(0), dt.time(1, 2, 3, 456789)]),
    "moment": (MICROS, [_moment("1970-01-01T00:00:00"), _moment("1969-12-31T23:59:59.999999"),
                        _moment("2262-04-12T00:00:00.000001"), _moment("0001-01-01T00:00:00")]),
    "money": (pa.decimal128(10, 2), [_D("0.00"), _D("-12345678.90"), _D("99999999.99")]),
    "sum": (pa.decimal128(38, 10), [_D("0"), _D(10**27), _D("-0.0000000001")]),
    "list": (pa.list_(pa.string()), [[], [None], ["a", None, ""], ["b"] * 5]),
    "pairs": (pa.map_(pa.string(), pa.int64()), [[], [("a", None)], [("a", 1), ("é", -1)]]),
    "inner": (INNER, [{"a": None, "b": None, "c": None}, {"a": 1, "b": "x", "c": []},
                      {"a": None, "b": "", "c": [1, None]}]),
    "deep": (pa.list_(pa.struct([("m", pa.map_(pa.string(), INNER))])),
             [[], [None, {"m": None}], [{"m": [("k", None), ("l", {"a": 1, "b": None, "c": [2]})]}]]),
}  # fmt: skip

# Columns that may come later.
LATER: dict[str, tuple[pa.DataType, list[Any]]] = {
    "later_text": (pa.string(), ["new", ""]),
    "later_long": (pa.int64(), [7, -7]),
    "later_inner": (INNER, [{"a": 5, "b": None, "c": None}, {"a": None, "b": "é", "c": [3]}]),
    "later_list": (pa.list_(pa.float64()), [[], [1.0, None]]),
}
# What a column may grow to.
WIDER = {"w": pa.int64(), "f": pa.float64()}

# Ordering columns: values in ascending order; null, which is lowest, comes before them.
ORDERED: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [-5, 0, 7]),
    "long": (pa.int64(), [-(2**63), 0, 2**53, 2**53 + 1]),
    "double": (pa.float64(), [float("-inf"), -0.0, 0.0, 1.5, NAN]),
    "float": (pa.float32(), [-1.5, -0.0, 0.0, NAN]),
    "text": (pa.string(), ["", "B", "a", "é", "𝄞"]),
    "moment": (MICROS, [_moment("1969-12-31T23:59:59.999999"), _moment("2024-01-01T00:00:00")]),
    "day": (pa.date32(), [_day("1969-12-31"), _day("1970-01-01")]),
    "money": (pa.decimal128(10, 2), [_D("-1.50"), _D("0.00"), _D("10.00")]),
    "flag": (pa.bool_(), [False, True]),
}

KEYS: dict[str, pa.DataType] = {"k": pa.string(), "k2": pa.int32(), "k3": pa.string()}
KEY_VALUES: list[tuple[str | None, int | None]] = [
    ("a", 0), ("b", None), ("c,k2:1", 1), ("d:e", 0), ("é𝄞", 0), (" x y ", -1), ("-0", 0), ("a", 1),
]  # fmt: skip
# Keys of two texts, `k` and `k3`: joined without their columns' names many of them would be the same.
KEY_TEXTS: list[tuple[str | None, str | None]] = [
    ("a", "b,c"), ("a,b", "c"), ("a", None), ("a:b", "c"), ("a", "b:c"), ("a/b", "c"), ("a", "b/c"), ("", "a"),
    ("a,", "b"), ("a", ",b"), (",", ":"), ("k3:a", "k:b"), ("a,k2:b", "c"), ("a,k3", ":b"),
]  # fmt: skip
# Those that could be other keys, too: they are refused.
AMBIGUOUS: list[tuple[str, str]] = [
    ("a,k3:b", "c"), ("a", "b,k3:c"), ("a,k:b", "c"), ("__null__", "a"), ("a", "__empty__"), (",k3:", ""),
]  # fmt: skip
PARTITIONS: dict[str, pa.DataType] = {"p": pa.string(), "q": pa.date32()}
PLAIN_PARTITIONS = ["x", "y", None, "", "with space", "é"]
ENCODED_PARTITIONS = ["x", "a/b", None, "50%", "c=d:e", "é {z}"]
DAYS = [_day("2024-02-29"), None, _day("1969-12-31")]


def value(name: str, values: list[Any], payload: int) -> Any:
    """The value of a column for a row's number: any, but always the same."""
    if payload == 0:
        return None
    at = zlib.crc32(f"{payload} {name}".encode()) % (len(values) + 1)
    return None if at == len(values) else values[at]


def ordering_value(kind: str, draw: int) -> tuple[Any, int]:
    """The value and its place; place 0 is null."""
    values = ORDERED[kind][1]
    place = draw % (len(values) + 1)
    return (None if place == 0 else values[place - 1]), place
