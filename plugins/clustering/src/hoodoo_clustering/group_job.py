"""The work of a task of a clustering: groups of the plan, on their way there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from attrs import Factory, frozen
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.payload import pack_slices, unpack_slices


@frozen
class GroupJob:
    """``number``: the group's place in the plan, which the names of its files are made of;
    ``extra``: what the plan says of the group besides. ``outputs``: how many files it is to become;
    None: as many as its rows fill."""

    number: int
    slices: tuple[FileSlice, ...]
    extra: Mapping[str, str] = Factory(dict)
    outputs: int | None = None

    @property
    def partition_path(self) -> str:
        return self.slices[0].partition_path

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(slice_.size for slice_ in self.slices)

    def pack(self) -> bytes:
        return json.dumps(
            [self.number, pack_slices(self.slices).decode(), dict(self.extra), self.outputs]
        ).encode()

    @classmethod
    def unpack(cls, data: bytes) -> GroupJob:
        """The inverse of :meth:`pack`."""
        number, slices, extra, outputs = json.loads(data)
        return cls(number, tuple(unpack_slices(slices.encode())), extra, outputs)


def payloads(jobs: Sequence[GroupJob], at_once: int | None) -> list[bytes]:
    """``jobs`` for tasks: one for each, or at most ``at_once`` tasks of similar size, that do
    theirs one after the other."""
    tasks: list[list[GroupJob]] = [[] for _ in range(min(at_once or len(jobs), len(jobs)))]
    for job in jobs:
        min(tasks, key=lambda task: sum(one.size for one in task)).append(job)
    return [b"\n".join(job.pack() for job in task) for task in tasks]


def jobs_of(payload: bytes) -> list[GroupJob]:
    """The inverse, of one task."""
    return [GroupJob.unpack(line) for line in payload.split(b"\n")]
