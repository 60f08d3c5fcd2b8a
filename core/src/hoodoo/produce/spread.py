"""Spreading rows over tasks and slots by their key: a pure function of the key's bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hoodoo.model.key_hash import key_hash


def fraction(keys: pa.Array) -> npt.NDArray[np.float64]:
    """The hash of each key as a number in [0, 1)."""
    scaled: Any = (key_hash(keys) >> np.uint64(11)).astype(np.float64) / float(1 << 53)
    return np.asarray(scaled, np.float64)


def part_of(keys: pa.Array, parts: int) -> pa.Array:
    """The task of each key when nothing but the key matters: int32, ``0 <= part < parts``."""
    return part_of_hash(key_hash(keys), parts)


def part_of_hash(hashes: npt.NDArray[np.uint64], parts: int) -> pa.Array:
    """The same, of keys whose hashes are known."""
    return pa.array((hashes % np.uint64(parts)).astype(np.int32))
