"""Local directories for files under construction: an object store has none of its own."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import threading

from hoodoo.storage import temporaries

_lock = threading.Lock()
_bases: dict[str, str] = {}  # temporary directory of the system -> ours in it
_made: set[tuple[int, str]] = set()


def base() -> str:
    """This user's folder in the system's temporary directory (TMPDIR). What dead processes left
    there is removed when a process first comes."""
    top = tempfile.gettempdir()
    with _lock:
        found = _bases.get(top)
        if found is None or not os.path.isdir(found):
            found = _bases[top] = _ours(os.path.join(top, f"hoodoo-cloud-{os.getuid()}"))
            temporaries.sweep(found)
        return found


def _ours(path: str) -> str:
    """``path``, if nobody else can write there; else a folder that nobody else has thought of."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        found = os.lstat(path)
        safe = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
        if not safe or found.st_mode & 0o022:
            return tempfile.mkdtemp(prefix="hoodoo-cloud-")
    return path


def scratch() -> str:
    """This process's own directory, removed when it ends."""
    path = temporaries.scratch(base())
    with _lock:
        if (os.getpid(), path) not in _made:
            _made.add((os.getpid(), path))
            atexit.register(_remove, os.getpid(), path)
    return path


def _remove(pid: int, path: str) -> None:
    if os.getpid() == pid:  # a fork of it ends, too
        shutil.rmtree(path, ignore_errors=True)


def sweep() -> int:
    return temporaries.sweep(base())
