"""Hudi's bloom filters, byte for byte: build one, read one, ask it for many
keys."""

from __future__ import annotations

import base64
import binascii
import importlib
import math
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen
from hoodoo.errors import CorruptTableError
from hoodoo.options.option import OptionSource

from hoodoo_formats import options as keys
from hoodoo_formats.murmur import BLOCK, Rounds, UInt32s, rounds


def _compiled() -> Any:
    """The same loops in C (``pip install hoodoo[fast]``): the bits are the same. None where they
    are not installed."""
    try:
        return importlib.import_module("hoodoo_native")
    except ImportError:
        return None


native = _compiled()

Bits = npt.NDArray[np.uint8]

SIMPLE = "SIMPLE"
DYNAMIC = "DYNAMIC_V0"
_ROW = struct.Struct(">iiBi")  # version -1, hashes, hash type 1 (murmur), bits
_MOST_HASHES = 1024  # of a rate of 1e-300; each is a step for every key that is looked up
_DYNAMIC = struct.Struct(">iii")  # keys a row is made for, keys in the last row, rows
_HEAD_TEXT = 64  # characters of base64 that have all before the bits
# Smallest number of keys a filter is made for, so that a small file may grow a little for free.
_MIN_KEYS = 1000
# 16 MiB in a footer, i.e. 3.1 M keys at the default rate; more keys raise the rate of false
# positives instead. Parquet readers refuse footers somewhere below 100 MB.
_MAX_BITS = 1 << 27
_FEW = 20_000  # bits that are set in one call


@frozen
class BloomOptions:
    """How filters are made.

    Hudi makes every filter for ``hoodie.index.bloom.num_entries`` keys (60000), whatever the file
    holds. ``entries`` None, our default, makes it for the keys that are there; any reader takes
    the size from the filter itself. ``max_entries`` bounds the keys a filter is sized for.
    """

    kind: str = keys.BLOOM_TYPE.initial
    fpp: float = keys.BLOOM_FPP.initial
    entries: int | None = None
    max_entries: int | None = None

    @staticmethod
    def from_settings(settings: OptionSource) -> BloomOptions:
        """Read Hudi's names. Raises ConfigError for a value that is not usable."""
        return BloomOptions(
            settings.value(keys.BLOOM_TYPE),
            settings.value(keys.BLOOM_FPP),
            settings.given(keys.BLOOM_ENTRIES),
            settings.given(keys.BLOOM_MOST),
        )


@frozen(eq=False)
class BloomFilter:
    """A parsed filter: ``rows`` hold ``size`` bits each, packed, least significant bit first."""

    hashes: int
    size: int
    rows: tuple[Bits, ...]

    def might_contain(self, keys: pa.Array | pa.ChunkedArray) -> pa.BooleanArray:
        """False where a key is certainly not in the filter (and for a null key); as long as
        ``keys``."""
        found = np.zeros(len(keys), bool)
        start = 0
        for chunk in _chunks(keys):
            here = found[start : start + len(chunk)]
            for row in self.rows:
                if native is not None:
                    here |= native.might_contain(chunk, self.hashes, self.size, row).view(bool)
                    continue
                for block in rounds(chunk):
                    here[self._in_row(row, block)] = True
            start += len(chunk)
        return pa.array(found)

    def _in_row(self, row: Bits, block: Rounds) -> npt.NDArray[np.intp]:
        for _ in range(self.hashes):
            places = block.next(self.size)
            hit = (row[places >> np.uint32(3)] >> (places & np.uint32(7)).astype(np.uint8)) & 1
            chosen = np.flatnonzero(hit)
            if len(chosen) < len(hit):
                block.keep(chosen)
            if not len(chosen):
                break
        return block.rows


