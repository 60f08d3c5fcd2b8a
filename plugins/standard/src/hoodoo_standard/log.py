"""The observer that writes one structlog line for each event. It never configures structlog."""

from __future__ import annotations

import structlog
from hoodoo.hookspecs.observer import Event

_OWN = frozenset({"event", "table", "instant"})


def log_event(event: Event) -> None:
    """One line: the kind, the table, the instant, and the details under their own names.

    A detail named like one of the line's own fields gets ``detail_`` in front.
    """
    detail = {(f"detail_{k}" if k in _OWN else k): v for k, v in event.detail.items()}
    logger = structlog.get_logger("hoodoo").bind(table=event.table, **detail)
    if event.instant:
        logger = logger.bind(instant=event.instant)
    logger.info(event.kind)
