"""The participant that keeps catalogs up to date after each action of a table.

A catalog that is down, slow or wrong never fails an action, and delays it by
``hoodoo.catalogs.wait`` at most. It is updated after the next action, whoever has committed
meanwhile: its entries say how far they are synced."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from attrs import define, field
from hoodoo.errors import HoodooError, warn
from hoodoo.hookspecs.participant import RebuildRequest
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.events import action_events
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline, load

from hoodoo_catalogs import options
from hoodoo_catalogs.described import Described
from hoodoo_catalogs.hookspecs.catalog import CatalogError
from hoodoo_catalogs.places import Place, catalogs_of
from hoodoo_catalogs.sync import Synced, sync

ACTION = "catalog_sync"
_LATER = "The next action, table.sync() or `hoodoo sync` repeats it."
_lock = threading.Lock()
# Table and place -> what is in progress there.
_running: dict[tuple[str, str], _InBackground] = {}


@define
class OfCatalogs:
    """The participant of a table that is in catalogs. It has no part in decisions: what it does
    comes after them.

    Implements :class:`~hoodoo.hookspecs.participant.Participant`."""

    settings: Settings
    _known: dict[Place, tuple[object, ...]] = field(factory=dict, init=False)

    def join(self, *look: object) -> None:
        return None

    def check(self) -> None:
        catalogs_of(self.settings.table, self.settings.options)

    def new_table(self, config: TableConfig) -> TableConfig:
        given = options.CATALOGS.given(self.settings.options)
        if not given:
            return config
        noted = (*(options.CATALOGS.stored(config.properties) or ()), *given)
        # Other processes may have another working directory.
        places = dict.fromkeys(str(Place.of(one)) for one in noted)
        text = options.CATALOGS.spell(tuple(places))
        return TableConfig({**config.properties, options.CATALOGS.key: text})

    def created(self, storage: Storage, config: TableConfig) -> None:
        """Make the entry of a table that was created by its name in a catalog."""
        place: Place | None = getattr(storage, "new_place", None)
        if place is not None:
            given = self.settings.options
            with without_entry(place, storage.root, "empty table"):
                sync(Described(storage, load(storage, config), given), place, place.open(given))

    def after_action(self, request: RebuildRequest, timeline: Timeline) -> tuple[str, ...]:
        given = self.settings.options
        places = catalogs_of(request.config, given)
        newest = timeline.writes()[-1:]
        state = (newest, len(timeline.writes()), request.config)
        due = [place for place in places if self._known.get(place) != state]
        if not due:
            return ()
        table = Described(request.storage, timeline, given)
        done = []
        for place, found in sync_all(table, due, given):
            if isinstance(found, HoodooError):
                warn(
                    f"table {table.config.name}: the catalog entry {place} is not updated "
                    f"({found}) {_LATER}"
                )
                continue
            self._known[place] = state
            if not found.skipped:
                done.append(str(place))
        return tuple(done)


@contextmanager
def without_entry(place: Place, root: str, what: str = "table") -> Iterator[None]:
    """An error in it names the table at ``root``, which is there and notes ``place``."""
    try:
        yield
    except HoodooError as error:
        path = root.removeprefix("file://")
        raise CatalogError(
            str(place),
            f"the entry is not made ({error.obj}: {error.rule.rstrip('.')}), and the "
            f"{what} is there: {path}.",
            f"{error.fix} Then hoodoo.open({path!r}).sync(), with these options, makes it.",
        ) from error


def sync_all(
    table: Described, places: list[Place], given: Mapping[str, str]
) -> list[tuple[Place, Synced | HoodooError]]:
    """Sync all ``places`` at the same time, and report each of them; waits ``hoodoo.catalogs.wait``
    at most."""
    end = time.monotonic() + options.WAIT.read(given)
    begun = [(place, _begin(table, place, given)) for place in places]
    return [(place, _reported(table, place, work, end)) for place, work in begun]


def _reported(
    table: Described, place: Place, work: _InBackground, end: float
) -> Synced | HoodooError:
    try:
        with action_events(
            ACTION, table.config.name, table.storage.root, quiet=True, catalog=str(place)
        ) as events:
            found = work.result(max(0.0, end - time.monotonic()))
            if found.skipped:
                events.skip()
            events.report(instant=found.instant or "", **found.detail)
            return found
    except HoodooError as error:
        return error


@define(eq=False)
class _InBackground:
    """A sync in a thread, which ends with the process."""

    place: Place
    work: Callable[[], Synced]
    found: Synced | HoodooError | None = None
    _done: threading.Event = field(factory=threading.Event, init=False)

    def start(self, ended: Callable[[], object]) -> None:
        def run() -> None:
            try:
                self.found = self.work()
            except HoodooError as error:
                self.found = error
            except Exception as error:  # a library that the catalog uses
                self.found = CatalogError(
                    f"catalog {self.place}", f"failed: {type(error).__name__}: {error}"
                )
            finally:
                ended()
                self._done.set()

        name = f"catalog {self.place}"
        threading.Thread(target=run, name=name, daemon=True).start()

    def result(self, seconds: float) -> Synced:
        """What came of it. CatalogError if it takes longer."""
        if not self._done.wait(seconds) or self.found is None:
            raise CatalogError(
                f"catalog {self.place}",
                "has not answered in time, and goes on in the background.",
                f"Check that it is reachable; {options.WAIT.key} says how long is waited.",
            )
        if isinstance(self.found, HoodooError):
            raise self.found
        return self.found


def _begin(table: Described, place: Place, given: Mapping[str, str]) -> _InBackground:
    """One sync at a time of a table and a place in this process: one that hangs holds no second
    one."""
    key = (table.storage.root, str(place))
    with _lock:
        running = _running.get(key)
        if running is not None:
            waits = CatalogError(
                f"catalog {place}",
                "an earlier update of this table is still in progress.",
                "Check that the catalog is reachable.",
            )
            found = _InBackground(place, lambda: _raise(waits))
            found.start(lambda: None)
            return found
        work = _InBackground(place, lambda: sync(table, place, place.open(given)))
        _running[key] = work

    def ended() -> None:
        with _lock:
            _running.pop(key, None)

    work.start(ended)
    return work


def _raise(error: HoodooError) -> Synced:
    raise error
