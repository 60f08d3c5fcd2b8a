"""All frames of a log file, and what lies between them.

A block that is whole is jumped over, so that nothing in its content can be taken for a block. Only
where no whole block begins, the next one is searched for, by its magic and by what
:mod:`hoodoo_formats.log.frames` demands of it. Hudi's own reader gives a block up if anything but a
magic follows it, and the last one with it; here a block stands for itself.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import pyarrow as pa
from hoodoo.model.filegroup import CHANGE_SUFFIX
from hoodoo.model.log_block import MAGIC, BlockKind, Damage, LogBlock, kind_name

from hoodoo_formats.log.frames import frame

# A read of the store fetches this much: the headers of a data block are its schema, a few KB.
_AHEAD = 16 << 10
_SEARCH = 4 << 20


class ScanWindow:
    """Ranges of a file, of which the last ones fetched are kept: a frame is asked for field by
    field, and the tail of a block lies beside the head of the next."""

    def __init__(self, file: pa.NativeFile, end: int) -> None:
        self._file, self._end = file, end
        self._kept: list[tuple[int, bytes]] = []

    def __call__(self, start: int, stop: int) -> bytes:
        for at, data in self._kept:
            if at <= start and stop <= at + len(data):
                return data[start - at : stop - at]
        data = self.read(start, max(stop, start + _AHEAD))
        self._kept = [(start, data), *self._kept[:3]]
        return data[: stop - start]

    def read(self, start: int, stop: int) -> bytes:
        """Not kept; shorter at the end of the file."""
        self._file.seek(start)
        data: bytes = self._file.read(max(0, min(stop, self._end) - start))
        return data


def scan(
    file: pa.NativeFile, path: str, end: int, more: Container[int] = ()
) -> tuple[list[LogBlock], list[Damage]]:
    """The blocks of ``file``, which has ``end`` bytes, and its damages, both in file order.

    Reads a few KB for each block, and all of a stretch that is damaged. ``path`` is for the
    messages, ``more`` are kinds of data blocks beside Hudi's."""
    window = ScanWindow(file, end)
    blocks: list[LogBlock] = []
    damages: list[Damage] = []
    at = 0
    while at < end:
        magic = window(at, min(at + 6, end)) == MAGIC
        found = frame(window, at, end, magic, more)
        if found.block is not None and _misplaced(found.block, path):
            kind = kind_name(found.block.kind)
            damages.append(Damage(path, at, found.block.size, f"a {kind} block has no place in it"))
            at += found.block.size
            continue
        if found.block is not None:
            if found.damage:
                damages.append(Damage(path, at, 0, found.damage))
            blocks.append(found.block)
            at += found.block.size
            continue
        skipped = found.extent if magic else 0
        reason = found.damage if magic else "no block begins there"
        stop = at + skipped if skipped else _next(window, at, end, more)
        damages.append(Damage(path, at, stop - at, reason))
        at = stop
    return blocks, damages


def _misplaced(block: LogBlock, path: str) -> bool:
    """Whether the kind of ``block`` is damaged: changes are in files of their own, which have no
    rows."""
    return block.is_data if path.endswith(CHANGE_SUFFIX) else block.kind == BlockKind.CDC


def _candidates(window: ScanWindow, start: int, end: int) -> Iterator[int]:
    """Where a magic stands at or after ``start``."""
    while end - start >= len(MAGIC):
        data = window.read(start, start + _SEARCH)
        place = data.find(MAGIC)
        while place >= 0:
            yield start + place
            place = data.find(MAGIC, place + 1)
        if start + len(data) >= end or not data:
            return
        start += len(data) - len(MAGIC) + 1


def _next(window: ScanWindow, start: int, end: int, more: Container[int]) -> int:
    """The next offset after ``start`` at which a block, or one of known extent, begins."""
    for at in _candidates(window, start + 1, end):
        found = frame(window, at, end, more=more)
        if found.extent or found.block is not None:
            return at
    return end
