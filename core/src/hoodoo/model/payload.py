"""Payload: what one task is given to do, and how much of the store it reads for it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from attrs import asdict

from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile


class Payload(bytes):
    """A payload for ``Engine.tasks`` whose task reads at most ``reads`` bytes of stored files: an
    engine may choose by it where the task runs. Plain bytes say nothing of that."""

    reads: int

    @classmethod
    def of(cls, content: bytes, reads: int) -> Payload:
        """Make a payload of ``content`` for a task that reads at most ``reads`` bytes."""
        found = cls(content)
        found.reads = reads
        return found


def pack_slices(slices: Sequence[FileSlice]) -> Payload:
    """File slices as bytes, on their way to a task."""
    content = json.dumps([asdict(slice_) for slice_ in slices], separators=(",", ":")).encode()
    return Payload.of(content, sum(slice_.size for slice_ in slices))


def unpack_slices(payload: bytes) -> list[FileSlice]:
    """Return the file slices of a payload of :func:`pack_slices`."""
    return [_slice(data) for data in json.loads(payload)]


def _slice(data: dict[str, object]) -> FileSlice:
    base, logs = data.pop("base_file"), data.pop("log_files")
    assert isinstance(logs, list)
    return FileSlice(
        **data,  # type: ignore[arg-type]  # the names are FileSlice's own: written by pack_slices()
        base_file=BaseFile(**base) if isinstance(base, dict) else None,
        log_files=tuple(LogFile(**log) for log in logs),
    )
