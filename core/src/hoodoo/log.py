"""The library's loggers: structlog, never configured here.

Unconfigured structlog prints every line to standard output, which nobody wants of a library. So until
the application configures structlog, lines go to the standard library's logging under the logger's
name, where they are quiet unless the application asks for them.
"""

from __future__ import annotations

import logging
from typing import Any

import structlog


class Log:
    """``log.info("event", key=value)`` and friends; decides at each call where the line goes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def debug(self, event: str, **values: Any) -> None:
        self._emit("debug", event, values)

    def info(self, event: str, **values: Any) -> None:
        self._emit("info", event, values)

    def warning(self, event: str, **values: Any) -> None:
        self._emit("warning", event, values)

    def _emit(self, level: str, event: str, values: dict[str, Any]) -> None:
        if structlog.is_configured():
            logger = structlog.get_logger(self._name)
        else:
            logger = structlog.wrap_logger(
                logging.getLogger(self._name),
                processors=[structlog.stdlib.filter_by_level,
                            structlog.processors.KeyValueRenderer(key_order=["event"])],
                wrapper_class=structlog.stdlib.BoundLogger,
            )  # fmt: skip
        getattr(logger, level)(event, **values)


def get_logger(name: str) -> Log:
    """The logger of a module."""
    return Log(name)
