"""HFiles as hudi-rs writes them: zeros in the place of checksums, and files without entries."""

from __future__ import annotations

from typing import Any

import pytest
from hoodoo.errors import CorruptTableError
from hoodoo_metadata.hfile import Checksum
from hoodoo_metadata.hfile.format import (
    CHUNK,
    DATA,
    HEADER,
    HEADER_BYTES,
    INFO,
    ROOT,
    TRAILER_BYTES,
    TRAILER_MAGIC,
    Trailer,
    fields,
    put_fields,
    put_info,
    put_varint,
    varint,
)

# Values of several chunks, so that blocks have more than one checksum.
MODEL = {b"key-%03d" % i: bytes([i % 251 + 1]) * 1500 for i in range(60)}


def blocks(data: bytes) -> list[tuple[int, int, int]]:
    """Of each block of the file: where it begins, where its content ends, and how many checksums it has."""
    found, at = [], 0
    while data[at : at + 8] in (DATA, ROOT, INFO):
        _, size, _, _, _, chunk, end = HEADER.unpack_from(data, at)
        found.append((at, at + end, -(-end // chunk)))
        at += HEADER_BYTES + size
    return found


def zeroed(data: bytes) -> bytes:
    out = bytearray(data)
    for _, end, count in blocks(data):
        out[end : end + 4 * count] = bytes(4 * count)
    return bytes(out)


def made_with_sums(made: Any, **settings: Any) -> bytes:
    data = made.data(MODEL, checksum=Checksum.CRC32C, block_bytes=40_000, **settings)
    assert max(count for _, _, count in blocks(data)) > 1
    return bytes(data)


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_zeros_count_as_no_checksum(made: Any, codec: str) -> None:
    data = made.data(MODEL, checksum=Checksum.CRC32C, codec=codec)
    file = made.open(zeroed(data))
    assert dict(made.pairs(file.scan())) == MODEL
    assert file.unsummed
    assert not made.open(data).unsummed
    assert not made.open(made.data(MODEL)).unsummed


@pytest.mark.parametrize("magic", [DATA, ROOT, INFO])
def test_a_checksum_that_is_not_zero_is_compared(made: Any, magic: bytes) -> None:
    data = made_with_sums(made, codec="none")
    _, end, count = next(b for b in blocks(data) if data[b[0] : b[0] + 8] == magic)
    damaged = bytearray(zeroed(data))
    damaged[end + 4 * (count - 1)] = 1  # the last chunk alone has a checksum, a wrong one
    with pytest.raises(CorruptTableError, match="checksum"):
        list(made.open(bytes(damaged)).scan())


def test_a_chunk_without_a_checksum_does_not_hide_damage_of_another(made: Any) -> None:
    data = made_with_sums(made, codec="none")
    at, end, _ = next(b for b in blocks(data) if b[2] > 1)
    damaged = bytearray(data)
    damaged[end : end + 4] = bytes(4)
    assert dict(made.pairs(made.open(bytes(damaged)).scan())) == MODEL
    damaged[at + CHUNK + 100] ^= 1
    with pytest.raises(CorruptTableError, match="checksum"):
        list(made.open(bytes(damaged)).scan())


def block(magic: bytes, content: bytes) -> bytes:
    head = HEADER.pack(
        magic, len(content) + 4, len(content), 0, 2, CHUNK, HEADER_BYTES + len(content)
    )
    return head + content + bytes(4)


def without_entries(key: bytes = b"") -> bytes:
    """The file that hudi-rs makes for a file group of a new record index: one empty block, which the index names and
    the trailer does not count."""
    data = block(DATA, b"")
    index = bytes(8) + len(data).to_bytes(4, "big") + bytes([len(key)]) + key
    out = data + block(ROOT, index)
    out += block(ROOT, b"")
    at = len(out)
    out += block(INFO, put_info({"hfile.LASTKEY": b"", "MAX_MEMSTORE_TS_KEY": bytes(8)}))
    said = {Trailer.INFO_AT: at, Trailer.LOAD_AT: len(data), Trailer.INDEX_COUNT: 0}
    said |= {Trailer.META_COUNT: 0, Trailer.ENTRIES: 0, Trailer.LEVELS: 1, Trailer.CODEC: 2}
    body = put_fields([(int(name), value) for name, value in said.items()])
    trailer = TRAILER_MAGIC + put_varint(len(body)) + body
    return out + trailer.ljust(TRAILER_BYTES - 4, b"\0") + bytes([0, 0, 0, 3])


def test_a_file_without_entries(made: Any) -> None:
    file = made.open(without_entries())
    assert file.entry_count == 0 and not made.pairs(file.scan())
    for how in ("seek", "scan", "auto"):
        assert not made.pairs(file.get(made.keys([b"a", b"b"]), how))
    assert not made.pairs(file.get_prefixes(made.keys([b"a"])))


def test_an_index_of_blocks_that_the_trailer_does_not_count_is_damage(made: Any) -> None:
    with pytest.raises(CorruptTableError, match="0 blocks"):
        made.open(without_entries(b"\0\x01a"))


def test_a_trailer_that_counts_no_entries_of_a_file_that_has_some_is_damage(made: Any) -> None:
    data = made.data({b"a": b"1"})
    at = len(data) - TRAILER_BYTES
    size, begin = varint(data[at:], len(TRAILER_MAGIC))
    said = dict(fields(data[at + begin : at + begin + size]))
    said |= {Trailer.INDEX_COUNT: 0, Trailer.ENTRIES: 0}
    body = put_fields(sorted(said.items()))
    trailer = (TRAILER_MAGIC + put_varint(len(body)) + body).ljust(TRAILER_BYTES - 4, b"\0")
    with pytest.raises(CorruptTableError, match="0 blocks"):
        made.open(data[:at] + trailer + data[-4:])
