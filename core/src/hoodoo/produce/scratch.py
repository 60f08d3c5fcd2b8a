"""Scratch: local files under construction, until the store takes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import new_name


def scratch_path(storage: Storage) -> str:
    """A local path of which there is no file yet, and that nobody else picks.

    The writer creates it, with the permissions that the process gives its files: what
    ``tempfile.mkstemp`` makes is for its owner alone, and would still be so as a base file.
    """
    return os.path.join(storage.scratch(), f"base-{new_name()}")


def discard(local: str) -> None:
    """Remove the file if the store has not taken it. A leftover is swept later: never an error."""
    with suppress(OSError):
        os.unlink(local)


@contextmanager
def scratch_file(storage: Storage) -> Iterator[str]:
    """:func:`scratch_path` for one file, discarded at the end."""
    local = scratch_path(storage)
    try:
        yield local
    finally:
        discard(local)
