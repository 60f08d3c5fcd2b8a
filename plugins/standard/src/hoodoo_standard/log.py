"""The observer that writes one structlog line for each event. It never configures structlog."""

from __future__ import annotations

from typing import Any

from hoodoo.hookspecs.observer import Event
from hoodoo.log import get_logger

_FIGURES = (
    "run_id",
    "location",
    "duration",
    "files_added",
    "files_removed",
    "bytes_written",
    "rows_inserted",
    "rows_updated",
    "rows_deleted",
    "rows_unmerged",
    "error",
    "rule",
)
_OWN = frozenset({"event", "table", "instant", "partitions", *_FIGURES})
_log = get_logger("hoodoo")


def log_event(event: Event) -> None:
    """One line: the kind, the table, the instant, what else the event knows, and the details under
    their own names. Of partitions there is the number.

    A detail named like one of the line's own fields gets ``detail_`` in front. Where the
    application has not configured structlog, the line goes to the standard library's logger
    ``hoodoo``, at level info, and is quiet unless that is asked for."""
    values: dict[str, Any] = {
        (f"detail_{k}" if k in _OWN else k): v for k, v in event.detail.items()
    }
    values["table"] = event.table
    if event.instant:
        values["instant"] = event.instant
    known = ((name, getattr(event, name)) for name in _FIGURES)
    values.update({name: value for name, value in known if value not in (None, "")})
    if event.partitions is not None:
        values["partitions"] = len(event.partitions)
    _log.info(event.kind, **values)
