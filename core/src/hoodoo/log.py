"""The library's loggers: structlog, never configured here.

Unconfigured structlog prints every line to standard output, which nobody wants of a library. So
until the application configures structlog, lines go to the standard library's logging under the
logger's name, where they are quiet unless the application asks for them."""

from __future__ import annotations

import logging
import sys
from typing import Any

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}


class Log:
    """``log.info("event", key=value)`` and friends; decides at each call where the line goes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def debug(self, event: str, **values: Any) -> None:
        """Write ``event`` with its ``values`` as a line of the level DEBUG."""
        self._emit("debug", event, values)

    def info(self, event: str, **values: Any) -> None:
        """Write ``event`` with its ``values`` as a line of the level INFO."""
        self._emit("info", event, values)

    def warning(self, event: str, **values: Any) -> None:
        """Write ``event`` with its ``values`` as a line of the level WARNING."""
        self._emit("warning", event, values)

    def _emit(self, level: str, event: str, values: dict[str, Any]) -> None:
        # structlog takes longer to import than all of Hoodoo. Who configured it has imported it.
        imported = sys.modules.get("structlog")
        # While another thread imports it, the module is there, and what it defines may not be yet.
        is_configured = getattr(imported, "is_configured", None)
        if imported is not None and is_configured is not None and is_configured():
            logger = imported.get_logger(self._name)
        else:
            plain = logging.getLogger(self._name)
            if not plain.isEnabledFor(_LEVELS[level]):
                return
            import structlog

            logger = structlog.wrap_logger(
                plain,
                processors=[structlog.stdlib.filter_by_level,
                            structlog.processors.KeyValueRenderer(key_order=["event"])],
                wrapper_class=structlog.stdlib.BoundLogger,
            )  # fmt: skip
        getattr(logger, level)(event, **values)


def get_logger(name: str) -> Log:
    """The logger of a module."""
    return Log(name)
