"""Many tables as the page shows them: a row for each, made again where its timeline has changed."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import hoodoo
from attrs import define, evolve, field, frozen
from hoodoo.errors import HoodooError, NotATableError

from hoodoo_cli.reports.summary import TableSummary
from hoodoo_cli.tables_below import TableBelow
from hoodoo_cli.toolkit.many import Asked, tables_of
from hoodoo_cli.toolkit.prices import Prices
from hoodoo_cli.ui.services import Health
from hoodoo_cli.ui.shown import ShownTable

_FAILED = "failed"
_OPEN = 16  # tables whose own pages were asked for last


@frozen
class _Row:
    """``made``: the mark of the timeline that the answer is of."""

    asked: Asked
    made: str | None = None


@define
class ManyTables:
    """The tables of ``place``. Nothing is listed while nobody looks: a question begins a thread
    that lists what is older than ``every`` seconds. Safe in threads."""

    place: str
    given: Mapping[str, str] = field(factory=dict)
    health: tuple[Health, ...] = ()
    prices: Prices = field(factory=Prices)
    every: float = 60.0
    at_once: int = 4
    clock: Callable[[], float] = time.monotonic
    _rows: dict[str, _Row] = field(factory=dict, init=False)
    _shown: OrderedDict[str, ShownTable] = field(factory=OrderedDict, init=False)
    _lock: threading.RLock = field(factory=threading.RLock, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _listed: float | None = field(default=None, init=False)
    _error: str = field(default="", init=False)
    _stop: threading.Event = field(factory=threading.Event, init=False)

    def tables(self, mark: str = "") -> dict[str, Any]:
        """All rows as far as they are known, or that nothing is new since the answer with that
        ``mark``. ``waiting`` counts rows that are still made."""
        self._look()
        with self._lock:
            rows = sorted(self._rows.items(), key=lambda item: item[1].asked.table.name)
            waiting = sum(row.made is None for _, row in rows)
            text = repr([(number, r.made, r.asked.table.mark, r.asked.state) for number, r in rows])
            now = hashlib.sha256(f"{text}{self._error}".encode()).hexdigest()[:16]
            answer: dict[str, Any] = {
                "mark": now,
                "place": self.place,
                "listed": self._listed is not None,
                "waiting": waiting,
                "error": self._error,
                "prices": bool(self.prices),
                "health": [one.asked() for one in self.health],
            }
        return answer if mark == now else {**answer, "rows": [self._plain(*row) for row in rows]}

    def table(self, number: str) -> ShownTable:
        """The table of a row, as its own page shows it. NotATableError if there is no such row."""
        with self._lock:
            row = self._rows.get(number)
        if row is None and self._listed is None:  # the page of a table, before that of all
            self._list()
            row = self._rows.get(number)
        if row is None:
            raise NotATableError(
                f"table {number}", "is not there any more.", "Go back to the list of all tables."
            )
        with self._lock:
            shown = self._shown.pop(number, None)
            if shown is None:
                shown = ShownTable(row.asked.table.path, self.given, self.health)
            self._shown[number] = shown
            while len(self._shown) > _OPEN:
                self._shown.popitem(last=False)
        return shown

    def stop(self) -> None:
        """End; what is looked at now is finished."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self) -> None:
        with self._lock:
            if self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
                return
            if self._listed is not None and self.clock() - self._listed < self.every:
                return
            self._thread = threading.Thread(target=self._turn, name="ui tables", daemon=True)
            self._thread.start()

    def _turn(self) -> None:
        self._list()
        with self._lock:
            old = [n for n, row in self._rows.items() if row.made != row.asked.table.mark]
        with ThreadPoolExecutor(self.at_once) as pool:
            list(pool.map(self._make, old))

    def _list(self) -> None:
        try:
            found = {_number(table.path): table for table in tables_of(self.place, self.given)}
        except (HoodooError, OSError) as error:
            with self._lock:
                self._error, self._listed = str(error), self.clock()
            return
        with self._lock:
            self._rows = {number: self._row(number, table) for number, table in found.items()}
            self._error, self._listed = "", self.clock()

    def _row(self, number: str, table: TableBelow) -> _Row:
        before = self._rows.get(number)
        if table.error is not None:
            return _Row(Asked(table, error=table.error), table.mark)
        if before is None:
            return _Row(Asked(table))
        return evolve(before, asked=evolve(before.asked, table=table))

    def _make(self, number: str) -> None:
        with self._lock:
            row = self._rows.get(number)
        if row is None or self._stop.is_set():
            return
        table = row.asked.table
        try:
            asked = Asked(table, hoodoo.open(table.path, dict(self.given)).report("summary"))
        except Exception as error:  # the other tables have rows
            asked = Asked(table, error=error)
        with self._lock:
            if number in self._rows:
                # What failed is asked again, also of the same timeline.
                self._rows[number] = _Row(asked, _FAILED if asked.error else table.mark)

    def _plain(self, number: str, row: _Row) -> dict[str, Any]:
        table, found = row.asked.table, row.asked.value
        config = table.config
        plain: dict[str, Any] = {
            "id": number,
            "name": table.name or ".",
            "path": table.path,
            "is_table": table.is_table,
            "type": config.table_type if config is not None else None,
            "version": config.version if config is not None else None,
            "state": row.asked.state,
            "error": None if row.asked.error is None else row.asked.sentence,
            "made": row.made is not None,
        }
        if isinstance(found, TableSummary):
            cost = self.prices.cost(table.path, found.bytes)
            plain["summary"] = {**found.to_dict(), "cost": cost}
        return plain


def _number(path: str) -> str:
    """What the address of the table's page has: the same at each start."""
    return hashlib.sha256(path.encode()).hexdigest()[:12]
