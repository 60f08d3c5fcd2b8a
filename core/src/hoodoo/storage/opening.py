"""Opening a file that the timeline names."""

from __future__ import annotations

import pyarrow as pa

from hoodoo.errors import CorruptTableError
from hoodoo.storage.api import Storage

# What an error says of a file that a later instant may have taken away.
NOT_THERE = "the timeline names it, and it is not there."


def open_named(storage: Storage, path: str, obj: str) -> pa.NativeFile:
    """``path`` for reading. Raises CorruptTableError about ``obj`` if it is missing."""
    try:
        return storage.open(path)
    except FileNotFoundError as error:
        raise CorruptTableError(
            obj,
            NOT_THERE,
            "If a cleaner removed it while you were reading, read again. Else restore it from a copy, or the "
            "table to an instant before (table.restore); table.verify() lists all that is lost.",
        ) from error
