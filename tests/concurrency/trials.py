"""Trials: two writers, every schedule, and what has to hold at the end of each.

The writers' answers have to be those of one after the other, in the order in which they completed: so
no update is lost, and no key is there twice. Then one write and one clean later nothing is left over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

from attrs import Factory, define, field, frozen
from gates import Conflicts, Everything, Stops
from hoodoo.errors import CommitConflictError
from hoodoo.storage.api import Storage
from hoodoo.table import Table
from hoodoo.testing.stores import GatedStorage
from hoodoo.timeline import heartbeat, ledger, properties
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.timeline import Timeline, load
from hoodoo.timeline.view import list_data
from hoodoo.write.target import MARKERS
from memory_store import MemoryStorage, Objects
from schedules import Run, Search
from tables import Kind, rows, to_disk
from world import State, World, opened, rows_of

ALL = bool(os.environ.get("HOODOO_CRASH_ALL"))
Act = Callable[[Table], object]


@define
class Count:
    """What this run made."""

    schedules: int = 0
    three: int = 0


COUNT = Count()


@frozen
class Scenario:
    """Two writers at a table. ``options`` are those of the table as a writer opens it; ``before`` is
    done to the table first."""

    acts: Mapping[str, Act]
    options: Mapping[str, str] = field(factory=dict)
    before: Act | None = None
    heed_requests: bool = False


@define
class Trial:
    """A scenario at one kind of table."""

    scenario: Scenario
    kind: Kind
    objects: Objects
    world: World
    scratch: Path
    _serial: dict[tuple[str, ...], State] = Factory(dict)
    _checked: set[object] = Factory(set)

    def __attrs_post_init__(self) -> None:
        if self.scenario.before is not None:
            self.world.begin()
            store = self.store()
            self.scenario.before(self._table(store))
            self.objects = store.objects

    def store(self) -> MemoryStorage:
        return MemoryStorage(self.scratch, self.objects)

    def serial(self, names: tuple[str, ...]) -> State:
        """The rows after these writers, one after the other."""
        if names not in self._serial:
            self.world.begin()
            store = self.store()
            for name in names:
                self.scenario.acts[name](self._table(store))
            self._serial[names] = rows_of(self._table(store))
        return self._serial[names]

    def every_schedule(self, most: int | None = None, fine: bool = ALL) -> Search:
        """Run and check all of them, or the first ``most``."""
        conflicts = Conflicts(self.kind.timeline, self.scenario.heed_requests)
        search = Search(conflicts)
        heed = self.scenario.heed_requests

        def make() -> Run:
            return self.started(lambda name: Stops(self.kind.timeline, heed, fine).stops)

        for run, answers in search.schedules(make):
            self.check(run, answers)
            if search.runs == most:
                break
        COUNT.schedules += search.runs
        return search

    def started(self, stops: Callable[[str], Callable[[str, str], bool]]) -> Run:
        self.world.begin()
        store = self.store()

        def work(name: str, act: Act) -> Callable[[], object]:
            stop = stops(name)

            def gate(op: str, path: str) -> None:
                if stop(op, path):
                    run.gate(name, op, path)

            return lambda: act(self._table(GatedStorage(store, gate)))

        run = Run({name: work(name, act) for name, act in self.scenario.acts.items()})
        run.store = store
        return run

    def check(self, run: Run, answers: Mapping[str, object]) -> None:
        try:
            self._check(run.store, answers)
        except BaseException as error:
            error.add_note("\n".join(f"{name}: {step}" for name, step in run.steps))
            raise

    def _check(self, store: MemoryStorage, answers: Mapping[str, object]) -> None:
        for name, answer in answers.items():
            if isinstance(answer, BaseException) and not isinstance(answer, CommitConflictError):
                raise AssertionError(f"{name} failed") from answer
        timeline = load(store, properties.load(store))
        found = rows_of(self._table(store))
        assert found == self.serial(self._order(timeline, answers)), "not one after the other"
        seen = self._seen(store, timeline, found)
        if seen not in self._checked:
            self._checked.add(seen)
            self._check_next(store, found)

    def _order(self, timeline: Timeline, answers: Mapping[str, object]) -> tuple[str, ...]:
        """The writers whose rows are in the table, by completion."""
        done = {i.requested: i.completion_order for i in timeline.writes()}
        order: list[tuple[str, str]] = []
        for name, answer in answers.items():
            instant = getattr(answer, "instant", "")
            if instant in done:
                order.append((done[instant], name))
            else:
                assert not instant or getattr(answer, "files", ()), f"{name}: {instant} is not there"
        return tuple(name for _, name in sorted(order))

    def _seen(self, store: Storage, timeline: Timeline, found: State) -> object:
        """What one write more depends on: the names of all files, instants by their order, and rows."""
        names = [e.path for e in store.list("", recursive=True)]
        instants = sorted({m for name in names for m in re.findall(r"\d{17}", name)})
        rank = {instant: str(n) for n, instant in enumerate(instants)}
        plain = (re.sub(r"\d{17}", lambda m: rank[m[0]], name) for name in names)
        return tuple(sorted(plain)), found

    def _check_next(self, store: MemoryStorage, found: State) -> None:
        """The next write needs no manual step, and nothing is left once clean has run."""
        table = self._table(store)
        table.upsert(rows({99: "b"}, "next", 9))
        more = (None,) if len(found[0]) == 4 else ()
        assert rows_of(table) == tuple(sorted((*found, (99, "next", "b", *more))))
        table.clean(commits_retained=1)
        assert rows_of(table) == tuple(sorted((*found, (99, "next", "b", *more))))
        assert leaks(store) == []

    def _table(self, storage: Storage) -> Table:
        return opened(storage, self.scenario.options)


def run_planned(table: Table) -> object:
    """Run the one compaction that is pending."""
    (instant,) = [i.requested for i in table.timeline().pending() if i.action == "compaction"]
    return table.run_compaction(instant)


def leaks(storage: Storage) -> list[str]:
    """What should not be in the store after a write that succeeded."""
    timeline = load(storage, properties.load(storage))
    found = [f"pending {instant}" for instant in timeline.pending()]
    named = {s.path for i in timeline.writes() for s in timeline.metadata(storage, i).stats}
    for entry in list_data(storage):
        file = parse_path(entry.path)
        if file is not None and entry.path not in named:
            found.append(f"data file {entry.path}")
    found += [f"temporary {e.path}" for e in storage.list(MARKERS, recursive=True)]
    found += [f"heartbeat {e.path}" for e in storage.list(heartbeat.FOLDER, recursive=True)]
    numbers = storage.list(ledger.FOLDER)
    if len(numbers) > 2 * (ledger.KEPT + 1):
        found.append(f"{len(numbers)} files of the ledger")
    return found
