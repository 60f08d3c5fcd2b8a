"""The two binaries of a variant to Python objects and JSON text."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import struct
import uuid
from collections.abc import Callable
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from hoodoo_variant.encode import MAX_DEPTH, VariantError

_EPOCH = dt.datetime(1970, 1, 1)
_UTC_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_MIDNIGHT = dt.datetime.min
_EXACT = Context(prec=40)
_NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}
_quoted: Callable[[str], str] = json.encoder.encode_basestring
_FIX = "Write the row again, or read the column as its bytes: the struct of metadata and value."


def decode(metadata: bytes, value: bytes) -> Any:
    """The Python object of a variant. A time that ``datetime`` cannot hold (nanoseconds, years
    beyond 9999) is a ``numpy.datetime64``. Raises VariantError where the bytes are no variant."""
    try:
        found, _ = _decoded(value, 0, keys_of(metadata), 0)
    except VariantError:
        raise
    except (IndexError, struct.error, UnicodeDecodeError, ValueError, OverflowError) as error:
        raise VariantError(f"its bytes are no variant ({error}).", _FIX) from error
    return found


def to_json(metadata: bytes, value: bytes) -> str:
    """The JSON text of a variant, as Spark's ``to_json`` makes it: bytes are base64, times, UUIDs
    and what is no finite number are text."""
    return _json(decode(metadata, value))


def _json(value: Any) -> str:  # not json.dumps, which has no decimals
    if isinstance(value, dict):
        return "{" + ",".join([f"{_quoted(k)}:{_json(v)}" for k, v in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([_json(one) for one in value]) + "]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (bool, int, type(None))):
        return json.dumps(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'"{_NOT_FINITE.get(value, "NaN")}"'
    if isinstance(value, Decimal):
        return f"{value:f}"
    return _quoted(base64.b64encode(value).decode() if isinstance(value, bytes) else str(value))


@lru_cache(maxsize=1024)  # rows of one shape have one metadata
def keys_of(metadata: bytes) -> tuple[str, ...]:
    """The keys in the metadata of a variant."""
    if not metadata or metadata[0] & 15 != 1:
        version = metadata[0] & 15 if metadata else "none"
        raise VariantError(f"its metadata have the version {version}, and there is 1.", _FIX)
    size = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + size], "little")
    start = 1 + (count + 2) * size
    if len(metadata) < start:
        raise VariantError("its metadata are too short.", _FIX)
    ends = _numbers(metadata, 1 + size, count + 1, size)
    if start + ends[-1] > len(metadata) or any(a > b for a, b in zip(ends, ends[1:])):
        raise VariantError("its metadata are too short.", _FIX)
    return tuple(metadata[start + a : start + b].decode() for a, b in zip(ends, ends[1:]))


def _numbers(data: bytes, at: int, count: int, size: int) -> Any:
    if size == 1:
        return data[at : at + count]
    return [
        int.from_bytes(data[i : i + size], "little") for i in range(at, at + count * size, size)
    ]


def _decoded(data: bytes, at: int, keys: tuple[str, ...], depth: int) -> tuple[Any, int]:
    """The object that begins at ``at``, and where it ends."""
    header = data[at]
    kind, info = header & 3, header >> 2
    if kind == 1:
        end = at + 1 + info
        return data[at + 1 : _within(data, end)].decode(), end
    if kind == 0:
        if info >= len(_PRIMITIVES):
            raise VariantError(f"it has a value of the type {info}, which is not known.", _FIX)
        return _PRIMITIVES[info](data, at + 1)
    if depth >= MAX_DEPTH:
        raise VariantError(
            f"it has more than {MAX_DEPTH} objects and arrays within each other.", _FIX
        )
    places, offsets, start = contents(data, at)
    end = _within(data, start + offsets[-1])
    items = []
    for offset in offsets[:-1]:
        items.append(_decoded(data, start + offset, keys, depth + 1)[0])
    if places is None:
        return items, end
    return {keys[place]: item for place, item in zip(places, items, strict=True)}, end


def contents(data: bytes, at: int) -> tuple[Any, Any, int]:
    """Of the object or array that begins at ``at``: the places of its keys (None: an array), where
    its values begin and the last one ends, counted from the third."""
    header = data[at]
    info = header >> 2
    is_object = header & 3 == 2
    large = info >> 4 & 1 if is_object else info >> 2 & 1
    width = 4 if large else 1
    size, id_size = (info & 3) + 1, (info >> 2 & 3) + 1
    count = int.from_bytes(data[at + 1 : at + 1 + width], "little")
    start = at + 1 + width
    places = None
    if is_object:
        places = _numbers(data, start, count, id_size)
        start += count * id_size
    after = _within(data, start + (count + 1) * size)
    return places, _numbers(data, start, count + 1, size), after


def _within(data: bytes, end: int) -> int:
    if end > len(data):
        raise VariantError(f"its value has {len(data):,} bytes, and needs {end:,}.", _FIX)
    return end


Primitive = Callable[[bytes, int], tuple[Any, int]]


def _constant(value: Any) -> Primitive:
    return lambda data, at: (value, at)


def _packed(code: str) -> Primitive:
    form = struct.Struct("<" + code)
    return lambda data, at: (form.unpack_from(data, at)[0], at + form.size)


def _decimal(size: int) -> Primitive:
    def found(data: bytes, at: int) -> tuple[Any, int]:
        end = _within(data, at + 1 + size)
        number = int.from_bytes(data[at + 1 : end], "little", signed=True)
        if data[at] > 38:
            raise VariantError(f"it has a decimal of the scale {data[at]}.", _FIX)
        return Decimal(number).scaleb(-data[at], _EXACT), end

    return found


def _moment(epoch: dt.datetime, unit: str) -> Primitive:
    read = _packed("i" if unit == "D" else "q")
    divisor = {"D": 1, "us": 1, "ns": 1000}[unit]

    def found(data: bytes, at: int) -> tuple[Any, int]:
        number, end = read(data, at)
        whole, rest = divmod(number, divisor)
        try:
            if rest:
                return np.int64(number).view(f"M8[{unit}]"), end
            if unit == "D":
                return (epoch + dt.timedelta(days=whole)).date(), end
            return epoch + dt.timedelta(microseconds=whole), end
        except OverflowError:
            return np.int64(number).view(f"M8[{unit}]"), end

    return found


def _time(data: bytes, at: int) -> tuple[Any, int]:
    number, end = struct.unpack_from("<q", data, at)[0], at + 8
    if not 0 <= number < 86_400_000_000:
        raise VariantError(f"it has a time of {number} microseconds.", _FIX)
    return (_MIDNIGHT + dt.timedelta(microseconds=number)).time(), end


def _sized(data: bytes, at: int) -> tuple[bytes, int]:
    end = _within(data, at + 4 + struct.unpack_from("<I", data, at)[0])
    return data[at + 4 : end], end


def _text(data: bytes, at: int) -> tuple[str, int]:
    found, end = _sized(data, at)
    return found.decode(), end


def _uuid(data: bytes, at: int) -> tuple[uuid.UUID, int]:
    end = _within(data, at + 16)
    return uuid.UUID(bytes=data[at:end]), end


# By the number of the type in VariantEncoding.md.
_PRIMITIVES: tuple[Primitive, ...] = (
    *(_constant(value) for value in (None, True, False)),
    *(_packed(code) for code in "bhiqd"),
    *(_decimal(size) for size in (4, 8, 16)),
    _moment(_EPOCH, "D"),
    _moment(_UTC_EPOCH, "us"),
    _moment(_EPOCH, "us"),
    _packed("f"),
    _sized,
    _text,
    _time,
    _moment(_UTC_EPOCH, "ns"),
    _moment(_EPOCH, "ns"),
    _uuid,
)
