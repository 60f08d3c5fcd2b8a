"""Least and greatest values of columns, without their type, and the Arrow types that they stand
for."""

from __future__ import annotations

import pyarrow as pa

# A bound, without its type: of a decimal the unscaled number, of a date, time or timestamp what
# Arrow counts in the type's unit. Bounds of one type compare as the values do (strings by code
# point).
Raw = bool | int | float | str | bytes

# Each can be widened to those that follow.
_WIDENING = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()]
_MOST_DIGITS = 38
# Types whose bounds are the same.
_ALIKE = ((pa.string(), pa.large_string()), (pa.binary(), pa.large_binary()))


# Columns of these types, and of decimals and bytes of one length, have bounds.
_PLAIN = frozenset(
    {
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
        pa.string(), pa.large_string(), pa.binary(), pa.large_binary(),
        pa.date32(), pa.time32("ms"), pa.time64("us"),
        *(pa.timestamp(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "UTC")),
    }
)  # fmt: skip


def is_comparable(kind: pa.DataType) -> bool:
    """Whether columns of this type have bounds."""
    return kind in _PLAIN or pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind)


def typed(raws: list[Raw | None], kind: pa.DataType) -> pa.Array:
    """Bounds as an array of ``kind``, their own type."""
    if pa.types.is_decimal(kind):
        whole = b"".join((int(raw or 0)).to_bytes(16, "little", signed=True) for raw in raws)
        valid = pa.array([raw is not None for raw in raws])
        return pa.Array.from_buffers(
            kind, len(raws), [valid.buffers()[1] if len(raws) else None, pa.py_buffer(whole)]
        )
    if pa.types.is_temporal(kind):
        counted = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(raws, counted).cast(kind)
    return pa.array(raws, kind)


def raw_of(value: pa.Scalar) -> Raw | None:
    """The inverse of :func:`typed`, for one value."""
    if not value.is_valid:
        return None
    kind = value.type
    if pa.types.is_decimal(kind):
        held = pa.array([value]).buffers()[1].to_pybytes()
        return int.from_bytes(held[: kind.byte_width], "little", signed=True)
    if pa.types.is_temporal(kind):
        count: int = value.value
        return count
    raw: Raw = value.as_py()
    return raw


def promoted(raw: Raw | None, kind: pa.DataType | None, to: pa.DataType | None) -> Raw | None:
    """A bound of type ``kind`` as one of type ``to``, that of the column now; None where it is
    none.

    The column was widened since; or the table stores no types, and ``kind`` was inferred.
    """
    if raw is None or kind is None or to is None or kind == to:
        return raw
    if pa.types.is_decimal(to):
        digits = to.scale - (kind.scale if pa.types.is_decimal(kind) else 0)
        if digits >= 0:
            return int(raw) * 10**digits
        whole, rest = divmod(int(raw), 10**-digits)
        return whole if rest == 0 else None
    if pa.types.is_floating(to) and not isinstance(raw, (str, bytes)):
        return float(raw)
    if pa.types.is_integer(kind) and (pa.types.is_integer(to) or pa.types.is_temporal(to)):
        return raw
    # A number that has become text doesn't sort as it did.
    return raw if any(kind in alike and to in alike for alike in _ALIKE) else None


def wider(older: pa.DataType | None, newer: pa.DataType | None) -> pa.DataType | None:
    """The type in which bounds of both can be said: files from before a column was widened may be
    looked at after those from then. ``newer`` where neither holds the other."""
    if older is None or newer is None or older == newer:
        return older if newer is None else newer
    if older in _WIDENING and newer in _WIDENING:
        return max(older, newer, key=_WIDENING.index)
    if pa.types.is_decimal(older) and pa.types.is_decimal(newer):
        scale = max(older.scale, newer.scale)
        whole = max(older.precision - older.scale, newer.precision - newer.scale)
        return pa.decimal128(min(whole + scale, _MOST_DIGITS), scale)
    return older if pa.types.is_decimal(older) and pa.types.is_integer(newer) else newer
