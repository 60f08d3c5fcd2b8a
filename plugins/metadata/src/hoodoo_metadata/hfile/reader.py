"""Reading an HFile: all of it, a range, some keys, some prefixes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import DataError

from hoodoo_metadata.hfile.blocks import Bytes, Stored, contents, plain_size
from hoodoo_metadata.hfile.entries import Entries, Room
from hoodoo_metadata.hfile.format import DATA, ENTRIES, LAST_KEY, META, Codec, Nonsense, content
from hoodoo_metadata.hfile.key_heads import Keys, shared
from hoodoo_metadata.hfile.layout import HFileLayout, Index, deeper, layout_of
from hoodoo_metadata.hfile.lookup import found_entries
from hoodoo_metadata.hfile.pick import picked
from hoodoo_metadata.hfile.search import (
    Mask,
    blocks_between,
    blocks_of_keys,
    blocks_of_prefixes,
    of_two_orders,
    spans_of_keys,
)
from hoodoo_metadata.hfile.window import FileWindow

# A request to the store asks for so many bytes, and takes a gap of blocks that nobody asked for
# with it rather than being two.
_REQUEST = 4 << 20
_GAP = 64 << 10
# So many plain bytes are walked at once: the cost of a step is shared by the entries that take it,
# and what is walked stays in the processor's cache. Of 3 to 24 MiB, 8 and 16 were the fastest.
_AT_ONCE = 8 << 20
# More keys than so many for each block are looked up by reading all blocks. Measured on 1 M entries
# in 1,513 blocks of 64 KiB: to seek takes 1.5 ms for 1 key, 20 ms for 100, 130 ms for 1,000 and 290
# ms for 4,500; to scan takes 310 ms for any of them. They cross at 3 keys for a block, 0.45 % of
# the entries: there 95 % of the blocks are touched, and to find out which costs as much as the
# others.
_KEYS_PER_BLOCK = 3.0
# A key that may be in more blocks than so many is looked for by a walk over them.
_SPAN = 3

T = TypeVar("T")
U = TypeVar("U")


class HFile:
    """One HFile, version 3, of Hudi's own writer or of HBase. Opening reads its last 64 KiB.

    All methods raise CorruptTableError for damaged bytes and StorageError if the store fails.
    Several threads may use one."""

    def __init__(self, window: FileWindow, layout: HFileLayout) -> None:
        self._window, self._layout = window, layout
        self._full: Index | None = layout.index if layout.levels == 1 else None

    @classmethod
    def open(cls, window: FileWindow) -> HFile:
        """Raises UnsupportedTableError for another version, codec, or encryption."""
        return cls(window, layout_of(window))

    @property
    def entry_count(self) -> int:
        return self._layout.entries

    @property
    def unsummed(self) -> bool:
        """Whether zeros stand where the checksums belong, so that damage of the bytes may not be
        noticed."""
        return self._layout.unsummed

    @property
    def info(self) -> Mapping[str, bytes]:
        """The file info, HFile's own and Hudi's (``schema``, ``minRecordKey`` ...)."""
        return self._layout.info

    @property
    def blocks(self) -> int:
        """The number of data blocks."""
        return len(self._index.keys)

    def meta_block(self, name: str) -> bytes | None:
        """The content of a meta block (``bloomFilter``), or None."""
        found = self._layout.meta.get(name)
        if found is None:
            return None
        offset, size = found
        block = Stored(offset, self._read(offset, offset + size))
        return bytes(contents(self._window, [block], META, self._layout.codec)[0])

    def scan(
        self, start: bytes | None = None, stop: bytes | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Entries with ``start`` <= key < ``stop``, ascending. Reads only blocks that may have
        some."""
        mask = blocks_between(self._index, start, stop)
        for entries in self._entries(mask):
            low = 0 if start is None else bisect_left(_Seen(entries), start)
            high = entries.size if stop is None else bisect_left(_Seen(entries), stop)
            if low < high:
                rows = None if high - low == entries.size else np.arange(low, high)
                yield self._told(entries.batch, rows)

    def get(self, keys: pa.Array, how: str = "auto", apart: bool = False) -> pa.Table:
        """The entries of ``keys`` (distinct, strings or binary, any order), ascending; only those
        found.

        ``how``: "seek" reads the blocks that may have them, "scan" all, "auto" chooses by how many
        they are. ``apart``: no value looks like a key with what is stored around it.
        """
        wanted = _binary(keys)
        if how not in ("seek", "scan", "auto"):
            raise DataError(
                f"way {how!r} to look keys up", "it is not known.", "Say auto, seek or scan."
            )
        if how == "auto":
            how = "scan" if len(wanted) > _KEYS_PER_BLOCK * self.blocks else "seek"
        if not len(wanted):
            return ENTRIES.empty_table()
        if of_two_orders(wanted):
            return self._anywhere(wanted)
        # Blocks that are compressed have a checksum in any case; of others the walk finds what is
        # damaged.
        if apart and how == "seek" and self._layout.codec is Codec.GZIP and self.blocks:
            found = self._picked(wanted)
            if found is not None:
                return found
        mask = blocks_of_keys(self._index, wanted) if how == "seek" else None
        first = self._index.keys[0].as_py() if self.blocks else b""
        asked = Keys(wanted, shared(first, self._last_key()))
        return self._matching(mask, lambda entries: found_entries(entries, asked))

    def _picked(self, keys: pa.Array) -> pa.Table | None:
        """The entries of ``keys``, found by their bytes; None where a walk has to find them."""
        by_block: dict[int, list[bytes]] = {}
        for key, low, high in zip(keys.to_pylist(), *spans_of_keys(self._index, keys)):
            if high - low > _SPAN:  # keys that begin alike
                return None
            for block in range(low, high + 1):
                by_block.setdefault(block, []).append(key)
        mask = np.zeros(self.blocks, np.bool_)
        mask[list(by_block)] = True
        found: list[tuple[bytes, bytes]] = []
        for numbers, blocks in self._requests(mask):
            plain = contents(self._window, blocks, DATA, self._layout.codec)
            for number, data in zip(numbers, plain):
                entries = picked(data, by_block[number])
                if entries is None:
                    return None
                found += entries
        found.sort()
        columns = [pa.array([entry[n] for entry in found], pa.binary()) for n in (0, 1)]
        return pa.Table.from_arrays(columns, schema=ENTRIES)

    def beside(self, key: bytes) -> pa.Table:
        """All entries of the blocks that may have ``key``, ascending: who asks for the keys of a
        file one after another reads each block once."""
        mask = blocks_of_keys(self._index, pa.array([key], pa.binary()))
        return self._matching(mask, lambda entries: entries.batch())

    def get_prefixes(self, prefixes: pa.Array) -> pa.Table:
        """The entries whose keys begin with one of ``prefixes`` (strings or binary), ascending."""
        wanted = _binary(prefixes)
        if not len(wanted):
            return ENTRIES.empty_table()
        lengths = pc.binary_length(wanted)
        groups = [
            (size, wanted.filter(pc.equal(lengths, size)))
            for size in pc.unique(lengths).to_pylist()
        ]

        def begin(entries: Entries) -> pa.RecordBatch:
            batch = entries.batch()
            keys, mask = batch.column(0), np.zeros(batch.num_rows, np.bool_)
            for size, group in groups:
                more = pc.is_in(pc.binary_slice(keys, 0, size), value_set=group)
                mask |= more.to_numpy(zero_copy_only=False)
            return batch.filter(pa.array(mask))

        if of_two_orders(wanted):
            return self._matching(None, begin).sort_by("key")
        return self._matching(blocks_of_prefixes(self._index, wanted), begin)

    def _anywhere(self, keys: pa.Array) -> pa.Table:
        """The entries of ``keys``, in whatever order the file has them."""

        def some(entries: Entries) -> pa.RecordBatch:
            batch = entries.batch()
            return batch.filter(pc.is_in(batch.column(0), value_set=keys))

        return self._matching(None, some).sort_by("key")

    def _matching(self, mask: Mask | None, chosen: Callable[[Entries], pa.RecordBatch]) -> pa.Table:
        """The entries that are ``chosen``, of the blocks in ``mask``, or of all."""
        batches = [self._told(chosen, entries) for entries in self._entries(mask)]
        return pa.Table.from_batches([b for b in batches if b.num_rows], schema=ENTRIES)

    def _last_key(self) -> bytes:
        """The greatest key, if the file says it."""
        try:
            return content(self.info.get(LAST_KEY, b"\0\0"))
        except Nonsense:
            return b""

    def _told(self, call: Callable[[T], U], argument: T) -> U:
        """``call(argument)``, nonsense being told as a damage of this file."""
        try:
            return call(argument)
        except Nonsense as error:
            raise self._window.corrupt(0, f"it or one that follows it: {error}") from error

    @property
    def _index(self) -> Index:
        if self._full is None:
            self._full = deeper(self._window, self._layout)
        return self._full

    def _read(self, start: int, stop: int) -> Bytes:
        """From what opening read, if it lies there."""
        begin = start - self._layout.tail_at
        if begin >= 0 and stop <= self._window.size:
            return memoryview(self._layout.tail)[begin : stop - self._layout.tail_at]
        return self._window.read(start, stop)

    def _entries(self, mask: Mask | None) -> Iterator[Entries]:
        """The entries of the blocks in ``mask``, or of all, some blocks at a time: each is done
        with when the next is asked for."""
        room = Room()
        waiting: list[Stored] = []
        waits = count = 0
        for _, blocks in self._requests(mask):
            for block in blocks:
                waiting.append(block)
                waits += plain_size(block)
                if waits >= _AT_ONCE:
                    found = self._parsed(waiting, room)
                    count += found.size
                    yield found
                    waiting, waits = [], 0
        if waiting:
            found = self._parsed(waiting, room)
            count += found.size
            yield found
        if (mask is None or mask.all()) and count != self.entry_count:
            raise self._window.corrupt(
                self._layout.end, f"the trailer says {self.entry_count} entries; there are {count}"
            )

    def _parsed(self, blocks: list[Stored], room: Room) -> Entries:
        plain = contents(self._window, blocks, DATA, self._layout.codec)
        return self._told(partial(Entries, room=room), plain)

    def _requests(self, mask: Mask | None) -> Iterator[tuple[list[int], list[Stored]]]:
        """The blocks in ``mask``, by their numbers and as they are stored: those together that one
        request fetches."""
        index = self._index
        rows = np.arange(len(index.keys)) if mask is None else np.flatnonzero(mask)
        starts, sizes = index.offsets[rows], index.sizes[rows]
        ends = starts + sizes
        apart = np.flatnonzero(starts[1:] - ends[:-1] > _GAP) + 1
        bounds = [0, *apart.tolist(), len(rows)]
        numbers, places, lengths = rows.tolist(), starts.tolist(), sizes.tolist()
        for at, high in zip(bounds, bounds[1:]):
            while at < high:
                stop = high
                if stop - at > 1:
                    stop = int(np.searchsorted(ends[:high], starts[at] + _REQUEST, "right"))
                stop = max(stop, at + 1)
                yield numbers[at:stop], self._fetched(places[at:stop], lengths[at:stop])
                at = stop

    def _fetched(self, offsets: list[int], sizes: list[int]) -> list[Stored]:
        """The blocks there, by one request."""
        first = offsets[0]
        data = memoryview(self._read(first, offsets[-1] + sizes[-1]))
        return [
            Stored(offset, data[offset - first : offset - first + size])
            for offset, size in zip(offsets, sizes)
        ]


class _Seen:
    """Entries as a sequence of keys, for a bisection."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return self._entries.size

    def __getitem__(self, row: int) -> bytes:
        return self._entries.key(row)


def _binary(keys: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array of binary."""
    if isinstance(keys, pa.ChunkedArray):
        keys = keys.combine_chunks()
    if keys.null_count:
        raise DataError("keys that are looked up", "some are null.", "Drop these.")
    try:
        return keys.cast(pa.binary())
    except pa.ArrowException as error:
        raise DataError(
            f"keys of type {keys.type}", "keys are strings or bytes.", "Cast them."
        ) from error
