"""Places whose tables are served: what appears there is taken up, what goes away is let go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen
from hoodoo.errors import HoodooError
from hoodoo.log import get_logger
from hoodoo_cli.toolkit.many import real_path, tables_of, where_it_lies

from hoodoo_serve.serving import Serving
from hoodoo_serve.table_services import TableServices

_log = get_logger(__name__)


def served(tables: Iterable[Any], named: Collection[str] = ()) -> list[str]:
    """The paths, without links, of those of :func:`tables_of` that have services: nothing is
    written to a backup. Those that lie where one of ``named`` does are served by that name."""
    paths = [real_path(one.path) for one in tables if one.is_table and not one.is_backup]
    own = set(map(where_it_lies, named))
    return [path for path in paths if where_it_lies(path) not in own]


@frozen
class Listed:
    """The last look at a place: when, how many tables there are, and why it failed."""

    at: float
    tables: int = 0
    error: str = ""


@define
class Places:
    """Looks at ``places`` every ``every`` seconds for tables, which ``serving`` serves as ``make``
    makes them. A place that can't be listed changes nothing. ``listed`` is called with each
    look."""

    serving: Serving
    places: Sequence[str]
    options: Mapping[str, Any]
    make: Callable[[str], TableServices]
    every: float = 300.0
    listed: Callable[[str, Listed], None] = lambda place, found: None
    named: Collection[str] = ()  # tables that are served by these paths
    last: dict[str, Listed] = field(factory=dict, init=False)
    _of: dict[str, frozenset[str]] = field(factory=dict, init=False)  # place -> paths
    _stop: threading.Event = field(factory=threading.Event, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    def look(self) -> None:
        """Look once at each place."""
        for place in self.places:
            self.last[place] = self._look(place)
            self.listed(place, self.last[place])

    def start(self) -> None:
        """Look from time to time, the first time after ``every`` seconds."""
        self._thread = threading.Thread(target=self._run, name="serve places", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No more looks; one that is running is finished."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(self.every):
            self.look()

    def _look(self, place: str) -> Listed:
        before = self._of.get(place, frozenset())
        try:
            seen = list(tables_of(place, self.options))
        except (HoodooError, OSError) as error:
            _log.warning("place_failed", place=place, error=str(error))
            return Listed(time.time(), len(before), str(error))
        found = frozenset(served(seen, self.named))
        failed = [table for table in seen if not table.is_table]
        if failed:  # what is below a folder that can't be listed may be there still
            found |= before
        self._of[place] = found
        for path in sorted(found - before):
            self.serving.add(self.make(path))
        everywhere = frozenset().union(*self._of.values())
        for path in sorted(before - everywhere):
            self.serving.remove(path)
        return Listed(time.time(), len(found), str(failed[0].error) if failed else "")
