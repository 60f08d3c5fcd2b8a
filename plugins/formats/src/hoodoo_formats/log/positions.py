"""Record positions: the rows of a base file that a log block changes, as the headers of the block.

Hudi's form of them is the portable form of a 64-bit roaring bitmap in Base64: a set, so the rows of
a block are in its order."""

from __future__ import annotations

import base64
import binascii
from array import array

import numpy as np
import numpy.typing as npt
from hoodoo.model.log_block import Header, LogBlock

Numbers = npt.NDArray[np.int64]
# As many rows as a file of Parquet can have.
_MOST = 1 << 62


def headers_of(base_instant: str, rows: Numbers) -> dict[Header, str]:
    """Of a block whose rows have these numbers, from 0 and ascending, in the base file of
    ``base_instant``."""
    from pyroaring import BitMap64  # few processes write log files

    found = BitMap64(array("Q", rows.astype(np.uint64).tobytes()))
    found.run_optimize()
    text = base64.b64encode(found.serialize()).decode()
    return {Header.BASE_FILE_INSTANT: base_instant, Header.RECORD_POSITIONS: text}


def rows_of(block: LogBlock, base_instant: str) -> Numbers | None:
    """The numbers of the rows of ``block`` in the base file of ``base_instant``, ascending. None
    where its headers do not say them of that file, or can't be read: keys say it, too."""
    text = block.headers.get(Header.RECORD_POSITIONS)
    if not text or block.headers.get(Header.BASE_FILE_INSTANT) != base_instant:
        return None
    from pyroaring import BitMap64

    try:
        found = BitMap64.deserialize(base64.b64decode(text, validate=True))
    except (ValueError, binascii.Error, MemoryError):
        return None
    if len(found) and found.max() > _MOST:
        return None
    return np.frombuffer(found.to_array(), np.uint64).astype(np.int64)
