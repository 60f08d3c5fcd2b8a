"""Inflate: the gzip member of a block, by the fastest library that is installed.

ISA-L, the library ``isal`` (``pip install hoodoo-metadata[fast]``), takes about half the time of
zlib. Both answer the same bytes, and both check the member's own checksum."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from typing import Any

GZIP = 31  # window bits that say: a gzip member
# So many bytes can't become more than 132 MiB; without a bound they are inflated a tenth faster.
_SMALL = 128 << 10


def _fastest() -> tuple[str, Any]:
    try:
        return "isal", importlib.import_module("isal.isal_zlib")
    except ImportError:
        return "zlib", zlib


# Which library it is, ``isal`` or ``zlib``.
NAME, _LIBRARY = _fastest()
# What it raises for damaged bytes.
InflateError: type[Exception] = _LIBRARY.error
_decompress: Callable[..., bytes] = _LIBRARY.decompress


def inflate(data: bytes | memoryview, size: int) -> bytes:
    """The bytes of the gzip member ``data``, of which ``size`` are expected; there may be fewer, or
    more.

    Raises InflateError for damaged bytes.
    """
    if len(data) > _SMALL:
        unpacking = _LIBRARY.decompressobj(GZIP)
        found: bytes = unpacking.decompress(data, size + 1)
        if not unpacking.eof and len(found) <= size:
            raise InflateError("it is cut short")
        return found
    # One byte more, so that a full buffer is not taken for one that has to grow.
    return _decompress(data, wbits=GZIP, bufsize=size + 1)
