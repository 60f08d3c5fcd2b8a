"""Joined: those who take part in the actions of one look at the table, as one."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from hoodoo.hookspecs.participant import ActionChange, Participation
from hoodoo.model.instant import Instant
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.publish import CoupledCommit


@frozen
class Joined:
    """``each``, in the order in which their plugins were discovered. A :class:`Participation` itself."""

    each: tuple[Participation, ...]

    @property
    def keys(self) -> bool:
        return any(one.keys for one in self.each)

    @property
    def noted(self) -> Mapping[str, str]:
        return {key: text for one in self.each for key, text in one.noted.items()}

    def begin(self, change: ActionChange) -> CoupledCommit | None:
        """What is decided together with the action; None where nobody has anything to say."""
        begun = [found for one in self.each if (found := one.begin(change)) is not None]
        return begun[0] if len(begun) == 1 else _together(begun) if begun else None


def _together(begun: list[CoupledCommit]) -> CoupledCommit:
    def newest() -> str | None:
        return max(filter(None, (one.newest() for one in begun)), key=order_key, default=None)

    def files(done: Instant) -> tuple[tuple[str, bytes], ...]:
        return tuple(file for one in begun for file in one.files(done))

    return CoupledCommit(newest, files)
