"""The fixed parts of an HFile, version 3.

Data blocks, meta blocks, the load-on-open section (data index, meta index, file info) and a trailer
of 4096 bytes. A block is a header of 33 bytes, its content, compressed or not, and checksums.
Integers are big-endian, but for the protocol buffers of file info and trailer, and the lengths of
index keys, which are Hadoop's VInt."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from enum import IntEnum

import google_crc32c
import pyarrow as pa

ENTRIES = pa.schema([("key", pa.binary()), ("value", pa.binary())])

# magic, size on disk and plain size (both without header), offset of the previous block, checksum
# type, bytes per checksum, size on disk with header and without checksums
HEADER = struct.Struct(">8siiqbii")
HEADER_BYTES = HEADER.size
CHUNK = 16384  # bytes per checksum
DATA, META, ROOT, INFO = b"DATABLK*", b"METABLKc", b"IDXROOT2", b"FILEINF2"
LEAF, INNER = b"IDXLEAF2", b"IDXINTE2"
TRAILER_MAGIC, TRAILER_BYTES = b'TRABLK"$', 4096
VERSION = 3
INFO_MAGIC = b"PBUF"
COMPARATOR = b"org.apache.hudi.io.storage.HoodieHBaseKVComparator"
# What follows the content of a key: no column family, the greatest timestamp, type Put.
SUFFIX = b"\x00\x7f" + b"\xff" * 7 + b"\x04"
# Of an entry, besides key and value: three lengths, the suffix, and the version of the row, 0.
ENTRY_BYTES = 4 + 4 + 2 + len(SUFFIX) + 1
KEY_BYTES = (1 << 15) - 1  # a key's length is a signed short
LAST_KEY, CREATED = "hfile.LASTKEY", "hfile.CREATE_TIME_TS"
AVERAGE_KEY, AVERAGE_VALUE = "hfile.AVG_KEY_LEN", "hfile.AVG_VALUE_LEN"
VALUE_VERSION, MEMSTORE = "KEY_VALUE_VERSION", "MAX_MEMSTORE_TS_KEY"


class Checksum(IntEnum):
    """How blocks are checked, by the byte on disk. Hudi's own writer knows only NULL."""

    NULL = 0
    CRC32 = 1
    CRC32C = 2


class Codec(IntEnum):
    """How blocks are compressed, by the number in the trailer. HBase has others."""

    GZIP = 1
    NONE = 2


class Trailer(IntEnum):
    """The fields of the trailer."""

    INFO_AT = 1
    LOAD_AT = 2
    INDEX_BYTES = 3
    TOTAL_BYTES = 4
    INDEX_COUNT = 5
    META_COUNT = 6
    ENTRIES = 7
    LEVELS = 8
    FIRST_AT = 9
    LAST_AT = 10
    COMPARATOR = 11
    CODEC = 12
    ENCRYPTION = 13


class Nonsense(Exception):
    """Bytes that contradict the format."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A protocol buffers' integer, and where it ends."""
    found = shift = 0
    while shift < 64:
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        found |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return found, at
    raise Nonsense("an integer has no end")


def put_varint(value: int) -> bytes:
    """The inverse; a negative ``value`` is one of 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """The fields of a protocol buffer: integers, and stretches of bytes."""
    found: list[tuple[int, int | bytes]] = []
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 0:
            found.append((tag >> 3, value))
        elif tag & 7 == 2 and value <= len(data) - at:
            found.append((tag >> 3, data[at : at + value]))
            at += value
        else:
            raise Nonsense("a field is of an unknown kind or longer than its message")
    return found


def put_fields(pairs: Sequence[tuple[int, int | bytes]]) -> bytes:
    """The inverse of :func:`fields`."""
    out = []
    for number, value in pairs:
        if isinstance(value, int):
            out += [put_varint(number << 3), put_varint(value)]
        else:
            out += [put_varint(number << 3 | 2), put_varint(len(value)), value]
    return b"".join(out)


def vint(data: bytes, at: int) -> tuple[int, int]:
    """Hadoop's VInt, one that is not negative, and where it ends. IndexError past the end."""
    first = data[at]
    if first < 128:
        return first, at + 1
    size = 143 - first + 1  # 0x8f: one byte follows, 0x8e: two ...
    if not 1 <= size <= 4 or at + 1 + size > len(data):
        raise Nonsense("the length of an index key is none")
    return int.from_bytes(data[at + 1 : at + 1 + size], "big"), at + 1 + size


def put_vint(value: int) -> bytes:
    """The inverse."""
    if value < 128:
        return bytes([value])
    size = (value.bit_length() + 7) // 8
    return bytes([144 - size]) + value.to_bytes(size, "big")


def short_key(key: bytes) -> bytes:
    """A key as file info and Hudi's index have it: its length, and itself."""
    return len(key).to_bytes(2, "big") + key


def content(key: bytes) -> bytes:
    """The key within one of an index, with or without the suffix."""
    size = int.from_bytes(key[:2], "big")
    if len(key) < 2 + size or len(key) < 2:
        raise Nonsense("an index key is shorter than it says")
    return key[2 : 2 + size]


def info_of(data: bytes) -> dict[str, bytes]:
    """File info."""
    if not data.startswith(INFO_MAGIC):
        raise Nonsense("the file info has no magic")
    size, at = varint(data, len(INFO_MAGIC))
    if size != len(data) - at:
        raise Nonsense("the file info is shorter or longer than it says")
    found = {}
    for _, pair in fields(data[at:]):
        parts = dict(fields(pair)) if isinstance(pair, bytes) else {}
        name, value = parts.get(1, b""), parts.get(2, b"")
        if not isinstance(name, bytes) or not isinstance(value, bytes):
            raise Nonsense("an entry of the file info is no pair")
        found[name.decode("utf-8", "replace")] = value
    return found


def put_info(info: Mapping[str, bytes]) -> bytes:
    """The inverse of :func:`info_of`."""
    pairs = [(1, put_fields([(1, name.encode()), (2, value)])) for name, value in info.items()]
    body = put_fields(pairs)
    return INFO_MAGIC + put_varint(len(body)) + body


def checksums(kind: Checksum, chunks: Sequence[bytes | memoryview]) -> list[int]:
    """The checksum of each of ``chunks``; 0 of the kind NULL."""
    if kind is Checksum.NULL:
        return [0] * len(chunks)
    if kind is Checksum.CRC32:
        return [zlib.crc32(chunk) for chunk in chunks]
    return [google_crc32c.value(bytes(chunk)) for chunk in chunks]
