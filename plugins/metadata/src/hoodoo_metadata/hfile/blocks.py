"""Blocks of an HFile: their headers, checksums and contents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hoodoo_metadata.hfile.format import HEADER, HEADER_BYTES, Checksum, Codec, checksums
from hoodoo_metadata.hfile.inflate import InflateError, inflate
from hoodoo_metadata.hfile.window import FileWindow

# Deflate makes at most 1032 bytes of one; a size that claims more is damaged, and not allocated.
_RATIO = 1032
Bytes = bytes | memoryview


class Stored(NamedTuple):
    """A block as it is in the file, at ``offset`` of it, with its header."""

    offset: int
    data: Bytes


def contents(
    window: FileWindow, blocks: Sequence[Stored], magic: bytes, codec: Codec
) -> list[Bytes]:
    """What is in ``blocks``, all of the kind ``magic``, checked and decompressed. A chunk whose
    stored checksum is 0 counts as one without: hudi-rs writes zeros there, and Hudi's readers do
    not look.

    Raises CorruptTableError for one that is damaged.
    """
    found: list[Bytes] = []
    asked: dict[Checksum, list[tuple[int, int, Bytes]]] = {}
    for block in blocks:
        data = block.data
        plain, kind, chunk, end = _header(window, block, magic)
        if kind is not Checksum.NULL:
            _ask(window, block, chunk, end, asked.setdefault(kind, []))
        found.append(_plain(window, block.offset, data[HEADER_BYTES:end], plain, codec))
    for kind, chunks in asked.items():
        answers = checksums(kind, [chunk for _, _, chunk in chunks])
        for (offset, stored, _), answer in zip(chunks, answers):
            if stored != answer:
                raise window.corrupt(offset, f"its checksum ({kind.name}) is not that of its bytes")
    return found


def lacks_checksum(block: Stored) -> bool:
    """Whether the block says that it has checksums, and the first one is 0. Not checked."""
    kind, end = block.data[24], int.from_bytes(block.data[29:33], "big")
    return kind != Checksum.NULL and not any(block.data[end : end + 4])


def plain_size(block: Stored) -> int:
    """How many bytes its header says are in it. Not checked."""
    return int.from_bytes(block.data[12:16], "big")


def block_size(window: FileWindow, offset: int, data: bytes) -> int:
    """How many bytes the block at ``offset``, whose header ``data`` begins with, has with its
    header."""
    if len(data) < HEADER_BYTES:
        raise window.corrupt(offset, "it is cut short")
    size = int(HEADER.unpack_from(data)[1])
    if not 0 <= size <= window.size - offset - HEADER_BYTES:
        raise window.corrupt(offset, f"its size is {size} bytes")
    return size + HEADER_BYTES


def _header(window: FileWindow, block: Stored, magic: bytes) -> tuple[int, Checksum, int, int]:
    """Plain size, kind of checksum, bytes per checksum, and where content ends; checked."""
    data = block.data
    if len(data) < HEADER_BYTES:
        raise window.corrupt(block.offset, "it is cut short")
    found, size, plain, _, kind, chunk, end = HEADER.unpack_from(data)
    if found != magic:
        raise window.corrupt(block.offset, f"it begins with {found!r}, not {magic!r}")
    if size != len(data) - HEADER_BYTES or not HEADER_BYTES <= end <= len(data):
        raise window.corrupt(block.offset, "its sizes contradict each other")
    if kind not in (0, 1, 2):
        raise window.corrupt(block.offset, f"{kind} is no kind of checksum")
    return plain, Checksum(kind), chunk, end


def _ask(
    window: FileWindow, block: Stored, chunk: int, end: int, into: list[tuple[int, int, Bytes]]
) -> None:
    """Add the chunks that have a checksum: where the block is, what is stored, the bytes."""
    data = block.data
    count = -(-end // chunk) if chunk > 0 else 0
    if chunk <= 0 or end + 4 * count > len(data):
        raise window.corrupt(block.offset, "its checksums are missing")
    for i in range(count):
        if stored := int.from_bytes(data[end + 4 * i : end + 4 * i + 4], "big"):
            into.append((block.offset, stored, data[i * chunk : min((i + 1) * chunk, end)]))


def _plain(window: FileWindow, offset: int, data: Bytes, size: int, codec: Codec) -> Bytes:
    """``data`` decompressed, which has to be ``size`` bytes."""
    if codec is Codec.NONE:
        if size != len(data):
            raise window.corrupt(offset, "its sizes contradict each other")
        return data
    if not 0 <= size <= _RATIO * len(data):
        raise window.corrupt(offset, f"it can't hold {size} bytes")
    try:
        found = inflate(data, size)
    except InflateError as error:
        raise window.corrupt(offset, f"it can't be decompressed ({error})") from error
    if len(found) != size:
        raise window.corrupt(offset, f"it holds {len(found)} bytes, not {size}")
    return found
