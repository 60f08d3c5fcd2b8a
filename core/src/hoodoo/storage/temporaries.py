"""Own temporary files of the local store: their directory, their names and the sweep of leftovers.

They lie in one directory below the table's ``.hoodie/.temp``, where every reader of Hudi tables
looks for nothing but write markers, and on the same file system as the table, so that a link puts
them in their place.
"""

from __future__ import annotations

import itertools
import os
import secrets
import time

TEMP_DIR = ".hoodie/.temp/.hoodoo-put"  # relative to the root
DAY = 86_400.0

_count = itertools.count()


def is_ours(path: str) -> bool:
    """Whether the relative ``path`` is the directory of temporaries or lies in it."""
    return path == TEMP_DIR or path.startswith(TEMP_DIR + "/")


def new_name() -> str:
    """A name that no thread, process or host picks twice."""
    return f"{os.getpid()}-{next(_count)}-{secrets.token_hex(8)}"


def scratch(base: str) -> str:
    """This process's own directory of files under construction below ``base``; made if need be."""
    path = os.path.join(base, *TEMP_DIR.split("/"), f"scratch-{os.getpid()}-{_token()}")
    os.makedirs(path, exist_ok=True)
    os.utime(path)  # in use: an empty directory must look young to a sweep
    return path


_tokens: dict[int, str] = {}


def _token() -> str:
    # By process id, because a forked worker inherits this module's memory.
    return _tokens.setdefault(os.getpid(), secrets.token_hex(4))


def sweep(base: str, older_than: float = DAY) -> int:
    """Remove temporaries below ``base`` not modified for ``older_than`` seconds; how many files.

    The age has to be longer than any single file takes to write: younger ones may be in use.
    Races with other sweeps are fine. Raises :class:`OSError`.
    """
    top = os.path.join(base, *TEMP_DIR.split("/"))
    limit = time.time() - older_than
    removed = 0
    for directory, _, files in os.walk(top, topdown=False):
        old = _modified(directory) <= limit  # asked before the removals below make it young
        for name in files:
            path = os.path.join(directory, name)
            if _modified(path) <= limit:
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


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except FileNotFoundError:
        return float("inf")
