"""What is read of an HFile when it is opened: trailer, indexes, file info."""

from __future__ import annotations

from collections.abc import Mapping
from operator import le
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen
from hoodoo.errors import CorruptTableError, UnsupportedTableError

from hoodoo_metadata.hfile.blocks import Stored, block_size, contents, lacks_checksum
from hoodoo_metadata.hfile.format import (
    HEADER_BYTES,
    INFO,
    INNER,
    LEAF,
    MEMSTORE,
    ROOT,
    TRAILER_BYTES,
    TRAILER_MAGIC,
    VERSION,
    Codec,
    Nonsense,
    Trailer,
    content,
    fields,
    info_of,
    varint,
    vint,
)
from hoodoo_metadata.hfile.java_order import in_java_order
from hoodoo_metadata.hfile.window import FileWindow

# Read from the file's end at once: the trailer, and most often all that is needed to open the file.
TAIL = 64 << 10
_LEVELS = 8
_NAMES = {item.value: item.name for item in Codec}

# hudi-rs gives a file without entries one empty block, which the index names with an empty key and
# does not count.
_KEYLESS = 13
_OUTSIDE = "the index names a block outside of the file"
_FALLS = "the keys of the index don't ascend"

Numbers = npt.NDArray[np.int64]


@frozen
class Index:
    """Where blocks are (``offsets`` and ``sizes``, headers included) and ``keys`` (binary) that are
    not greater than their first keys, ascending."""

    offsets: Numbers
    sizes: Numbers
    keys: pa.BinaryArray


@frozen
class HFileLayout:
    """``levels`` of index: with more than one, ``index`` names blocks of the next one.

    ``end`` is where data and meta blocks end. ``tail`` are the last bytes of the file, which begin
    at ``tail_at`` and were read already. ``unsummed``: zeros stand where the checksum of the index
    belongs."""

    codec: Codec
    entries: int
    levels: int
    index: Index
    meta: Mapping[str, tuple[int, int]]
    info: Mapping[str, bytes]
    end: int
    tail: bytes
    tail_at: int
    unsummed: bool = False


def layout_of(window: FileWindow) -> HFileLayout:
    """Read what is needed, in one request for most files.

    Raises CorruptTableError, and UnsupportedTableError for another version, codec or encryption.
    """
    tail_at = max(0, window.size - TAIL)
    tail = window.read(tail_at, window.size)
    trailer = _trailer(window, tail)
    load_at, stop = _number(window, trailer, Trailer.LOAD_AT), window.size - TRAILER_BYTES
    if not 0 <= load_at <= stop - 3 * HEADER_BYTES:
        raise window.corrupt(stop, f"its load-on-open section is said to begin at {load_at}")
    if load_at < tail_at:
        tail, tail_at = window.read(load_at, tail_at) + tail, load_at
    codec = _codec(window, trailer)
    at, found, unsummed = load_at, [], False
    for magic in (ROOT, ROOT, INFO):
        begin = at - tail_at
        size = block_size(window, at, tail[begin : begin + HEADER_BYTES])
        if at + size > stop:
            raise window.corrupt(at, "it runs into the trailer")
        if magic is INFO and at != _number(window, trailer, Trailer.INFO_AT):
            raise window.corrupt(stop, "it says that file info is elsewhere")
        block = Stored(at, tail[begin : begin + size])
        found.append((at, bytes(contents(window, [block], magic, codec)[0])))
        unsummed = unsummed or lacks_checksum(block)
        at += size
    (root_at, root), (meta_at, meta), (info_at, packed) = found
    levels = _number(window, trailer, Trailer.LEVELS)
    if not 1 <= levels <= _LEVELS:
        raise window.corrupt(stop, f"{levels} is no number of index levels")
    count, metas = (_number(window, trailer, f) for f in (Trailer.INDEX_COUNT, Trailer.META_COUNT))
    rest = load_at if levels == 1 else None
    try:
        index = root_index(root, count if rest is not None else None, load_at)
    except Nonsense as error:
        raise window.corrupt(root_at, str(error)) from error
    try:
        named = _metas(meta, metas, load_at)
    except Nonsense as error:
        raise window.corrupt(meta_at, str(error)) from error
    try:
        info = info_of(packed)
    except Nonsense as error:
        raise window.corrupt(info_at, str(error)) from error
    if any(info.get(MEMSTORE, b"")):
        raise UnsupportedTableError(
            f"HFile {window.name}", "its rows have versions, which no table of Hudi's has.", ""
        )
    entries = _number(window, trailer, Trailer.ENTRIES)
    # Whatever the codec, an entry is more than a thousandth of the bytes it lies in.
    if not 0 <= entries <= 100 * window.size or bool(entries) != bool(len(index.keys)):
        raise window.corrupt(stop, f"{entries} is no number of entries")
    return HFileLayout(codec, entries, levels, index, named, info, load_at, tail, tail_at, unsummed)


