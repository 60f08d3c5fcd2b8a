"""Record keys in any number, distinct and in no order, and entries of a record index that name them."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo_metadata.hfile import ENTRIES
from hoodoo_metadata.partitions.record_index.locations import encode_locations

FILES, PATHS = 320, 4  # file groups and partition paths that the entries name
WHEN = 1_767_225_600_000  # the instant that all of them came with
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


def keys(given: npt.NDArray[Any], length: int | None = 20) -> pa.Array:
    """The keys of the numbers ``given``: ``length`` characters, of which the last 16
    are hexadecimal digits; None: 8 to 40 characters, evenly drawn."""
    numbers = given.astype(np.uint64)
    mixed = _mixed(numbers)
    digits = np.empty((len(numbers), 16), np.uint8)
    octets = mixed.astype(">u8").view(np.uint8).reshape(-1, 8)
    digits[:, 0::2], digits[:, 1::2] = _HEX[octets >> 4], _HEX[octets & 15]
    if length is not None:
        laid = np.full((len(numbers), length), ord("k"), np.uint8)
        laid[:, length - 16 :] = digits
        lengths = np.full(len(numbers), length)
    else:
        lengths = 8 + (mixed % np.uint64(33)).astype(np.int64)
        laid = np.tile(digits, 3)[:, :40]
        # The number itself, six bits a character, so that short keys are distinct, too; scattered by a
        # reversal: the quickest to change comes first.
        for place in range(5):
            laid[:, place] = ord("0") + (numbers >> np.uint64(6 * place) & np.uint64(63))
    offsets = np.zeros(len(numbers) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = laid[np.arange(laid.shape[1]) < lengths[:, None]]
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(data))


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64, a permutation of the numbers of 64 bits that looks like chance."""
    with np.errstate(over="ignore"):
        z = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return found


def entries(count: int, length: int | None) -> pa.RecordBatch:
    """ENTRIES of ``count`` keys, ascending, with the values of a record index."""
    rng = np.random.default_rng(8)
    found = keys(np.arange(count), length).cast(pa.binary())
    found = found.take(pc.sort_indices(found))
    ids = [f"{uuid.UUID(bytes=rng.bytes(16), version=4)}-0" for _ in range(FILES)]
    group = rng.integers(0, FILES, count)
    paths = pa.array([f"2026/01/{n + 1:02}" for n in range(PATHS)])
    where = pa.DictionaryArray.from_arrays(pa.array(group % PATHS), paths)
    values = encode_locations(
        where, pa.DictionaryArray.from_arrays(pa.array(group), pa.array(ids)), WHEN
    )
    return pa.record_batch([found, values], schema=ENTRIES)
