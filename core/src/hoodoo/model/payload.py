"""Payload: what one task is given to do, and how much of the store it reads for it."""

from __future__ import annotations


class Payload(bytes):
    """A payload for ``Engine.tasks`` whose task reads at most ``reads`` bytes of stored files: an engine may choose by
    it where the task runs. Plain bytes say nothing of that."""

    reads: int

    @classmethod
    def of(cls, content: bytes, reads: int) -> Payload:
        found = cls(content)
        found.reads = reads
        return found