def _trailer(window: FileWindow, tail: bytes) -> dict[int, int | bytes]:
    at = window.size - TRAILER_BYTES
    if at < 0 or not tail[-TRAILER_BYTES:].startswith(TRAILER_MAGIC):
        raise CorruptTableError(
            f"HFile {window.name}",
            f"the last {TRAILER_BYTES} of its {window.size} bytes are no trailer.",
            window.corrupt(0, "").fix,
        )
    data = tail[-TRAILER_BYTES:]
    version = int.from_bytes(data[-3:], "big")  # the byte before is a minor version
    if version != VERSION:
        raise UnsupportedTableError(
            f"HFile {window.name}",
            f"it has version {version} of the format; {VERSION} is read.",
            "Have Hudi compact the table, which writes it again.",
        )
    try:
        size, begin = varint(data, len(TRAILER_MAGIC))
        if size > TRAILER_BYTES - 4 - begin:
            raise Nonsense("it is longer than its place")
        return dict(fields(data[begin : begin + size]))
    except Nonsense as error:
        raise window.corrupt(at, f"its trailer makes no sense: {error}") from error


def _number(window: FileWindow, trailer: Mapping[int, Any], field: Trailer) -> int:
    found = trailer.get(field, 0)
    if not isinstance(found, int):
        raise window.corrupt(window.size - TRAILER_BYTES, f"its {field.name} is no number")
    return found


def _codec(window: FileWindow, trailer: Mapping[int, int | bytes]) -> Codec:
    found = trailer.get(Trailer.CODEC, Codec.NONE)
    if found not in _NAMES or trailer.get(Trailer.ENCRYPTION):
        raise UnsupportedTableError(
            f"HFile {window.name}",
            f"it is encrypted, or compressed with codec number {found!r}; "
            f"{' and '.join(_NAMES.values())} are read.",
            "Have Hudi write it with hoodie.hfile.compression.algorithm=gzip.",
        )
    return Codec(found)


def root_index(data: bytes, count: int | None, end: int) -> Index:
    """A root index of ``count`` blocks that lie before ``end``; without ``count``, of as many as
    fit, and 16 bytes may follow, which point to the middle of the file. Raises Nonsense."""
    if count == 0 and len(data) == _KEYLESS and not data[-1]:
        return _checked([], [], [], end)
    alike = _alike(data, count, end) if count else None
    if alike is not None:
        return alike
    offsets: list[int] = []
    sizes: list[int] = []
    keys: list[bytes] = []
    at, size = 0, len(data)
    try:
        while at < size and len(keys) != count:
            if count is None and size - at == 16:
                break
            length, begin = vint(data, at + 12)
            if begin + length > size:
                raise Nonsense("a key of the index is longer than the index")
            offsets.append(int.from_bytes(data[at : at + 8], "big"))
            sizes.append(int.from_bytes(data[at + 8 : at + 12], "big"))
            keys.append(content(data[begin : begin + length]))
            at = begin + length
    except IndexError as error:
        raise Nonsense("the index is cut short") from error
    if count is not None and (len(keys) != count or at != size):
        raise Nonsense(f"the index has not the {count} blocks that the trailer says")
    return _checked(offsets, sizes, keys, end)


