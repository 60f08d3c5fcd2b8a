"""The process that looks after tables: some threads, to which each table comes when it is due,
until it is stopped."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count

from attrs import define, field
from hoodoo.log import get_logger

from hoodoo_serve.table_services import Round, TableServices

# Seconds between two questions whether the process that leads still lives.
STAND_BY = 1.0
_log = get_logger(__name__)


@define
class Serving:
    """``tables`` are looked at every ``every`` seconds, ``at_once`` of them at the same time;
    ``seen`` is called with a table's path and what a round came to, in the table's thread; ``gone``
    with the path of a table that is removed, after that.

    >>> serving = Serving([TableServices("/data/flights", {})], every=60)
    >>> serving.start(); serving.stop(); serving.wait()
    """

    given: Sequence[TableServices]
    every: float = 60.0
    at_once: int = 4
    seen: Callable[[str, Round], None] = lambda path, found: None
    gone: Callable[[str], None] = lambda path: None
    last: dict[str, Round] = field(factory=dict, init=False)
    since: dict[str, float] = field(factory=dict, init=False)  # path -> when it was taken up
    _tables: dict[str, TableServices] = field(factory=dict, init=False)
    _due: list[tuple[float, int, TableServices]] = field(factory=list, init=False)
    _looking: set[str] = field(factory=set, init=False)  # paths that have a round now
    _order: count[int] = field(factory=count, init=False)
    _stop: threading.Event = field(factory=threading.Event, init=False)
    _wake: threading.Condition = field(factory=threading.Condition, init=False)
    _threads: list[threading.Thread] = field(factory=list, init=False)
    _working: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        for table in self.given:
            self.add(table)

    @property
    def paths(self) -> tuple[str, ...]:
        """The tables that are served now."""
        with self._wake:
            return tuple(self._tables)

    def start(self) -> None:
        """Begin, and return."""
        self._working = max(1, self.at_once)
        for number in range(self._working):
            thread = threading.Thread(target=self._work, name=f"serve {number}")
            self._threads.append(thread)
            thread.start()

    def add(self, table: TableServices) -> None:
        """Serve this one, too, from now on; harmless for the path of one that is served."""
        table.stopped = self._stop.is_set
        with self._wake:
            if table.path not in self._tables:
                self._tables[table.path] = table
                self.since[table.path] = time.time()
                self._push(table, 0.0)

    def remove(self, path: str) -> None:
        """Serve it no longer, after a round that is running."""
        with self._wake:
            table = self._tables.pop(path, None)
            self.since.pop(path, None)
            self.last.pop(path, None)
            if table is None or path in self._looking:
                return
        self._let_go(table)

    def stop(self) -> None:
        """End after the services that are running; the others are left to the next leader."""
        self._stop.set()
        with self._wake:  # a signal may come while this thread has it: it is reentrant
            self._wake.notify_all()

    def wait(self, seconds: float | None = None) -> bool:
        """Until all have ended; whether they have, within ``seconds``."""
        end = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def states(self) -> Mapping[str, Round]:
        """The last round of each table that has had one."""
        with self._wake:
            return dict(self.last)

    def _push(self, table: TableServices, pause: float) -> None:
        heapq.heappush(self._due, (time.monotonic() + pause, next(self._order), table))
        self._wake.notify()

    def _work(self) -> None:
        try:
            while (table := self._next()) is not None:
                self._look(table)
        finally:
            with self._wake:
                self._working -= 1
                ended = [] if self._working else list(self._tables.values())
            for table in ended:
                table.close()

    def _next(self) -> TableServices | None:
        """The table that is due, as soon as one is; None at the end."""
        with self._wake:
            while not self._stop.is_set():
                rest = self._due[0][0] - time.monotonic() if self._due else None
                if rest is None or rest > 0:
                    self._wake.wait(rest)
                else:
                    return heapq.heappop(self._due)[2]
        return None

    def _look(self, table: TableServices) -> None:
        with self._wake:
            if not self._is_served(table):  # it was let go while it waited
                return
            self._looking.add(table.path)
        found = table.round()
        self.seen(table.path, found)
        # What has a lock in each round only asks no more often while another one has it.
        stands_by = found.role == "stands by" and table.holds
        pause = min(STAND_BY, self.every) if stands_by else self.every
        with self._wake:
            self._looking.discard(table.path)
            if self._is_served(table):
                self.last[table.path] = found
                # Out of step with others, so that not all tables are listed in one moment.
                self._push(table, pause * random.uniform(0.9, 1.1))
                return
        self._let_go(table)

    def _let_go(self, table: TableServices) -> None:
        table.close()
        self.gone(table.path)

    def _is_served(self, table: TableServices) -> bool:
        return self._tables.get(table.path) is table