def text_bytes(rows: int, options: BloomOptions) -> int:
    """About the length of :func:`build`'s text for ``rows`` keys."""
    sized = options.entries or max(rows, _MIN_KEYS)
    if options.max_entries is not None and options.entries is None:
        sized = min(sized, options.max_entries)
    count = 1
    if options.entries is not None:
        count = min(-(-rows // sized), -(-(options.max_entries or 100_000) // sized))
    bits = min(sized * -math.log(options.fpp) / math.log(2) ** 2, _MAX_BITS)
    return int(max(1, count) * bits / 8 * 4 / 3)


def build(keys: pa.Array | pa.ChunkedArray, options: BloomOptions | None = None) -> bytes:
    """The footer text (base64) of a filter that holds ``keys`` (strings; nulls are left out)."""
    options = options or BloomOptions()
    count = len(keys) - keys.null_count
    per_row = options.entries or max(count, _MIN_KEYS)
    if options.entries is None and options.max_entries is not None:
        per_row = min(per_row, max(options.max_entries, _MIN_KEYS))
    size = min(math.ceil(per_row * (-math.log(options.fpp) / math.log(2) ** 2)), _MAX_BITS)
    hashes = math.ceil(size * math.log(2) / per_row)
    head = _ROW.pack(-1, hashes, 1, size)
    if options.kind == SIMPLE:
        return base64.b64encode(head + _filled(_chunks(keys), hashes, size).tobytes())
    last, parts = count, [_chunks(keys)]
    if options.entries is not None:
        last, parts = _dealt(keys, per_row, options.max_entries or 100_000)
    out = [head, _DYNAMIC.pack(per_row, last, len(parts))]
    for part in parts:
        out += [head, _filled(part, hashes, size).tobytes()]
    return base64.b64encode(b"".join(out))


def _dealt(
    keys: pa.Array | pa.ChunkedArray, per_row: int, limit: int
) -> tuple[int, list[list[pa.Array]]]:
    """Keys by row as Hudi's dynamic filter deals them, and its count of keys in the last row.

    A full row is followed by a new one until the rows are made for ``limit`` keys; then one more
    key goes to the first row, and all others to the rows in turn.
    """
    chunked = keys if isinstance(keys, pa.ChunkedArray) else pa.chunked_array([keys])
    chunked = chunked.drop_null()
    rows = max(1, min(-(-len(chunked) // per_row), -(-limit // per_row)))
    parts = [list(chunked.slice(i * per_row, per_row).chunks) for i in range(rows)]
    rest = chunked.slice(rows * per_row)
    if len(rest):
        parts[0] += rest.slice(0, 1).chunks
        turn = np.arange(len(rest) - 1) % rows
        for i in range(rows):
            parts[i] += rest.slice(1).take(pa.array(np.flatnonzero(turn == i))).chunks
    return len(chunked) - (rows - 1) * per_row, parts


def _filled(chunks: Iterable[pa.Array], hashes: int, size: int) -> Bits:
    """The bits of one row, packed: what they take is small enough for a processor's cache to hold,
    or most of it. A byte a bit would spare reading them, and was a third slower, as it is eight
    times as large."""
    bits = np.zeros((size + 7) // 8, np.uint8)
    if native is not None:
        for chunk in chunks:
            native.fill(chunk, hashes, size, bits)
        return bits
    places = np.empty(BLOCK, np.int64)
    bit, found = np.empty(BLOCK, np.uint8), np.empty(BLOCK, np.uint8)
    for chunk in chunks:
        for block in rounds(chunk):
            n = len(block.rows)
            if n * hashes <= _FEW:
                chosen = block.all(size, hashes)
                bit_of = np.left_shift(np.uint8(1), (chosen & np.uint32(7)).astype(np.uint8))
                np.bitwise_or.at(bits, chosen >> np.uint32(3), bit_of)
                continue
            for _ in range(hashes):
                _set(bits, block.next(size), places[:n], bit[:n], found[:n])
    return bits


def _set(
    bits: Bits, chosen: UInt32s, places: npt.NDArray[np.int64], bit: Bits, found: Bits
) -> None:
    """Set the bits ``chosen``. The other arrays are as long, and hold nothing that matters."""
    np.bitwise_and(chosen, np.uint32(7), out=bit, casting="unsafe")
    np.left_shift(np.uint8(1), bit, out=bit)
    np.right_shift(chosen, np.uint32(3), out=places, casting="unsafe")
    # Clipping spares the check of bounds.
    bits.take(places, out=found, mode="clip")
    found |= bit
    bits.put(places, found, mode="clip")
    # Where two bits lie in one byte, the second has overwritten the first: few do.
    bits.take(places, out=found, mode="clip")
    found &= bit
    if np.count_nonzero(found) < len(found):
        lost = np.flatnonzero(found == 0)
        np.bitwise_or.at(bits, places[lost], bit[lost])


def parse(text: str | bytes, kind: str = DYNAMIC, obj: str = "bloom filter") -> BloomFilter:
    """The filter in a footer. Raises CorruptTableError naming ``obj`` if it is none."""
    try:
        return _parsed(base64.b64decode(text, validate=True), kind)
    except (ValueError, struct.error, binascii.Error) as error:
        raise CorruptTableError(
            obj,
            f"the footer holds no {kind} bloom filter ({error}).",
            "Restore the file, or rewrite it by clustering the table.",
        ) from error


def _parsed(data: bytes | bytearray, kind: str) -> BloomFilter:
    hashes, size, head, count = _described(data, kind)
    step = _ROW.size + (size + 7) // 8
    start = head - _ROW.size
    if len(data) != start + count * step:
        raise ValueError(f"{len(data)} bytes instead of {start + count * step}")
    content = np.frombuffer(data, np.uint8)
    heads = [head + i * step for i in range(count)]
    return BloomFilter(hashes, size, tuple(content[h : h + step - _ROW.size] for h in heads))


def _described(data: bytes | bytearray, kind: str) -> tuple[int, int, int, int]:
    """What the first bytes of a filter say: hashes, bits of a row, bytes before the first row's
    bits, and rows."""
    version, hashes, hash_type, size = _ROW.unpack_from(data)
    head, count = _ROW.size, 1
    if kind.upper() != SIMPLE:
        _, _, count = _DYNAMIC.unpack_from(data, _ROW.size)
        head += _DYNAMIC.size + _ROW.size
    if version != -1 or hash_type != 1 or size <= 0 or not 0 < hashes <= _MOST_HASHES or count < 1:
        raise ValueError(f"version {version}, hash type {hash_type}, {size} bits, {hashes} hashes")
    return hashes, size, head, count


@frozen(eq=False)
class Growing:
    """The filter of an older version of a file, to which the keys of new rows are added: a file
    that is rewritten for the sake of a few rows needs not hash all its keys again. ``text``: as the
    footer has it; of megabytes, it is decoded only if there are new keys. ``head``: bytes before
    the bits."""

    kind: str
    text: str
    head: int
    hashes: int
    size: int

    @staticmethod
    def from_footer(text: str, kind: str, options: BloomOptions, keys: int) -> Growing | None:
        """None if the filter is not what ``options`` would make for ``keys`` keys, or nearly so."""
        if options.entries is not None or kind.upper() != options.kind.upper():
            return None
        try:
            hashes, size, head, count = _described(base64.b64decode(text[:_HEAD_TEXT]), kind)
        except (ValueError, struct.error, binascii.Error):
            return None
        wanted = -math.log(options.fpp) / math.log(2) ** 2  # bits for each key
        # A third more keys than it was made for: 1e-9 becomes 2e-7. Beyond that a new one is due.
        most = min(keys, options.max_entries or keys) * wanted / 1.3
        if count != 1 or size < min(most, _MAX_BITS):
            return None
        if hashes != math.ceil(math.log(2) * wanted) and size < _MAX_BITS:
            return None
        if len(text) != -(-(head + (size + 7) // 8) // 3) * 4:
            return None
        return Growing(kind.upper(), text, head, hashes, size)

    def with_keys(self, keys: pa.ChunkedArray) -> bytes | None:
        """The footer text (base64) of the filter with ``keys`` (strings without nulls) added. None
        where the text that it had is none."""
        if not len(keys):
            return self.text.encode()
        try:
            data = bytearray(base64.b64decode(self.text, validate=True))
            _parsed(data, self.kind)
        except (ValueError, struct.error, binascii.Error):
            return None
        bits = np.frombuffer(data, np.uint8, offset=self.head)
        bits |= _filled(_chunks(keys), self.hashes, self.size)
        if self.kind != SIMPLE:
            per_row, last, rows = _DYNAMIC.unpack_from(data, _ROW.size)
            _DYNAMIC.pack_into(data, _ROW.size, per_row, last + len(keys), rows)
        return base64.b64encode(data)


def _chunks(keys: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return list(keys.chunks) if isinstance(keys, pa.ChunkedArray) else [keys]
