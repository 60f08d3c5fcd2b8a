"""The work of one task of a clustering: a group of the plan, on its way there."""

from __future__ import annotations

import json

from attrs import frozen
from hoodoo.model import slice_json
from hoodoo.model.filegroup import FileSlice


@frozen
class GroupJob:
    """``number``: the group's place in the plan, which the names of its files are made of."""

    number: int
    slices: tuple[FileSlice, ...]

    @property
    def partition_path(self) -> str:
        return self.slices[0].partition_path

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(slice_.size for slice_ in self.slices)

    def pack(self) -> bytes:
        return json.dumps([self.number, slice_json.pack(self.slices).decode()]).encode()

    @classmethod
    def unpack(cls, data: bytes) -> GroupJob:
        """The inverse of :meth:`pack`."""
        number, slices = json.loads(data)
        return cls(number, tuple(slice_json.unpack(slices.encode())))
