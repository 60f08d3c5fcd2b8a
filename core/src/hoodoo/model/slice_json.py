"""File slices as bytes, on their way to a task."""

from __future__ import annotations

import json
from collections.abc import Sequence

from attrs import asdict

from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.payload import Payload


def pack(slices: Sequence[FileSlice]) -> Payload:
    content = json.dumps([asdict(slice_) for slice_ in slices], separators=(",", ":")).encode()
    return Payload.of(content, sum(slice_.size for slice_ in slices))


def unpack(payload: bytes) -> list[FileSlice]:
    return [_slice(data) for data in json.loads(payload)]


def _slice(data: dict[str, object]) -> FileSlice:
    base, logs = data.pop("base_file"), data.pop("log_files")
    assert isinstance(logs, list)
    return FileSlice(
        **data,  # type: ignore[arg-type]  # the names are FileSlice's own: written by pack()
        base_file=BaseFile(**base) if isinstance(base, dict) else None,
        log_files=tuple(LogFile(**log) for log in logs),
    )
