"""One frame of a log file: is there a block at this offset, and how is that known?

A frame says three times how long it is. *size*, after the magic, counts the bytes that follow it;
*trailing*, the last field, counts the block from its magic (both int64); and the *chain* of
headers, content length and footers leads from the magic to the trailing length. A block is whole if
all three agree. If two of them agree it is whole as well, on these conditions, because a damage
would have to produce the same 64 bits by chance:

* trailing and chain agree: the size field is damaged. The trailing length fits to the offset of the
  magic, so it cannot be that of another block.
* size and trailing agree, headers make sense and the content begins (and Parquet's ends) as its
  kind does: the content length is damaged, and follows from the others.
* size and chain agree, the content begins and ends as its kind does, the footer is as it should be,
  and a magic or the end of the file follows: the trailing length is damaged; *unless* the block was
  cut short, and another whole block, which was appended, begins inside and ends at the same byte.
  Then the other block is read.

Where size and trailing agree and the headers make no sense, the block is lost, but its extent is
known: nothing inside is taken for a block. Headers make sense if their keys are known and occur
once, the block has those of its kind, an instant is made of digits and a schema is JSON.

What can't be seen: the format has no checksum, so a changed digit of an instant, or letter of a
schema, is another instant or schema (13 % of flips in the header texts of a small log; none of
flips elsewhere in a frame go unseen). Of flips of one bit in contents of 500 lineitem rows reading
them reports 26 % in Avro blocks and 33 % in delete blocks, where lengths, branches and UTF-8
contradict each other; the rest are other values. Our Parquet blocks carry a checksum in each page:
84 % are reported, 16 % change nothing that is read, and 0.4 % of bits (in the footer) change
rows."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Container
from typing import Any

from attrs import frozen
from hoodoo.model.log_block import FRAME_BYTES, MAGIC, BlockKind, Header, LogBlock

_LONG = struct.Struct(">q")
_INT = struct.Struct(">i")
_FIXED = struct.Struct(">qii")  # size, format version, kind
_PAIR = struct.Struct(">ii")
_VERSION = 1
_MAX_HEADERS = 64  # more than Hudi has; a damaged count must not lead to a long loop
# Avro and delete blocks begin with the version of their content, which has not passed 3.
_CONTENT_VERSIONS = range(1, 4)
_HFILE = (b"DATABLK", b"METABLK", b"IDXROOT", b"FILEINF", b"TRABLK", b"BLMFBLK")
_DATA_NEEDS = (Header.INSTANT_TIME, Header.SCHEMA)
_NEEDS: dict[int, tuple[Header, ...]] = {
    BlockKind.COMMAND: (Header.INSTANT_TIME, Header.TARGET_INSTANT_TIME, Header.COMMAND_TYPE),
    BlockKind.DELETE: (Header.INSTANT_TIME,),
    BlockKind.AVRO: _DATA_NEEDS,
    BlockKind.HFILE: _DATA_NEEDS,
    BlockKind.PARQUET: _DATA_NEEDS,
    BlockKind.CDC: _DATA_NEEDS,
}
_KNOWN = frozenset(Header)

Fetch = Callable[[int, int], bytes]  # the bytes of the file from a start to an end


@frozen
class Frame:
    """What is at an offset. ``block`` None: nothing that is provably whole; ``extent`` is then how
    many bytes are known to belong to the damaged block, 0 if that is not known either. ``damage``
    is empty if all is well."""

    block: LogBlock | None
    extent: int = 0
    damage: str = ""


class _NotABlock(Exception):
    """The headers, or the content that they announce, cannot be those of a block."""


def frame(
    fetch: Fetch, start: int, end: int, magic: bool = True, more: Container[int] = ()
) -> Frame:
    """The frame at ``start`` of a file of ``end`` bytes, of which only the frame is read.

    ``magic`` False: the magic is known to be damaged, so that everything else has to be whole.
    ``more`` are kinds of data blocks beside Hudi's."""
    if end - start < FRAME_BYTES:
        return Frame(None, 0, f"the file ends {end - start} bytes after the start of a block")
    size, version, ordinal = _FIXED.unpack(fetch(start + 6, start + 22))
    fits = FRAME_BYTES - 14 <= size <= end - start - 14
    tail = _LONG.unpack(fetch(start + size + 6, start + size + 14))[0] if fits else -1
    agreed = fits and tail == size + 6
    extent = size + 14 if agreed else 0
    try:
        if version != _VERSION and not agreed:
            raise _NotABlock(f"its format version is {version}, not {_VERSION}")
        kind = _kind(ordinal, more)
        headers, at = _headers(fetch, start + 22, end, kind)
        length = _LONG.unpack(_some(fetch, at, at + 8, end))[0]
        at += 8
        chained = 0 <= length <= end - at - 12
        footer = chained and fetch(at + length, at + length + 4) == bytes(4)
        last = _LONG.unpack(fetch(at + length + 4, at + length + 12))[0] if footer else -1
        if not (footer and at + length + 4 - start == last):
            found = _without_chain(fetch, start, end, kind, headers, at, length, size, agreed, more)
            return found if magic else Frame(None, 0, found.damage)
        check_content(fetch, kind, at, length)
    except _NotABlock as error:
        return Frame(None, extent, str(error))
    block = LogBlock(kind, start, last + 8, headers, at, length)
    if size != last - 6:
        why = "the size after its magic is wrong; its contents and its trailing length agree"
        return Frame(block if magic and version == _VERSION else None, 0, why)
    if version != _VERSION:
        return Frame(block, 0, f"its format version is {version}; its three lengths agree")
    if not magic:
        return Frame(block, 0, "its magic is wrong; its three lengths agree")
    return Frame(block)


