"""Own temporary files of the local store: their directory, their names and the sweep of leftovers.

They lie in one directory below the table's ``.hoodie/.temp``, where every reader of Hudi tables
looks for nothing but write markers, and on the same file system as the table, so that a link puts
them in their place."""

from __future__ import annotations

import itertools
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hoodoo.storage.processes import has_ended, short_name

if TYPE_CHECKING:
    from hoodoo.storage.api import Storage

TEMP_DIR = ".hoodie/.temp/.hoodoo-put"  # relative to the root
DAY = 86_400.0

_SCRATCH = "scratch-"
_OWNED = re.compile(rf"(?:{_SCRATCH})?([0-9a-f]*\.\d+\.\d*)-.+")
_count = itertools.count()


def is_ours(path: str) -> bool:
    """Whether the relative ``path`` is the directory of temporaries or lies in it."""
    return path == TEMP_DIR or path.startswith(TEMP_DIR + "/")


def new_name() -> str:
    """A name that no thread, process or host picks twice. It says whose it is."""
    return f"{short_name()}-{next(_count)}-{secrets.token_hex(8)}"


def scratch(base: str) -> str:
    """This process's own directory of files under construction below ``base``; made if need be."""
    path = os.path.join(base, *TEMP_DIR.split("/"), f"{_SCRATCH}{short_name()}-{_token()}")
    try:
        os.utime(path)  # in use: an empty directory must look young to a sweep
    except FileNotFoundError:
        os.makedirs(path, exist_ok=True)
    return path


_tokens: dict[int, str] = {}


def _token() -> str:
    # By process id, because a forked worker inherits this module's memory.
    return _tokens.setdefault(os.getpid(), secrets.token_hex(4))


def sweep(base: str, older_than: float = DAY) -> int:
    """Remove temporaries below ``base`` that nobody can be writing; how many files.

    Those of a process of this machine that has ended go at once: a killed worker can't tidy up.
    Others go when they were not modified for ``older_than`` seconds, which has to be longer than
    any single file takes to write. Races with other sweeps are fine. Raises :class:`OSError`.
    """
    top = os.path.join(base, *TEMP_DIR.split("/"))
    if os.path.islink(top):  # it may lead out of the table
        return 0
    limit, dead, removed = time.time() - older_than, _Dead(), 0
    for directory, _, files in os.walk(top, topdown=False):
        owned = os.path.relpath(directory, top).split(os.sep)[0]
        left = dead.left(owned)
        old = left or _modified(directory) <= limit  # asked before the removals make it young
        for name in files:
            path = os.path.join(directory, name)
            if left or dead.left(name) or _modified(path) <= limit:
                try:
                    os.unlink(path)
                except FileNotFoundError:
                    continue
                removed += 1
        if old and directory != top:
            try:
                os.rmdir(directory)
            except OSError:  # not empty, or gone
                pass
    return removed


class _Dead:
    """Which processes have ended, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def left(self, name: str) -> bool:
        """Whether a temporary called ``name`` is of a process that has ended."""
        match = _OWNED.fullmatch(name)
        if match is None:
            return False
        owner = match[1]
        if owner not in self._known:
            self._known[owner] = has_ended(owner)
        return self._known[owner]


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except FileNotFoundError:
        return float("inf")


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
