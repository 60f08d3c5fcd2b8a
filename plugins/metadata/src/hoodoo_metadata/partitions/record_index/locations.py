"""Partition ``record_index``: where the row of each record key is.

A value names a partition path, a file id and the instant that put the key there. Thousands of keys
share one such place: values are made once for each place and repeated for its keys, and read
likewise. The record key is not in the value."""

from __future__ import annotations

import re
import uuid
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo.timeline.instants import from_datetime, to_datetime

from hoodoo_metadata.partitions.record_index.values import AS_TEXT, AS_UUID, NO_INDEX, read_places
from hoodoo_metadata.table.schema import KEY_LOCATION

# What the index knows of a key. ``instant_millis``: since 1970, in UTC.
LOCATIONS = pa.schema(
    [
        ("record_key", pa.string()),
        ("partition_path", pa.string()),
        ("file_id", pa.string()),
        ("instant_millis", pa.int64()),
    ]
)

Codes = npt.NDArray[np.int64]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)
# A file id that its halves and its number bring back as it was.
_UUID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-(0|[1-9][0-9]{0,9}))?")
# Branches of a union of null and something.
_NULL, _SET = b"\0", b"\2"
# A row up to its partition path: five meta columns and a key that are not there, the type, and
# three kinds of rows that it is not. All in the order of the fields of metadata/record.avsc.
_HEAD = _NULL * 5 + b"\0" + bytes([2 * KEY_LOCATION]) + _NULL * 3 + _SET
# Up to so many places for each row, those that occur are found without sorting.
_SPARSE = 4


def encode_locations(
    partition_paths: pa.Array, file_ids: pa.Array, instant_millis: int | pa.Array
) -> pa.Array:
    """The values, a binary array, for keys that are at these places. The arrays are strings, plain
    or dictionary encoded, and as long as each other; ``instant_millis`` is int64, or one for all.

    A file id that is a UUID, with a number or without, is stored as such, any other one as text.
    Source: ``HoodieMetadataPayload.createRecordIndexUpdate``.
    """
    path_codes, paths = _coded(partition_paths)
    id_codes, ids = _coded(file_ids)
    codes, instants = path_codes * len(ids) + id_codes, [instant_millis]
    if not isinstance(instant_millis, int):
        instant_codes, instants = _coded(instant_millis)
        codes = codes * len(instants) + instant_codes
    places, rows = _occurring(codes, len(paths) * len(ids) * len(instants))
    heads = [_HEAD + _path_bytes(path) for path in paths]
    middles, tails = zip(*map(_id_bytes, ids), strict=True) if ids else ((), ())
    millis = [_instant_bytes(instant) for instant in instants]
    values = []
    for place in places.tolist():
        rest, instant = divmod(place, len(millis))
        path, file_id = divmod(rest, len(ids))
        values.append(heads[path] + middles[file_id] + millis[instant] + tails[file_id])
    return pa.array(values, pa.binary()).take(pa.array(rows))


def _path_bytes(path: str | None) -> bytes:
    return _NULL if path is None else _SET + _text(path)


def _id_bytes(file_id: str | None) -> tuple[bytes, bytes]:
    """What is before the instant, and what is after it: the halves of a UUID, its number, the id as
    text; which of them counts, no position, and no other kind of row."""
    if file_id is None:
        raise _placeless("file id")
    parts = _UUID.fullmatch(file_id)
    number = NO_INDEX if parts is None or parts[2] is None else int(parts[2])
    if parts is None or number >= 1 << 31:
        return (_SET + _long(-1)) * 3 + _SET + _text(file_id), _long(AS_TEXT) + _NULL + _NULL
    octets = uuid.UUID(parts[1]).bytes
    halves = (int.from_bytes(half, "big", signed=True) for half in (octets[:8], octets[8:]))
    numbers = b"".join(_SET + _long(part) for part in (*halves, number))
    return numbers + _SET + _text(""), _long(AS_UUID) + _NULL + _NULL


def _instant_bytes(millis: int | None) -> bytes:
    if millis is None:
        raise _placeless("instant")
    return _SET + _long(millis)


def _long(value: int) -> bytes:
    """Avro's variable-length number."""
    rest = (value << 1) ^ (value >> 63)
    made = bytearray()
    while rest > 0x7F:
        made.append(rest & 0x7F | 0x80)
        rest >>= 7
    made.append(rest)
    return bytes(made)


def _text(text: str) -> bytes:
    data = text.encode()
    return _long(len(data)) + data


def _placeless(what: str) -> CorruptTableError:
    return CorruptTableError(
        "record index",
        f"a key is to be put at a place that has no {what}.",
        "Report this: it is a bug of the index or of the writer.",
    )


def decode_locations(
    values: pa.Array, schema_text: str | None = None
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Partition paths and file ids (strings) and instants in milliseconds (int64) that ``values``
    name; null where a value is null. ``schema_text``: what they were written with; None: that of
    version 9.

    Raises CorruptTableError.
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    coded = values.dictionary_encode()
    paths, ids, millis = read_places(coded.dictionary, schema_text)
    return paths.take(coded.indices), ids.take(coded.indices), millis.take(coded.indices)


def _coded(column: pa.Array) -> tuple[Codes, list[Any]]:
    """Which of the list's elements each row has, and the list: what occurs in ``column``, or
    more."""
    if isinstance(column, pa.ChunkedArray):
        if pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()
        column = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    elements = column.dictionary.to_pylist()
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(len(elements))
        elements = [*elements, None]
    return indices.to_numpy(zero_copy_only=False).astype(np.int64), elements


def _occurring(codes: Codes, domain: int) -> tuple[Codes, Codes]:
    """The codes that occur, all below ``domain``, and which of them each row has."""
    if domain > _SPARSE * len(codes) + 65_536:
        return np.unique(codes, return_inverse=True)
    seen = np.zeros(domain, np.bool_)
    seen[codes] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[codes]


def millis_of(instant: str, timezone: str = "UTC") -> int:
    """The milliseconds since 1970 of an instant of a table in ``timezone``, ``UTC`` or ``LOCAL``.

    Raises ConfigError where the digits are not a date, UnsupportedTableError for the instants of a
    bootstrap."""
    if instant.startswith("0000"):
        raise UnsupportedTableError(
            "record index",
            f"stores of each row when its file was written, and the instant {instant} of a "
            "bootstrap is no time.",
            "Rewrite these files first: table.compact() where they have log files, then "
            'table.cluster(order="linear", columns=["id"]), with a column of yours. Or use another '
            'index: table.switch_index("bloom").',
        )
    return (to_datetime(instant, timezone) - _EPOCH) // _MILLISECOND


def instants_of(millis: pa.Array, timezone: str = "UTC") -> pa.Array:
    """The instants, strings of 17 digits in ``timezone``, of milliseconds since 1970; null of
    null."""
    codes, moments = _coded(millis)
    texts = [
        None if m is None else from_datetime(_EPOCH + m * _MILLISECOND, timezone) for m in moments
    ]
    return pa.array(texts, pa.string()).take(pa.array(codes))
