"""Compaction: which file slices become a base file next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from attrs import frozen
from hoodoo.hookspecs.answers import Some, answers
from hoodoo.hookspecs.family import Family
from hoodoo.model.filegroup import FileSlice


@frozen
class Candidate:
    """A file slice with log files, and what compacting it would cost, in bytes."""

    slice: FileSlice

    @property
    def log_files(self) -> int:
        return len(self.slice.log_files)

    @property
    def log_bytes(self) -> int:
        return sum(log.size for log in self.slice.log_files)

    @property
    def read_bytes(self) -> int:
        return self.slice.size

    @property
    def write_bytes(self) -> int:
        """About as much as the base file has; of a slice without one, as its log files have."""
        return self.slice.base_file.size if self.slice.base_file else self.log_bytes


@runtime_checkable
class CompactionStrategy(Protocol):
    """Contract suite: ``hoodoo_services.testing.compaction``."""

    @answers(Some("candidates", "candidates"))
    def choose(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Those of ``candidates`` to compact now, the most urgent first; none is right, too.

        ``candidates`` are the latest slices with log files that no pending compaction has, sorted
        by partition path and file id. The answer is a pure function of the argument."""


FAMILY = Family(
    "hoodoo_compactions",
    """Offer compaction strategies. When: a compaction is scheduled. Default: ``log_size``.

    Names and aliases are looked up with ``hoodie.compaction.strategy``. The factory returns a
    :class:`CompactionStrategy`.""",
    (CompactionStrategy,),
)
