"""How least and greatest values of a column are stored, and the Arrow types that they stand for.

Tables of version 9 store plain values and the type beside them (``HoodieValueTypeInfo``, whose
ordinals are those of Hudi's ``ValueType``). Older tables store no type: a decimal has 15 digits
after the point, whatever the column has, and what a date is can be told; a time or a timestamp is a
mere number."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.model.range_values import Raw
from hoodoo.model.table_version import version_of

_NAMESPACE = "org.apache.hudi.avro.model."
# The one decimal type of tables that store no types.
OLD_DECIMAL = pa.decimal128(30, 15)
_NOTHING = 1  # the ordinal of a column of which no value was seen
_BYTES = 8
_DECIMAL = 10
# No text that people write is greater.
GREATEST_TEXT = "\U0010ffff" * 8
_GREATEST_BYTES = b"\xff" * 32

# Ordinal -> what wraps the value, its Arrow type.
_STORED: dict[int, tuple[str, pa.DataType]] = {
    2: ("Boolean", pa.bool_()),
    3: ("Int", pa.int32()),
    4: ("Long", pa.int64()),
    5: ("Float", pa.float32()),
    6: ("Double", pa.float64()),
    7: ("String", pa.string()),
    8: ("Bytes", pa.binary()),
    9: ("Bytes", pa.binary()),  # fixed
    11: ("String", pa.string()),  # UUID
    12: ("Int", pa.date32()),
    13: ("Int", pa.time32("ms")),
    14: ("Long", pa.time64("us")),
    15: ("Long", pa.timestamp("ms", "UTC")),
    16: ("Long", pa.timestamp("us", "UTC")),
    17: ("Long", pa.timestamp("ns", "UTC")),
    18: ("Long", pa.timestamp("ms")),
    19: ("Long", pa.timestamp("us")),
    20: ("Long", pa.timestamp("ns")),
}
_ORDINALS = {kind: n for n, (_, kind) in _STORED.items() if n not in (9, 11)}
_ORDINALS |= {pa.int8(): 3, pa.int16(): 3, pa.large_string(): 7, pa.large_binary(): 8}
# What wraps a value where no type is stored -> its Arrow type.
_OLD: dict[str, pa.DataType] = {
    "Boolean": pa.bool_(),
    "Int": pa.int32(),
    "Long": pa.int64(),
    "Float": pa.float32(),
    "Double": pa.float64(),
    "Bytes": pa.binary(),
    "String": pa.string(),
    "Date": pa.date32(),
    "LocalDate": pa.date32(),
    "Decimal": OLD_DECIMAL,
    "TimeMicros": pa.time64("us"),
    "TimestampMicros": pa.timestamp("us", "UTC"),
}


@frozen
class Wrapping:
    """How values of a type are wrapped. ``info``: the stored type, None where none is stored;
    ``digits``: decimal digits to append to the unscaled number."""

    wrapper: str
    info: dict[str, Any] | None
    decimal: bool = False
    digits: int = 0

    def wrap(self, raw: Raw | None) -> tuple[str, dict[str, Any]] | None:
        if raw is None:
            return None
        if self.decimal:
            raw = _big_endian(int(raw) * 10**self.digits)
        return f"{_NAMESPACE}{self.wrapper}Wrapper", {"value": raw}


def is_stored(kind: pa.DataType, version: int) -> bool:
    """Whether bounds of columns of this type are kept in tables of ``version``, as Hudi keeps
    them."""
    if not version_of(version).has_second_indexes and pa.types.is_decimal(kind):
        scale = OLD_DECIMAL.scale
        return kind.scale <= scale and kind.precision + scale - kind.scale <= OLD_DECIMAL.precision
    return _ordinal(kind) is not None


def wrapping(kind: pa.DataType | None, version: int) -> Wrapping:
    """How a table of ``version`` stores bounds of type ``kind``; None: of a column without values.

    ``kind`` :func:`is_stored`.
    """
    is_typed = version_of(version).has_second_indexes
    if kind is None:  # nothing to wrap
        return Wrapping("", _info(_NOTHING) if is_typed else None)
    ordinal = _ordinal(kind)
    assert ordinal is not None, kind
    if ordinal == _DECIMAL:
        if is_typed:
            return Wrapping("Bytes", _info(ordinal, f"{kind.precision},{kind.scale}"), True)
        return Wrapping("Decimal", None, True, OLD_DECIMAL.scale - kind.scale)
    wrapper = _STORED[ordinal][0]
    if is_typed:
        return Wrapping(wrapper, _info(ordinal))
    return Wrapping("Date" if kind == pa.date32() else wrapper, None)


def _info(ordinal: int, extra: str | None = None) -> dict[str, Any]:
    return {"typeOrdinal": ordinal, "additionalInfo": extra}


def unwrapped(wrapped: Any, info: dict[str, Any] | None) -> tuple[Raw | None, pa.DataType | None]:
    """A stored bound and its type, from what Avro gives: a pair of name and record, or None, and
    the stored type. The type is None where it isn't known, or a list."""
    name = "" if wrapped is None else wrapped[0].removeprefix(_NAMESPACE).removesuffix("Wrapper")
    raw: Raw | None = None if wrapped is None else wrapped[1].get("value")
    if info is None:
        kind = _OLD.get(name)
    elif info["typeOrdinal"] == _DECIMAL:
        precision, scale = map(int, info["additionalInfo"].split(","))
        kind = pa.decimal128(precision, scale)
    else:
        kind = _STORED.get(info["typeOrdinal"], ("", None))[1]
    if kind is None:
        return None, None
    if pa.types.is_decimal(kind) and isinstance(raw, bytes):
        raw = int.from_bytes(raw, "big", signed=True)
    return raw, kind


def widest(kind: pa.DataType) -> tuple[Raw, Raw]:
    """Bounds between which every value of ``kind`` lies, which :func:`is_stored`."""
    if pa.types.is_boolean(kind):
        return False, True
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "", GREATEST_TEXT
    if _ORDINALS.get(kind) == _BYTES or pa.types.is_fixed_size_binary(kind):
        return b"", _GREATEST_BYTES
    if pa.types.is_floating(kind):
        return float("-inf"), float("inf")
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        return -most, most
    most = 1 << kind.bit_width - 1
    return -most, most - 1


def _ordinal(kind: pa.DataType) -> int | None:
    if pa.types.is_decimal(kind):
        return _DECIMAL
    if pa.types.is_fixed_size_binary(kind):
        return 9
    return _ORDINALS.get(kind)


def _big_endian(number: int) -> bytes:
    """Two's complement in as few bytes as can be, as ``BigInteger.toByteArray``."""
    spent = number if number >= 0 else ~number
    return number.to_bytes(spent.bit_length() // 8 + 1, "big", signed=True)
