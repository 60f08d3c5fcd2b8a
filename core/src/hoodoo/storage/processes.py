"""Processes: the identity of a process, and whether it still runs, as far as its machine knows."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
import sys
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any


def identity() -> dict[str, Any]:
    """This process: ``host`` identifies the machine (or container), ``process`` the process."""
    return dict(_identity(os.getpid()))


def process_lives(recorded: Mapping[str, Any]) -> bool:
    """Whether the process of this machine with the ``recorded`` :func:`identity` still runs."""
    pid = recorded.get("pid")
    if not isinstance(pid, int) or pid <= 0:
        return False
    if sys.platform == "win32":  # there os.kill would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's
    started = _started(pid)
    return not started or started == recorded.get("started")


def short_name() -> str:
    """This process, for file names: ``<machine>.<pid>.<started>``. Parts that are not known are
    empty."""
    return _short_name(os.getpid())


def has_ended(name: str) -> bool:
    """Whether the process with that :func:`short_name` ran on this machine and has ended. False if
    not known."""
    machine, pid, started = name.split(".")
    if not machine or not started or machine != short_name().partition(".")[0]:
        return False
    return not process_lives({"pid": int(pid), "started": started})


@functools.lru_cache(maxsize=2)
def _identity(pid: int) -> Mapping[str, Any]:
    return {
        "host": "/".join((socket.gethostname(), _boot(), _space())),
        "pid": pid,
        "started": _started(pid),
        "process": uuid.uuid4().hex,
    }


@functools.lru_cache(maxsize=2)
def _short_name(pid: int) -> str:
    me = _identity(pid)
    # Without these two, a machine of the same name may be another one, with other processes.
    machine = hashlib.sha256(me["host"].encode()).hexdigest()[:12] if _boot() and _space() else ""
    return f"{machine}.{pid}.{me['started']}"


def _started(pid: int) -> str:
    """When the process began, where the system tells; a number is given to another process
    later."""
    stat = _read(f"/proc/{pid}/stat")
    fields = stat.rpartition(")")[2].split()
    if fields[:1] == ["Z"]:
        return "ended"
    return fields[19] if len(fields) > 19 else ""


def _boot() -> str:
    return _read("/proc/sys/kernel/random/boot_id")


def _space() -> str:
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return ""


def _read(path: str) -> str:
    with suppress(OSError), open(path) as file:
        return file.read().strip()
    return ""
