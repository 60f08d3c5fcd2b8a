"""Trials: two writers, every schedule, and what has to hold at the end of each.

The writers' answers have to be those of one after the other, in the order in which they completed: so
no update is lost, and no key is there twice. Then one write and one clean later nothing is left over.
"""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import Factory, define, field, frozen
from effort import ALL, effort
from gates import Conflicts, Everything, Stops
from hoodoo.errors import CommitConflictError, HoodooError
from hoodoo.kernel.archived import load_archived
from hoodoo.storage.api import Storage
from hoodoo.table.table import Table
from hoodoo.testing.stores import GatedStorage
from hoodoo.timeline import heartbeat, ledger, properties
from hoodoo.timeline.markers import MARKERS
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.plans import pending_compactions
from hoodoo.timeline.timeline import Timeline, load
from hoodoo.timeline.view import list_data
from memory_store import MemoryStorage, Objects
from metadata_leaks import metadata_leaks
from schedules import Choose, Run, Search, Step
from tables import Kind, rows, to_disk
from world import State, World, opened, rows_of

SEED = int(
    os.environ.get("HOODOO_CRASH_SEED")
    or os.environ.get("HOODOO_SEED")
    or random.randrange(1 << 32)
)
Act = Callable[[Table], object]


@define
class Count:
    """What this run made."""

    schedules: int = 0
    three: int = 0


COUNT = Count()
_TO_THE_END = 1_000_000  # steps
REPORTS: list[str] = []  # lines for the end of the run


@frozen
class Scenario:
    """Writers at a table. ``options`` are those of the table as a writer opens it; ``before`` is done to
    the table first; ``dead`` are taken for dead by all others, whether they are or not; ``excused`` are
    errors that may end one: nothing of it is in the table then; ``partly``: of a
    writer that died, what readers may see until it is finished."""

    acts: Mapping[str, Act]
    options: Mapping[str, str] = field(factory=dict)
    before: Act | None = None
    heed_requests: bool = False
    dead: frozenset[str] = frozenset()
    excused: tuple[type[HoodooError], ...] = (CommitConflictError,)
    partly: Mapping[str, Act] = field(factory=dict)


