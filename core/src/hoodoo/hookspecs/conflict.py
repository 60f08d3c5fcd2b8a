"""Conflict: whether a write can be published after another one that it did not see."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from attrs import frozen

from hoodoo.hookspecs.family import Family
from hoodoo.model.commit import Operation

Group = tuple[str, str]  # partition path, file id (or "bucket <n>" where the index computes it)


@frozen
class Change:
    """What an instant did to file groups. ``rewritten``: they got a new base file, or went away.
    ``appended``: they got a log file only. ``created``: those of both that were not there before.
    ``replaced_partitions``: the write put itself in the place of all that was there (None: in the
    whole table). ``partitions``: all that were touched. ``pending``: it is announced, not
    published."""

    instant: str
    action: str
    operation: Operation
    rewritten: frozenset[Group] = frozenset()
    appended: frozenset[Group] = frozenset()
    replaced_partitions: frozenset[str] | None = frozenset()
    partitions: frozenset[str] = frozenset()
    created: frozenset[Group] = frozenset()
    pending: bool = False

    @property
    def touched(self) -> frozenset[Group]:
        """All file groups that the instant changed: rewritten or appended to."""
        return self.rewritten | self.appended

    @property
    def is_service(self) -> bool:
        """No row has changed: compaction, clustering."""
        return not self.operation.can_change_schema

    @property
    def is_compaction(self) -> bool:
        """A base file and its log files became the next base file of the same group."""
        return self.operation is Operation.COMPACT

    def replaces(self, partition_path: str) -> bool:
        """Return True if the write put itself in the place of all rows of ``partition_path``."""
        replaced = self.replaced_partitions
        return replaced is None or partition_path in replaced


@runtime_checkable
class ConflictStrategy(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.conflict``. Pure; picklable."""

    def conflict(self, mine: Change, other: Change) -> str | None:
        """Why ``mine``, which is about to be published, can't come after ``other``, which was
        published after mine had read the table: a clause for the message, about *it*. None: it can.

        An ``other`` that is pending is shown to services only, which may give way to it; all else
        that is pending has its own turn to be asked.
        """


FAMILY = Family(
    "hoodoo_conflicts",
    """Offer conflict strategies. When: another write was published meanwhile. Default:
    ``file_groups``.

    Names and aliases are looked up with ``hoodie.write.lock.conflict.resolution.strategy``. The
    factory returns a :class:`ConflictStrategy`.""",
    (ConflictStrategy,),
)
