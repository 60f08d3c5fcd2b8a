"""An instant: one action on the timeline, at one moment, in one state."""

from __future__ import annotations

import enum

from attrs import evolve, frozen

from hoodoo.model.action import Action, named


class State(str, enum.Enum):
    """Where an action stands; only COMPLETED counts for readers."""

    REQUESTED = "REQUESTED"
    INFLIGHT = "INFLIGHT"
    COMPLETED = "COMPLETED"


@frozen(order=True)
class Instant:
    """``requested`` and ``completed`` are instant strings, ``yyyyMMddHHmmssSSS``, table timezone.

    ``completed`` is None while pending, and also on layout 1 (table version 6), whose file names do
    not hold a completion time.
    """

    requested: str
    action: str
    state: State = State.COMPLETED
    completed: str | None = None

    @property
    def is_completed(self) -> bool:
        """Whether the action has ended, so that its files count."""
        return self.state is State.COMPLETED

    @property
    def traits(self) -> Action:
        """What its action means."""
        return named(self.action)

    @property
    def is_write(self) -> bool:
        """Whether its action makes rows visible or invisible; the plan of a service does not."""
        return self.traits.writes

    @property
    def completes_as_write(self) -> bool:
        """Whether it is a write, or completes as one, as the plan of a service may."""
        return named(self.traits.completes_as).writes

    @property
    def completion_order(self) -> str:
        """What orders this instant by completion; layout 1 falls back to the requested time."""
        return self.completed or self.requested

    def at(self, state: State, completed: str | None = None) -> Instant:
        """Return the same instant in another ``state``; ``completed`` is its completion time."""
        return evolve(self, state=state, completed=completed)

    def __str__(self) -> str:
        return f"{self.requested}.{self.action}.{self.state.value.lower()}"
