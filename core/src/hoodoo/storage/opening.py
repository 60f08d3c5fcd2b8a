"""Opening a file that the timeline names."""

from __future__ import annotations

import pyarrow as pa

from hoodoo.errors import CorruptTableError
from hoodoo.storage.api import Storage

# What an error says of a file that a later instant may have taken away.
NOT_THERE = "the timeline names this file, but it does not exist."


def open_named(storage: Storage, path: str, obj: str) -> pa.NativeFile:
    """``path`` for reading. Raises CorruptTableError about ``obj`` if it is missing."""
    try:
        return storage.open(path)
    except FileNotFoundError as error:
        raise CorruptTableError(
            obj,
            NOT_THERE,
            "If a clean deleted it during the read, read again. Otherwise restore the file from a copy, or restore the table to an instant before it (table.restore); table.verify() lists all lost files.",
        ) from error