def _alike(data: bytes, count: int, end: int) -> Index | None:
    """The same of one whose keys are equally long, all at once; None if they are not, or if
    anything is not as it should be."""
    each, rest = divmod(len(data), count)
    if rest or each < 16:
        return None
    length, begin = vint(data, 12)
    if begin + length != each or length < 2:
        return None
    rows = np.frombuffer(data, np.uint8).reshape(count, each)
    if (rows[:, 12 : begin + 2] != rows[0, 12 : begin + 2]).any():
        return None
    size = int.from_bytes(data[begin : begin + 2], "big")
    if not 0 < size <= length - 2:
        return None
    offsets = np.ascontiguousarray(rows[:, :8]).view(">u8")[:, 0]
    if (offsets > end).any():
        return None
    sizes = np.ascontiguousarray(rows[:, 8:12]).view(">u4")[:, 0].astype(np.int64)
    heads = np.ascontiguousarray(rows[:, begin + 2 : begin + 2 + size])
    seen = heads.view(f"S{size}")[:, 0]
    # NumPy compares them without the zeros at their ends, which is the same where they are equally
    # long.
    if (seen[:-1] > seen[1:]).any() and not in_java_order([row.tobytes() for row in heads]):
        raise Nonsense(_FALLS)
    starts = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * np.int32(size))
    keys = pa.Array.from_buffers(pa.binary(), count, [None, starts, pa.py_buffer(heads)])
    return _inside(offsets.astype(np.int64), sizes, keys, end)


def leaf_index(data: bytes, end: int) -> Index:
    """A block of a deeper level of an index, whose blocks lie before ``end``. Raises Nonsense."""
    count = int.from_bytes(data[:4], "big")
    begin = 4 + 4 * (count + 1)
    if not 0 < count <= len(data) // 12 or begin > len(data):
        raise Nonsense(f"the index claims {count} blocks")
    places = np.frombuffer(data, ">i4", count + 1, 4).astype(np.int64)
    if places[0] or (np.diff(places) < 14).any() or begin + places[-1] != len(data):
        raise Nonsense("the places of the index contradict each other")
    places += begin
    starts = places[:-1].tolist()
    keys = [content(data[a + 12 : b]) for a, b in zip(starts, places[1:].tolist())]
    offsets = [int.from_bytes(data[a : a + 8], "big") for a in starts]
    return _checked(
        offsets, [int.from_bytes(data[a + 8 : a + 12], "big") for a in starts], keys, end
    )


def deeper(window: FileWindow, layout: HFileLayout) -> Index:
    """The index of all data blocks."""
    index = layout.index
    for level in range(layout.levels - 1, 0, -1):
        magic = LEAF if level == 1 else INNER
        parts: list[Index] = []
        for offset, size in zip(index.offsets.tolist(), index.sizes.tolist()):
            block = Stored(offset, window.read(offset, offset + size))
            data = bytes(contents(window, [block], magic, layout.codec)[0])
            try:
                parts.append(leaf_index(data, layout.end))
            except Nonsense as error:
                raise window.corrupt(offset, str(error)) from error
        index = Index(
            np.concatenate([p.offsets for p in parts]),
            np.concatenate([p.sizes for p in parts]),
            pa.concat_arrays([p.keys for p in parts]),
        )
    return index


def _checked(offsets: list[int], sizes: list[int], keys: list[bytes], end: int) -> Index:
    if max(offsets, default=0) > end:  # perhaps too big for NumPy
        raise Nonsense(_OUTSIDE)
    if not all(map(le, keys, keys[1:])) and not in_java_order(keys):
        raise Nonsense(_FALLS)
    places, lengths = np.asarray(offsets, np.int64), np.asarray(sizes, np.int64)
    return _inside(places, lengths, pa.array(keys, pa.binary()), end)


def _inside(offsets: Numbers, sizes: Numbers, keys: pa.BinaryArray, end: int) -> Index:
    if ((offsets > end) | (sizes > end) | (sizes < HEADER_BYTES)).any():
        raise Nonsense(_OUTSIDE)
    ends = offsets + sizes
    if (ends[:-1] > offsets[1:]).any() or (len(keys) and ends[-1] > end):
        raise Nonsense("the blocks that the index names overlap")
    return Index(offsets, sizes, keys)


def _metas(data: bytes, count: int, end: int) -> dict[str, tuple[int, int]]:
    """Names of meta blocks, with offset and size. Here a key is a name, with nothing around it."""
    found: dict[str, tuple[int, int]] = {}
    at = 0
    try:
        while at < len(data):
            offset, size = int.from_bytes(data[at : at + 8], "big"), data[at + 8 : at + 12]
            length, at = vint(data, at + 12)
            name = data[at : at + length]
            if len(name) != length or offset + int.from_bytes(size, "big") > end:
                raise Nonsense("the index of meta blocks leads out of the file")
            found[name.decode("utf-8", "replace")] = offset, int.from_bytes(size, "big")
            at += length
    except IndexError as error:
        raise Nonsense("the index of meta blocks is cut short") from error
    if len(found) != count:
        raise Nonsense(f"there are not the {count} meta blocks that the trailer says")
    return found