@define
class Trial:
    """A scenario at one kind of table. ``timeline`` is that at the end of the last run."""

    scenario: Scenario
    kind: Kind
    objects: Objects
    world: World
    scratch: Path
    timeline: Timeline = field(init=False)
    _serial: dict[tuple[str, ...], State] = Factory(dict)
    _checked: set[object] = Factory(set)
    _length: dict[str, int] = Factory(dict)
    _steps: list[tuple[str, Step]] = Factory(list)

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
            self._begin()
            store = self.store()
            for name in names:
                self.scenario.acts[name](self._table(store))
            self._serial[names] = rows_of(self._table(store))
        return self._serial[names]

    def every_schedule(self, most: int | None = None, fine: bool = ALL) -> Search:
        """Run and check all of them, or the first ``most``."""
        # These are thousands.
        heed = self.scenario.heed_requests and self.kind.version == 6 and ALL
        search = Search(Conflicts(self.kind.timeline, heed))

        def make() -> Run:
            return self.started(lambda name: Stops(self.kind.timeline, heed, fine).stops)

        for run, answers in search.schedules(make):
            self.check(run, answers)
            if search.runs == most:
                break
        COUNT.schedules += search.runs
        return search

    def one_switch(self, every: int = 1) -> Iterator[Mapping[str, object]]:
        """With a step at every operation: one writer comes in before each step of the other, or before
        one in ``every``, the first and the last among them, and ends before that one goes on."""
        for first in self.scenario.acts:
            at = 0
            yield self.turns([(first, at)])
            while at < self._length[first]:
                at = min(at + every, self._length[first])
                yield self.turns([(first, at)])

    def some_switches(self, count: int, seed: random.Random) -> Iterator[Mapping[str, object]]:
        """As :meth:`one_switch`, before ``count`` steps of each writer, spread over all of them; and once
        each writer is first to the end."""
        for first in self.scenario.acts:
            yield self.turns([(first, _TO_THE_END)])
            part = self._length[first] / count
            for number in range(count):
                yield self.turns([(first, int((number + seed.random()) * part))])

    def switches(self, count: int, seed: random.Random) -> Iterator[Mapping[str, object]]:
        """``count`` runs in which the writers take turns of random lengths."""
        names = list(self.scenario.acts)
        for _ in range(count):
            turns = [
                (seed.choice(names), seed.randrange(1, 40)) for _ in range(seed.randrange(2, 7))
            ]
            yield self.turns(turns)

    def in_the_middle(
        self, first: str, second: str, count: int, each: int, seed: random.Random
    ) -> Iterator[Mapping[str, object]]:
        """``first`` stops before one of its changes, ``second`` goes on to one of its own; then ``first`` goes to its
        end, and ``second`` to its. ``count`` changes of the first, and ``each`` of the second for each of these."""
        yield self.turns([(first, _TO_THE_END)])
        for at in _some(self._changes(first), count, seed):
            yield self.turns([(first, at), (second, _TO_THE_END)])
            for until in _some(self._changes(second), each, seed):
                yield self.turns([(first, at), (second, until), (first, _TO_THE_END)])

    def undone_while_it_sleeps(self, first: str, second: str) -> None:
        """``first`` sleeps before one of its changes; ``second`` takes it for dead, and is in the middle of undoing it
        when ``first`` goes on."""
        count = effort(2, 12 if self.kind.has_metadata else 99)
        seed = random.Random(f"{SEED} {self.kind}")
        for _answers in self.in_the_middle(first, second, count, effort(2, 6), seed):
            COUNT.schedules += 1

    def _changes(self, name: str) -> list[int]:
        """Which of a writer's steps of the last run changed something, counted from 0."""
        own = [step for who, step in self._steps if who == name]
        return [at for at, step in enumerate(own) if step.mutates]

    def turns(self, turns: list[tuple[str, int]]) -> Mapping[str, object]:
        """Writers go on for so many steps, one after the other, then each to its end; their answers."""
        run = self.started(lambda name: Everything().stops)
        left = list(turns)

        def choose(waiting: Mapping[str, Step]) -> str:
            while left and (left[0][1] == 0 or left[0][0] not in waiting):
                left.pop(0)
            if left:
                name, steps = left[0]
                left[0] = (name, steps - 1)
                return name
            last = run.steps[-1][0] if run.steps else ""
            first = turns[0][0] if turns else ""
            others = [name for name in waiting if name != first]
            return last if last in waiting and last != first else (others or [first])[0]

        return self._ended(run, run(choose))

    def chosen(self, choose: Choose) -> Mapping[str, object]:
        """A run in which ``choose`` says who goes on; the writers' answers."""
        run = self.started(lambda name: Everything().stops)
        return self._ended(run, run(choose))

    def _ended(self, run: Run, answers: Mapping[str, object] | None) -> Mapping[str, object]:
        assert answers is not None
        self._steps = list(run.steps)
        for name in self.scenario.acts:
            self._length[name] = sum(who == name for who, _ in run.steps)
        self.check(run, answers)
        return answers

    def _begin(self) -> None:
        self.world.begin()
        self.world.dead |= self.scenario.dead

    def started(self, stops: Callable[[str], Callable[[str, str], bool]]) -> Run:
        self._begin()
        store = self.store()

        def work(name: str, act: Act) -> Callable[[], object]:
            stop = stops(name)

            def gate(op: str, path: str) -> None:
                if stop(op, path):
                    run.gate(name, op, path)

            return lambda: act(self._table(GatedStorage(store, gate)))

        run = Run({name: work(name, act) for name, act in self.scenario.acts.items()}, store)
        return run

    def check(self, run: Run, answers: Mapping[str, object]) -> None:
        try:
            self._check(run.store, answers)
        except Exception as error:
            steps = "\n".join(f"{name}: {step}" for name, step in run.steps)
            raise AssertionError(f"{error}\nafter\n{steps}") from error

    def _check(self, store: MemoryStorage, answers: Mapping[str, object]) -> None:
        for name, answer in answers.items():
            if isinstance(answer, BaseException) and not isinstance(answer, self.scenario.excused):
                raise AssertionError(f"{name} failed") from answer
        self.timeline = timeline = load(store, properties.load(store))
        found = rows_of(self._table(store))
        assert found == self.serial(self._order(timeline, answers)), "not one after the other"
        seen = self._seen(store, found)
        if seen not in self._checked:
            self._checked.add(seen)
            if self.kind.version > 6 or not pending_compactions(
                timeline
            ):  # `hudi` 0.5 misses their logs
                assert by_hudi(store, self.scratch / f"hudi-{len(self._checked)}") == found
            self._check_next(store, found)

    def _order(self, timeline: Timeline, answers: Mapping[str, object]) -> tuple[str, ...]:
        """The writers that have answered, by the completion of what they did."""
        done = {i.requested: i.completion_order for i in timeline.completed()}
        order: list[tuple[str, str]] = []
        for name, answer in answers.items():
            instant = getattr(answer, "instant", "")
            # What goes back does so from the moment at which it is announced.
            announced = getattr(answer, "announced", "")
            if announced:
                order.append((announced, name))
            elif instant:
                order.append((done[instant], name))
        return tuple(name for _, name in sorted(order))

    def _seen(self, store: Storage, found: State) -> object:
        """What one write more depends on: the names of all files, instants by their order, and rows."""
        names = [e.path for e in store.list("", recursive=True)]
        instants = sorted({m for name in names for m in re.findall(r"\d{17}", name)})
        rank = {instant: str(n) for n, instant in enumerate(instants)}
        plain = (re.sub(r"\d{17}", lambda m: rank[m[0]], name) for name in names)
        return tuple(sorted(plain)), found

    def _check_next(self, store: MemoryStorage, found: State) -> None:
        """The next write needs no manual step, and nothing is left once services have run."""
        table = self._table(store)
        table.upsert(rows({99: "b"}, "next", 9))
        more = (None,) if len(found[0]) == 4 else ()
        expected = tuple(sorted((*found, (99, "next", "b", *more))))
        assert rows_of(table) == expected
        if self.kind.merged:
            table.compact()
        table.clean(commits_retained=1)
        assert rows_of(table) == expected
        assert leaks(store) == [], leaks(store)
        if self.kind.has_metadata:
            self._check_metadata(store, expected)

    def _check_metadata(self, store: MemoryStorage, expected: State) -> None:
        """It says what the files say, so that no key that is there is taken for a new one."""
        table = self._table(store)
        assert len(table.config.metadata_partitions) == 4, table.config.metadata_partitions
        report = table.verify()
        assert report.ok, [str(f) for f in report.findings]
        table.upsert(rows({row[0]: row[2] for row in expected}, "all", 9))
        assert [row[0] for row in rows_of(table)] == [row[0] for row in expected]
        left = list(metadata_leaks(store, table.timeline(), services=True))
        assert left == [], left

    def _table(self, storage: Storage) -> Table:
        return opened(storage, self.scenario.options)


