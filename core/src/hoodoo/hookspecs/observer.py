"""Observer: gets the events of actions, decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, field, frozen

from hoodoo.hookspecs.family import Family
from hoodoo.hookspecs.registration import hookspec

# The last step of an action -> its outcome. Every other step is on the way there.
_OUTCOMES = {
    "committed": "done",
    "done": "done",
    "deleted": "done",
    "skipped": "skipped",
    "failed": "failed",
}


@frozen
class Event:
    """One step of an action: ``kind`` is ``<action>.<step>``, such as ``write.started`` or
    ``clean.failed``.

    ``table`` is the table's name and ``location`` its root, ``instant`` the action's on the
    timeline, as soon as there is one. All events of one run of an action have one ``run_id``.
    ``detail`` is what else the action has to tell.

    The last event of an action has an :attr:`outcome`, its ``duration`` in seconds, and figures,
    each None where the action does not know it: files that were put and deleted, bytes of the new
    files, rows (``rows_unmerged``: those of the updated and deleted ones that readers merge), the
    partition paths that were touched. Of a failed action ``error`` is the class and ``rule`` what
    was broken.
    """

    kind: str
    table: str
    instant: str = ""
    detail: Mapping[str, Any] = Factory(dict)
    location: str = field(default="", kw_only=True)
    run_id: str = field(default="", kw_only=True)
    duration: float | None = field(default=None, kw_only=True)
    files_added: int | None = field(default=None, kw_only=True)
    files_removed: int | None = field(default=None, kw_only=True)
    bytes_written: int | None = field(default=None, kw_only=True)
    rows_inserted: int | None = field(default=None, kw_only=True)
    rows_updated: int | None = field(default=None, kw_only=True)
    rows_deleted: int | None = field(default=None, kw_only=True)
    rows_unmerged: int | None = field(default=None, kw_only=True)
    partitions: tuple[str, ...] | None = field(default=None, kw_only=True)
    error: str = field(default="", kw_only=True)
    rule: str = field(default="", kw_only=True)

    @property
    def action(self) -> str:
        """What is done: ``write``, ``compaction``, the name of any action."""
        return self.kind.rpartition(".")[0]

    @property
    def step(self) -> str:
        """How far it is: ``started``, ``committed``, ``failed``."""
        return self.kind.rpartition(".")[2]

    @property
    def outcome(self) -> str:
        """``done``, ``skipped`` (there was nothing to do) or ``failed``; empty while the action
        goes on."""
        return _OUTCOMES.get(self.step, "")


class ObserverHooks:
    """The hook that receives the events of actions."""

    @hookspec
    def hoodoo_event(self, event: Event) -> None:
        """Receive ``event``. When: after each step of an action, on the driver. Default: a
        structlog line (hoodoo-standard). An observer that fails is reported once as a warning and
        never fails the action.
        """


FAMILY = Family(None, more=ObserverHooks)
