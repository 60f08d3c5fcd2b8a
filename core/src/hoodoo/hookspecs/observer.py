"""Observer: is told what happens, decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, frozen

from hoodoo.hookspecs.marks import hookspec


@frozen
class Event:
    """``kind`` is ``<action>.<step>``: ``write.started``, ``write.committed``, ``rollback.done`` ..."""

    kind: str
    table: str
    instant: str = ""
    detail: Mapping[str, Any] = Factory(dict)


class ObserverHooks:
    @hookspec
    def hoodoo_event(self, event: Event) -> None:
        """Be told of ``event``. When: after each step of an action, on the driver. Default: a
        structlog line (hoodoo-standard). An observer that fails is reported once as a warning and
        never fails the action.
        """