def _some(found: list[int], count: int, seed: random.Random) -> list[int]:
    return found if count >= len(found) else sorted(seed.sample(found, count))


def aged(table: Table) -> None:
    """Slices that a clean takes away."""
    for text in ("x", "y"):
        table.upsert(rows({2: "a"}, text, 2))
        if table.config.table_type == "MERGE_ON_READ":
            table.compact()


def run_planned(table: Table) -> object:
    """Run the one compaction that is pending."""
    (instant,) = [i.requested for i in table.timeline().pending() if i.action == "compaction"]
    return table.run_compaction(instant)


def by_hudi(store: MemoryStorage, path: Path) -> State:
    """The rows as the independent reader ``hudi`` sees them."""
    import hudi

    to_disk(store.objects, path)
    found: list[Any] = []
    for batch in hudi.HudiTableBuilder.from_base_uri(str(path)).build().read():
        names = [n for n in ("id", "v", "region", "more") if n in batch.schema.names]
        found += zip(*(batch.column(n).to_pylist() for n in names))
    shutil.rmtree(path)
    return tuple(sorted(found))


def leaks(storage: Storage) -> list[str]:
    """What should not be in the store after a write that succeeded."""
    timeline = load(storage, properties.load(storage))
    found = [f"pending {instant}" for instant in timeline.pending()]
    told = [timeline.metadata(storage, i) for i in timeline.writes()]
    archived = load_archived(storage, timeline.config)
    told += [i.metadata() for i in archived if i.is_write]
    named = {stat.path for metadata in told for stat in metadata.stats}
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
