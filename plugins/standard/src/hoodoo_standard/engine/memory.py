"""How much memory a process may use: of its container, else of the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from hoodoo.hookspecs.engine import memory_share

# A group without a limit says a number near 2**63 in version 1.
_NO_LIMIT = 1 << 60


@cache
def default_memory(tasks: int, root: str = "/") -> int:
    """Bytes that each of ``tasks`` of this process takes by default; looked at once, as each write
    asks."""
    return memory_share(available(root), tasks)


def available(root: str = "/") -> int:
    """The least limit of the control groups that this process is in, and not more than the machine
    has."""
    return min((*_limits(Path(root)), _physical()))


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        return 4 << 30


def _limits(root: Path) -> Iterator[int]:
    """Of version 2 (a line ``0::/group``) and version 1 (``5:memory:/group``), each group and those
    around it."""
    lines: list[str] = []
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text("utf-8").splitlines()
    for line in lines:
        _number, controllers, group = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            folder, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the folder is that of its own group, whatever the line names.
        within = folder.joinpath(group.strip("/"))
        for place in dict.fromkeys((within, *within.parents)):
            if place == folder or folder in place.parents:
                yield from _limit(place / name)


def _limit(file: Path) -> Iterator[int]:
    with suppress(OSError, ValueError):  # `max`: there is none
        found = int(file.read_text("utf-8"))
        if 0 < found < _NO_LIMIT:
            yield found
