"""Action: something that is done to a table besides writing rows: compaction, clean, clustering,
restore."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from attrs import frozen

from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.family import Family
from hoodoo.model.outcome import RolledBack
from hoodoo.storage.api import Storage
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.publish import Following
from hoodoo.timeline.timeline import Timeline

if TYPE_CHECKING:
    from hoodoo.participants.listing import KnownFiles

# The handle of the open table: hoodoo.table.handle.TableHandle, which imports this module.
Handle = TypeVar("Handle", contravariant=True)


@runtime_checkable
class Action(Protocol[Handle]):
    """Contract suite: ``hoodoo.testing.contracts.action``. Called on the driver.

    An action commits what readers shall see with ``write/run.py`` of hoodoo-rows and a request of
    the table (:meth:`~hoodoo.table.handle.TableHandle.write_request`). Such a write is repeated
    after conflicts, reported to participants, and undone by the next writer if the process ends
    before the commit. An action raises only errors of :mod:`hoodoo.errors`; afterwards the table is
    as it was, or the next writer finishes or undoes what is pending.
    """

    def run(self, table: Handle, **options: Any) -> Any:
        """Do it now, from the start to the end: what is pending of this kind is finished first.

        ``options`` are arguments by name, as an action likes to have them: one that it does not
        name is a CallError before it is called. Where there is nothing to do, nothing is put on the
        timeline. The answer is what the caller of ``table.run`` gets; it says whether something was
        done."""


@runtime_checkable
class Schedules(Protocol[Handle]):
    """Optional: an action that is planned first, and run later, perhaps by another process."""

    def schedule(self, table: Handle, **options: Any) -> str | None:
        """Put a plan on the timeline; its instant, or None where there is nothing to do."""

    def run_planned(self, table: Handle, instant: str, **options: Any) -> Any:
        """Run the plan ``instant``, or continue a run that stopped. ConfigError if there is no such
        plan; for a completed plan it may also return the same result again. Only the plan decides
        what happens; the options of the caller have no effect."""


@frozen
class AfterWrite:
    """What is done after a write if it is due then.

    ``what`` names it in the warning where it fails, which is no failure of the write. ``run`` gets
    the timeline as it is after the write, and a function that makes the engine; it does the action
    if that is due, and answers whether it has done something: then what comes next gets a new
    timeline. The smallest ``order`` comes first, those of one number in the order of their names.
    ``by_hand``: the call that does it later, for the warning; where nothing is said, ``table.run``
    with the action's name. With fewer than ``writes`` completed writes on the active timeline there
    is nothing to do, unless an action of the kind ``pending`` is pending there: ``run`` is not
    called then. ``instead``: names of actions that it sees to; they do not follow the writes of
    this table themselves. ``follow``: across a network, what is first after a write may be decided
    with it. It gets the timeline that will be, and the files that are there then, and answers the
    whole action; ``run`` is called nevertheless, to tell of it.
    """

    what: str
    run: Callable[[Timeline, Callable[[], Engine]], bool]
    order: int = 100
    by_hand: str | None = None
    writes: int = 0
    pending: str = ""
    instead: tuple[str, ...] = ()
    follow: Callable[[Timeline, KnownFiles], Following | None] | None = None


@runtime_checkable
class FollowsWrites(Protocol[Handle]):
    """Optional: an action that may be due after a write."""

    def after_write(self, table: Handle) -> AfterWrite | None:
        """Called before the first write of an open table, again where its properties or options
        have changed, and changes nothing: options that are wrong are a ConfigError here, before
        anything is written. None: it does not follow the writes of this table."""


@runtime_checkable
class Recovers(Protocol):
    """Optional: an action whose pending instants, left by a process that died, are finished before
    anybody writes. It is found by its name, which is the action's on the timeline."""

    def recover(
        self, storage: Storage, timeline: Timeline, living: Liveness
    ) -> tuple[RolledBack, ...]:
        """Finish what is pending of this kind on ``timeline``; what was undone thereby. ``living``
        knows which instants have a process that works at them. CommitConflictError while one
        has."""


FAMILY = Family(
    "hoodoo_actions",
    """Offer actions: ``table.run(name, **options)`` runs them.

    When: somebody runs one; before the first write (:class:`FollowsWrites`); when a writer finds
    one pending (:class:`Recovers`). A factory gets the table's properties and options.""",
    (Action,),
    optional=(Schedules, FollowsWrites, Recovers),
)