def _without_chain(
    fetch: Fetch,
    start: int,
    end: int,
    kind: int,
    headers: dict[int, str],
    at: int,
    length: int,
    size: int,
    agreed: bool,
    more: Container[int],
) -> Frame:
    """The frame if its headers are good, and its content length does not lead to a trailing length
    that fits."""
    stop = start + size + 14
    if agreed:
        rest = stop - 12 - at
        footer = fetch(stop - 12, stop - 8) == bytes(4)
        if rest < 0 or not (footer or rest == length):
            return Frame(None, size + 14, "its content length and footer are wrong")
        try:
            check_content(fetch, kind, at, rest)
        except _NotABlock as error:
            return Frame(None, size + 14, f"its content length is wrong, and {error}")
        block = LogBlock(kind, start, size + 14, headers, at, rest)
        if rest == length:
            return Frame(block, 0, "its footer is wrong; its three lengths agree")
        return Frame(
            block, 0, "its content length is wrong; its size and its trailing length agree"
        )
    if length < 0 or at + length + 12 != stop or stop > end:
        if size > end - start - 14:
            return Frame(None, 0, f"its size, {size} bytes, runs past the end of the file")
        return Frame(None, 0, "its size, content length and trailing length contradict each other")
    try:
        check_content(fetch, kind, at, length)
    except _NotABlock as error:
        return Frame(None, 0, f"its trailing length is wrong, and {error}")
    follows = stop == end or fetch(stop, min(stop + 6, end)) == MAGIC
    if not follows or fetch(stop - 12, stop - 8) != bytes(4):
        return Frame(None, 0, "its trailing length is wrong and nothing that fits follows it")
    if _ends_another(fetch, start, stop, more):
        return Frame(None, 0, "it was cut short: another block begins within its length")
    block = LogBlock(kind, start, size + 14, headers, at, length)
    return Frame(block, 0, "its trailing length is wrong; its size and its contents agree")


def _ends_another(fetch: Fetch, start: int, stop: int, more: Container[int]) -> bool:
    """Whether a whole block that begins after ``start`` ends at ``stop``."""
    within = stop - 8 - _LONG.unpack(fetch(stop - 8, stop))[0]
    if not start < within <= stop - FRAME_BYTES or fetch(within, within + 6) != MAGIC:
        return False
    found = frame(fetch, within, stop, more=more).block
    return found is not None and found.offset + found.size == stop


def _kind(ordinal: int, more: Container[int]) -> int:
    if ordinal in _NEEDS:
        return BlockKind(ordinal)
    if ordinal not in more:
        raise _NotABlock(f"{ordinal} is no kind of block")
    return ordinal


def _some(fetch: Fetch, start: int, stop: int, end: int) -> bytes:
    if stop > end:
        raise _NotABlock("its headers run past the end of the file")
    return fetch(start, stop)


def _headers(fetch: Fetch, at: int, end: int, kind: int) -> tuple[dict[int, str], int]:
    """The headers, checked, and where they end."""
    (count,) = _INT.unpack(_some(fetch, at, at + 4, end))
    at += 4
    if not 0 <= count <= _MAX_HEADERS:
        raise _NotABlock(f"it claims {count} headers")
    found: dict[int, str] = {}
    for _ in range(count):
        key, length = _PAIR.unpack(_some(fetch, at, at + 8, end))
        at += 8
        if key in found or key not in _KNOWN:
            raise _NotABlock(f"a header's key is {key}")
        if not 0 <= length <= end - at:
            raise _NotABlock(f"a header claims {length} bytes")
        try:
            found[key] = fetch(at, at + length).decode()
        except UnicodeDecodeError as error:
            raise _NotABlock("a header is no text") from error
        at += length
    _check_headers(found, kind)
    return found, at


def _check_headers(headers: dict[int, str], kind: int) -> None:
    for key in _NEEDS.get(kind, _DATA_NEEDS):
        if key not in headers:
            raise _NotABlock(f"its header {key.name} is missing")
    for key in (Header.INSTANT_TIME, Header.TARGET_INSTANT_TIME):
        if key in headers and not _digits(headers[key]):
            raise _NotABlock(f"its header {key.name} is no instant")
    if kind is BlockKind.COMMAND and not _digits(headers[Header.COMMAND_TYPE]):
        raise _NotABlock("its command is none")
    if Header.SCHEMA in headers:
        try:
            decoded: Any = json.loads(headers[Header.SCHEMA])
        except (ValueError, RecursionError) as error:
            raise _NotABlock("its schema is not JSON") from error
        if not isinstance(decoded, (dict, str)):
            raise _NotABlock("its schema is no Avro schema")


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def check_content(fetch: Fetch, kind: int, at: int, length: int) -> None:
    """That the content can be of its kind, told by a few bytes at its ends."""
    stop = at + length
    if kind is BlockKind.PARQUET:
        if length < 12 or fetch(at, at + 4) != b"PAR1" or fetch(stop - 4, stop) != b"PAR1":
            raise _NotABlock("its content is no Parquet file")
    elif kind is BlockKind.HFILE:
        if not fetch(at, min(at + 8, stop)).startswith(_HFILE):
            raise _NotABlock("its content is no HFile")
    elif kind is BlockKind.COMMAND:
        if length:
            raise _NotABlock("a command has no content")
    elif kind in _NEEDS:
        if length < 8:
            raise _NotABlock("its content is too short")
        version, count = _PAIR.unpack(fetch(at, at + 8))
        if version not in _CONTENT_VERSIONS or count < 0:
            raise _NotABlock(f"the version of its content is {version}")
        if kind is BlockKind.DELETE:
            if count + 8 != length:
                raise _NotABlock("the length of its list of deletes is wrong")
        elif 4 * count > length - 8:  # the length of a row has 4 bytes
            raise _NotABlock(f"its content can't hold {count} rows")
