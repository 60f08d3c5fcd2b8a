"""Compiled loops for Hoodoo. ``hoodoo_formats`` uses them where they are installed; results are the
same bytes.

Source: the bloom filters of Hudi's base files (``org.apache.hudi.common.bloom``), hash type
murmur2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hoodoo_native import _bloom

__version__ = "0.2.0"
__all__ = ["fill", "might_contain"]

Bytes = npt.NDArray[np.uint8]
# By the bits of their offsets, 32 and 64.
_NARROW, _WIDE = (pa.string(), pa.binary()), (pa.large_string(), pa.large_binary())


def fill(keys: pa.Array, hashes: int, size: int, bits: Bytes) -> None:
    """Set the bits of ``keys`` (strings or bytes; nulls are left out) in a filter of ``size`` bits:
    ``hashes`` of each.

    ``bits`` are packed, least significant bit first, at least ``size / 8`` of them. Other threads
    run meanwhile, and must not change ``bits``. Raises ValueError where ``bits`` can't be written
    to, or are too few, and for an array whose offsets lead out of its bytes.

    >>> bits = np.zeros(8, np.uint8)
    >>> fill(pa.array(["a", None, "b"]), 3, 64, bits)
    >>> might_contain(pa.array(["a", None, "z"]), 3, 64, bits).tolist()
    [1, 0, 0]
    """
    _check(bits, size)
    if not bits.flags.writeable:
        raise ValueError("bits: a filter to fill must be writeable")
    _run(keys, hashes, size, bits, None)


def might_contain(keys: pa.Array, hashes: int, size: int, bits: Bytes) -> Bytes:
    """For each of ``keys`` 1 if all its bits are set, and 0 if one is not, or the key is null. See
    :func:`fill`."""
    _check(bits, size)
    found = np.zeros(len(keys), np.uint8)
    _run(keys, hashes, size, bits, found)
    return found


def _check(bits: Bytes, size: int) -> None:
    if bits.dtype != np.uint8 or bits.ndim != 1 or not bits.flags.c_contiguous:
        raise ValueError("bits: a filter is one row of bytes, one after the other")
    if not 0 < size <= len(bits) * 8 or size >= 1 << 31:
        raise ValueError(f"size: {size} bits do not fit into {len(bits)} bytes")


def _run(keys: pa.Array, hashes: int, size: int, bits: Bytes, found: Bytes | None) -> None:
    if keys.type not in (*_NARROW, *_WIDE):
        keys = keys.cast(pa.string())
    valid, offsets, data = keys.buffers()
    if not len(keys) or offsets is None:
        return
    at, size_of_data = (0, 0) if data is None else (data.address, data.size)
    _bloom.with_keys(
        offsets.address,
        keys.type in _WIDE,
        at,
        size_of_data,
        0 if valid is None else valid.address,
        keys.offset,
        len(keys),
        hashes,
        size,
        bits.ctypes.data,
        0 if found is None else found.ctypes.data,
    )
