"""The process that looks after tables: a thread each, until it is stopped."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from attrs import define, field
from hoodoo.log import get_logger

from hoodoo_serve.table_services import Round, TableServices

# Seconds between two questions whether the process that leads still lives.
STAND_BY = 1.0
_log = get_logger(__name__)


@define
class Serving:
    """``tables`` are looked at every ``every`` seconds, ``at_once`` of them at the same time;
    ``seen`` is called with a table's path and what a round came to, in the table's thread.

    >>> serving = Serving([TableServices("/data/flights", {})], every=60)
    >>> serving.start(); serving.stop(); serving.wait()
    """

    tables: Sequence[TableServices]
    every: float = 60.0
    at_once: int = 4
    seen: Callable[[str, Round], None] = lambda path, found: None
    last: dict[str, Round] = field(factory=dict, init=False)
    _stop: threading.Event = field(factory=threading.Event, init=False)
    _threads: list[threading.Thread] = field(factory=list, init=False)
    _slots: threading.Semaphore = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._slots = threading.Semaphore(max(1, self.at_once))
        for table in self.tables:
            table.stopped = self._stop.is_set

    def start(self) -> None:
        """Begin, and return."""
        for table in self.tables:
            thread = threading.Thread(target=self._serve, args=(table,), name=f"serve {table.path}")
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """End after the services that are running; the others are left to the next leader."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Until all have ended; whether they have, within ``seconds``."""
        end = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def states(self) -> Mapping[str, Round]:
        """The last round of each table that has had one."""
        return dict(self.last)

    def _serve(self, table: TableServices) -> None:
        try:
            while not self._stop.is_set():
                with self._slots:
                    found = table.round()
                self.last[table.path] = found
                self.seen(table.path, found)
                stands_by = found.role == "stands by"
                # Out of step with others, so that not all tables are listed in one moment.
                pause = min(STAND_BY, self.every) if stands_by else self.every
                self._stop.wait(pause * random.uniform(0.9, 1.1))
        finally:
            table.close()
