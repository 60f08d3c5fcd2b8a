"""The observer that writes one structlog line for each event. It never configures structlog."""

from __future__ import annotations

from hoodoo.hookspecs.observer import Event
from hoodoo.log import get_logger

_OWN = frozenset({"event", "table", "instant"})
_log = get_logger("hoodoo")


def log_event(event: Event) -> None:
    """One line: the kind, the table, the instant, and the details under their own names.

    A detail named like one of the line's own fields gets ``detail_`` in front. Where the application
    has not configured structlog, the line goes to the standard library's logger ``hoodoo``, at level
    info, and is quiet unless that is asked for.
    """
    values = {(f"detail_{k}" if k in _OWN else k): v for k, v in event.detail.items()}
    values["table"] = event.table
    if event.instant:
        values["instant"] = event.instant
    _log.info(event.kind, **values)
