"""Validator: a check of the rows that a write is about to commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from attrs import frozen
from hoodoo.hookspecs.family import Family
from hoodoo.model.commit import Operation
from hoodoo_rows.api import Scan


@frozen
class StagedCommit:
    """A write whose files are there, and which is not decided.

    ``partitions``: the partition paths that it touches, sorted. ``before`` and ``after``: the rows
    of these partition paths without the write, and with it. Both are scans: nothing is read until a
    method is called.
    """

    operation: Operation
    partitions: tuple[str, ...]
    before: Scan
    after: Scan


@runtime_checkable
class Validator(Protocol):
    """Called on the driver, once for each attempt of a commit."""

    def problems(self, commit: StagedCommit) -> Sequence[str]:
        """Return a sentence for each rule that the rows break; none lets the write pass. A
        :class:`~hoodoo.errors.HoodooError` refuses the write, too."""


FAMILY = Family(
    "hoodoo_validators",
    """Offer validators. When: before a write is decided. Default: none.

    Names and aliases, among them Java class names, are those of ``hoodie.precommit.validators``.
    The factory returns a :class:`Validator`; its settings have the options of the write.""",
    (Validator,),
)
