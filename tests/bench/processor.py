"""Processor time of this process and all below it, those that end meanwhile too; the memory of this one."""

from __future__ import annotations

import os
import threading
from pathlib import Path

_EACH = 0.2  # seconds; what a process uses after the last look before its end is not counted


class ProcessorTime:
    """``with ProcessorTime() as found: ...``, then ``found.seconds``.

    The daemon of PySpark does not wait for its workers, so that no parent has the time of those that ended: all
    processes are looked at again and again, and the last that was seen of each counts.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._first: dict[tuple[int, int], int] = {}
        self._last: dict[tuple[int, int], int] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ProcessorTime:
        self._first = _ticks()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()
        self._last.update(_ticks())
        used = sum(ticks - self._first.get(one, 0) for one, ticks in self._last.items())
        self.seconds = used / os.sysconf("SC_CLK_TCK")

    def _watch(self) -> None:
        while not self._end.wait(_EACH):
            self._last.update(_ticks())


def _ticks() -> dict[tuple[int, int], int]:
    """Number and start of each process -> the ticks that it has used itself."""
    found, starts, children = {}, {}, {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat") as source:
                fields = source.read().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(fields[1]), []).append(int(number))
        found[int(number)] = int(fields[11]) + int(fields[12])
        starts[int(number)] = int(fields[19])
    mine, left = {}, [os.getpid()]
    while left:
        one = left.pop()
        left += children.get(one, [])
        if one in found:
            mine[one, starts[one]] = found[one]
    return mine


def most_memory() -> float:
    """MiB that this process had at most. Not that of getrusage, in which the peak of whoever started it counts."""
    status = Path("/proc/self/status").read_text().partition("VmHWM:")[2]
    return int(status.split()[0]) / 1024
