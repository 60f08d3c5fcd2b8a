"""The entries of some data blocks, as Arrow arrays and as what keys are compared by.

The plain bytes of blocks that follow each other are put beside each other, an Arrow array lies over
them, and what is asked for is taken out of it by Arrow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hoodoo_metadata.hfile.blocks import Bytes
from hoodoo_metadata.hfile.entry_offsets import PAD, Places, cuts_of, places_of, view
from hoodoo_metadata.hfile.format import ENTRIES, Nonsense
from hoodoo_metadata.hfile.java_order import in_java_order
from hoodoo_metadata.hfile.key_heads import heads


class Room:
    """Bytes that are used again: new ones would cost more, page by page, than what is put there."""

    def __init__(self) -> None:
        self._data = bytearray()

    def filled(self, blocks: Sequence[Bytes], size: int) -> bytearray:
        """``blocks``, ``size`` bytes in all, one after the other, and PAD zeros; what is behind is
        old."""
        if len(self._data) < size + PAD:
            self._data = bytearray(size + PAD)
        at = 0
        with memoryview(self._data) as into:
            for block in blocks:
                into[at : at + len(block)] = block
                at += len(block)
            into[at : at + PAD] = bytes(PAD)
        return self._data


class Entries:
    """The entries of data blocks that follow each other, ``blocks`` being their plain bytes.

    All raise Nonsense where bytes are no entries. ``size`` is how many there are. What ``room``
    held before is gone."""

    def __init__(self, blocks: Sequence[Bytes], room: Room) -> None:
        lengths = np.fromiter((len(block) for block in blocks), np.int64, len(blocks))
        ends = lengths.cumsum()
        end = int(ends[-1]) if len(ends) else 0
        self._data = room.filled(blocks, end)
        self._places = places_of(self._data, (ends - lengths)[lengths > 0], end)
        self._ends = np.append(self._places[1:], end)
        self.size = len(self._places)

    def key(self, row: int) -> bytes:
        """One key."""
        at = int(self._places[row])
        size = int.from_bytes(self._data[at + 8 : at + 10], "big")
        return bytes(self._data[at + 10 : at + 10 + size])

    def heads(self, skipped: int) -> npt.NDArray[np.uint64]:
        """What :func:`hoodoo_metadata.hfile.key_heads.heads` says of the keys; ascending, or as
        Java has them."""
        sizes = view(self._data, ">u2")[self._places + 8].astype(np.int64)
        found = heads(self._data, self._places + 10, sizes, skipped)
        falls = (found[1:] < found[:-1]).any()
        if falls and not in_java_order(self.batch().column(0).to_pylist()):
            raise Nonsense("its keys don't ascend")
        return found

    def batch(self, rows: Places | None = None) -> pa.RecordBatch:
        """``rows``, ascending, or all, as ENTRIES."""
        places, ends = (
            (self._places, self._ends)
            if rows is None
            else (
                self._places[rows],
                self._ends[rows],
            )
        )
        cuts = cuts_of(self._data, places, ends)
        # Of four stretches of an entry the first is the key and the third the value.
        pieces = pa.Array.from_buffers(
            pa.binary(),
            max(0, cuts.size - 1),
            [None, pa.py_buffer(cuts), pa.py_buffer(self._data)],
        )
        which = np.arange(0, cuts.size, 4)
        columns = [pieces.take(pa.array(which)), pieces.take(pa.array(which + 2))]
        return pa.RecordBatch.from_arrays(columns, schema=ENTRIES)
