"""Python objects and JSON text to the two binaries of a variant, metadata and value.

The bytes are those of Spark's ``parse_json``: keys stand in the metadata in the order in which they
occur, numbers have the smallest type that holds them, and fractions of a JSON text are decimals
where 38 digits hold them."""

from __future__ import annotations

import datetime as dt
import json
import struct
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

MAX_DEPTH = 200  # objects and arrays within each other, so that Python's stack is deep enough
MAX_SIZE = 1 << 24  # bytes of a value, and of its metadata: what Spark 4.0 reads
DIGITS = 38  # of a decimal
EMPTY = b"\x01\x00\x00"  # metadata without keys
_UTC_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_EPOCH = dt.datetime(1970, 1, 1)
_DAY = dt.date(1970, 1, 1).toordinal()
_MICROSECOND = dt.timedelta(microseconds=1)

Keys = dict[str, int]  # of one variant, with their places in its metadata
Encoder = Callable[[Any, Keys, int], bytes]


class VariantError(ValueError):
    """A value that no variant can hold; the text says why, and ``fix`` what helps."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(why)
        self.fix = fix


def encode(value: Any) -> tuple[bytes, bytes]:
    """Metadata and value of a Python object: None, bool, int, float, Decimal, str, bytes, date,
    datetime, time, UUID, and lists and dicts of these. Raises VariantError for others, for decimals
    of more than 38 digits, keys that are no text, and objects that are too deep or too large."""
    keys: Keys = {}
    found = _encoded(value, keys, 0)
    metadata = _metadata(keys)
    if max(len(found), len(metadata)) > MAX_SIZE:
        raise VariantError(
            f"it has {max(len(found), len(metadata)):,} bytes, and readers take {MAX_SIZE:,}.",
            "Divide it into several rows or columns.",
        )
    return metadata, found


def encode_json(text: str | bytes) -> tuple[bytes, bytes]:
    """Metadata and value of a JSON text. Raises VariantError where it is no JSON: also for NaN, for
    a key that an object has twice, and for half a surrogate pair."""
    try:
        value = _JSON.decode(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise _too_deep() from None
    except UnicodeDecodeError as error:
        raise VariantError(f"it is no JSON in UTF-8 ({error}).", "Correct the text.") from error
    except json.JSONDecodeError as error:
        fix = "Correct the text. A text that is a value itself is written in quotes."
        raise VariantError(f"it is no JSON ({error}).", fix) from error
    return encode(value)


def _whole(text: str) -> int | float:
    return int(text) if len(text.lstrip("-")) <= DIGITS else _double(text)


def _fraction(text: str) -> Decimal | float:
    if "e" not in text and "E" not in text:
        number = Decimal(text)
        if len(number.as_tuple().digits) <= DIGITS and -int(number.as_tuple().exponent) <= DIGITS:
            return number
    return _double(text)


def _double(text: str) -> float:
    found = float(text)
    if found in (float("inf"), float("-inf")):
        raise VariantError(f"the number {text[:50]} is beyond a double.", "Write it as text.")
    return found


def _no_number(text: str) -> Any:
    raise VariantError(f"{text} is no number of JSON.", "Write null, or the text in quotes.")


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise VariantError(
            f"an object has the key {twice!r} twice.", "Remove or rename one of them."
        )
    return found


_JSON = json.JSONDecoder(
    parse_int=_whole,
    parse_float=_fraction,
    parse_constant=_no_number,
    object_pairs_hook=_object_of,
)


def _too_deep() -> VariantError:
    return VariantError(
        f"it has more than {MAX_DEPTH} objects and arrays within each other.",
        "Store what is deeper as text.",
    )


def _metadata(keys: Keys) -> bytes:
    if not keys:
        return EMPTY
    names = [_utf8(name) for name in keys]
    length = sum(map(len, names))
    size = _size(max(len(names), length))
    offsets, end = [len(names), 0], 0
    for name in names:
        end += len(name)
        offsets.append(end)
    return bytes([1 | (size - 1) << 6]) + _numbers(offsets, size) + b"".join(names)


def _size(largest: int) -> int:
    """Bytes of each number of a list whose largest one is this."""
    return 1 if largest < 1 << 8 else 2 if largest < 1 << 16 else 3 if largest < 1 << 24 else 4


def _numbers(numbers: list[int], size: int) -> bytes:
    if size == 1:
        return bytes(numbers)
    return b"".join([number.to_bytes(size, "little") for number in numbers])


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise VariantError(f"a text is not Unicode ({error}).", "Correct the text.") from error


def _encoded(value: Any, keys: Keys, depth: int) -> bytes:
    encoder = _ENCODERS.get(type(value))
    if encoder is None:
        encoder = next((e for kind, e in _ENCODERS.items() if isinstance(value, kind)), None)
    if encoder is None:
        if isinstance(value, np.generic) and type(value.item()) in _ENCODERS:
            return _encoded(value.item(), keys, depth)
        if isinstance(value, np.ndarray):
            return _encoded(value.tolist(), keys, depth)
        raise VariantError(
            f"{value!r:.50} is of type {type(value).__name__}, which variants lack.",
            "Make text or a number of it, or an object of several.",
        )
    return encoder(value, keys, depth)


def _null(value: None, keys: Keys, depth: int) -> bytes:
    return b"\x00"


def _bool(value: bool, keys: Keys, depth: int) -> bytes:
    return b"\x04" if value else b"\x08"


def _int(value: int, keys: Keys, depth: int) -> bytes:
    if -0x80 <= value < 0x80:
        return struct.pack("<bb", 12, value)
    if -0x8000 <= value < 0x8000:
        return struct.pack("<bh", 16, value)
    if -0x8000_0000 <= value < 0x8000_0000:
        return struct.pack("<bi", 20, value)
    if -(1 << 63) <= value < 1 << 63:
        return struct.pack("<bq", 24, value)
    if abs(value) < 10**DIGITS:
        return b"\x28\x00" + value.to_bytes(16, "little", signed=True)
    raise VariantError(f"the number {value} has more than {DIGITS} digits.", "Write it as text.")


def _float(value: float, keys: Keys, depth: int) -> bytes:
    return struct.pack("<bd", 28, value)


def _decimal(value: Decimal, keys: Keys, depth: int) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise VariantError(f"the decimal {value} is no number.", "Write null, or a float.")
    number = (
        int("".join(map(str, digits))) * 10 ** max(exponent, 0) if exponent < DIGITS else 10**DIGITS
    )
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale)
    if precision > DIGITS or number >= 10**DIGITS:
        raise VariantError(
            f"the decimal {value} has more than {DIGITS} digits.", "Write it as text."
        )
    kind, size = (32, 4) if precision <= 9 else (36, 8) if precision <= 18 else (40, 16)
    return bytes([kind, scale]) + (-number if sign else number).to_bytes(
        size, "little", signed=True
    )


def _date(value: dt.date, keys: Keys, depth: int) -> bytes:
    return struct.pack("<bi", 44, value.toordinal() - _DAY)


def _datetime(value: dt.datetime, keys: Keys, depth: int) -> bytes:
    if value.tzinfo is None:
        return struct.pack("<bq", 52, (value - _EPOCH) // _MICROSECOND)
    return struct.pack("<bq", 48, (value - _UTC_EPOCH) // _MICROSECOND)


def _time(value: dt.time, keys: Keys, depth: int) -> bytes:
    if value.tzinfo is not None:
        raise VariantError(
            f"the time {value} has a time zone.", "Take it away: value.replace(tzinfo=None)."
        )
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return struct.pack("<bq", 68, seconds * 1_000_000 + value.microsecond)


def _uuid(value: uuid.UUID, keys: Keys, depth: int) -> bytes:
    return b"\x50" + value.bytes


def _bytes(value: bytes, keys: Keys, depth: int) -> bytes:
    return struct.pack("<bI", 60, len(value)) + bytes(value)


def _str(value: str, keys: Keys, depth: int) -> bytes:
    return text_of(value)


def text_of(value: str) -> bytes:
    """The value of a text."""
    text = _utf8(value)
    size = len(text)
    return (bytes([size << 2 | 1]) if size < 64 else struct.pack("<BI", 64, size)) + text


def _array(value: list[Any], keys: Keys, depth: int) -> bytes:
    if depth >= MAX_DEPTH:
        raise _too_deep()
    items = []
    for item in value:  # a comprehension would take a frame of its own of each level
        items.append(_encoded(item, keys, depth + 1))
    return array_of(items)


def array_of(items: list[bytes]) -> bytes:
    """The value of an array of ``items``, which are values."""
    offsets, end = [0], 0
    for item in items:
        end += len(item)
        offsets.append(end)
    size, count = _size(end), len(items)
    large = count > 255
    header = bytes([(large << 2 | size - 1) << 2 | 3]) + count.to_bytes(4 if large else 1, "little")
    return header + _numbers(offsets, size) + b"".join(items)


def _dict(value: Mapping[str, Any], keys: Keys, depth: int) -> bytes:
    if depth >= MAX_DEPTH:
        raise _too_deep()
    fields = []
    for name, item in value.items():
        if type(name) is not str:
            raise VariantError(f"the key {name!r:.50} is no text.", "Make text of it.")
        place = keys.setdefault(name, len(keys))
        fields.append((name, place, _encoded(item, keys, depth + 1)))
    return object_of(fields)


def object_of(fields: list[tuple[str, int, bytes]]) -> bytes:
    """The value of an object of ``fields``: each one's key, the key's place in the metadata, and
    its value. Headers are in the order of the keys, values in that of ``fields``."""
    ordered, end = [], 0
    for name, place, item in fields:
        ordered.append((name, place, end))
        end += len(item)
    ordered.sort()  # as the bytes of the keys in UTF-8 are
    places = [place for _, place, _ in ordered]
    offsets = [offset for _, _, offset in ordered]
    offsets.append(end)
    id_size, size = _size(max(places, default=0)), _size(end)
    large = len(places) > 255
    head = bytes([(large << 4 | (id_size - 1) << 2 | size - 1) << 2 | 2])
    count = len(places).to_bytes(4 if large else 1, "little")
    items = b"".join([item for _, _, item in fields])
    return head + count + _numbers(places, id_size) + _numbers(offsets, size) + items


# Subclasses come before what they are subclasses of.
_ENCODERS: dict[type, Encoder] = {
    type(None): _null,
    bool: _bool,
    int: _int,
    float: _float,
    Decimal: _decimal,
    str: _str,
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _bytes,
    dt.datetime: _datetime,
    dt.date: _date,
    dt.time: _time,
    uuid.UUID: _uuid,
    dict: _dict,
    list: _array,
    tuple: _array,
}
