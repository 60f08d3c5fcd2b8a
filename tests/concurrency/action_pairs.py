"""Pairs of actions: what each does to a small table, and what has to hold when two of them run beside each other.

A pair is run with a step at every operation below ``.hoodie`` and every change of data. One action stops before one of its
steps, the other one goes on to its end, or to a step of its own; either may die there. What is in the table then
is what one of them has made, or the other, or both, one after the other; who answered is in it, who failed is not. The
next write needs no manual step, an independent reader agrees, and ``verify`` finds nothing.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from attrs import Factory, define, frozen
from hoodoo.errors import HoodooError
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, GatedStorage
from hoodoo.timeline import properties
from hoodoo.timeline.plans import pending_compactions
from hoodoo.timeline.timeline import load
from memory_store import MemoryStorage
from schedules import Run, Step
from tables import COW6, COW9, COW_RECORDS, MOR6, MOR9, MOR_RECORDS, Kind, rows
from trials import Act, Scenario, Trial, by_hudi
from world import State, rows_of

ARCHIVING = {
    "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.commits.retained": "1",
}  # fmt: skip
DIED = "died"
_TO_THE_END = 1_000_000  # steps


@frozen
class Action:
    """``act``: what it does to a table whose writes were these instants; ``before``: what gives
    it something to do; ``partly``: a part of it, which readers see after a death until it is
    finished."""

    act: Callable[[Table, Sequence[str]], object]
    before: Act | None = None
    partly: Act | None = None


def _undo_newest(table: Table) -> None:
    table.restore(table.timeline().writes()[-2].requested)


def _indexed(table: Table) -> None:
    table.create_index("by_v", "v")


ACTIONS: Mapping[str, Action] = {
    "write": Action(lambda t, writes: t.upsert(rows({1: "a", 7: "a"}, "W", 9))),
    "rollback": Action(lambda t, writes: t.rollback(writes[-1])),
    # It undoes the newest first, and the other action of a pair has made one more at most.
    "restore": Action(lambda t, writes: t.restore(writes[-2]), partly=_undo_newest),
    "savepoint": Action(lambda t, writes: t.savepoint(writes[-1])),
    "clean": Action(lambda t, writes: t.clean(commits_retained=1)),
    "archive": Action(lambda t, writes: t.archive()),
    "compaction": Action(lambda t, writes: t.compact()),
    "logcompaction": Action(lambda t, writes: t.run("logcompaction")),
    "clustering": Action(lambda t, writes: t.cluster()),
    "rewrite": Action(lambda t, writes: t.rewrite({"hoodie.parquet.compression.codec": "gzip"})),
    "rewrite_keys": Action(lambda t, writes: t.rewrite_keys()),
    "switch_index": Action(lambda t, writes: t.switch_index("global_simple")),
    "rebuild_index": Action(lambda t, writes: t.rebuild_index()),
    "create_index": Action(lambda t, writes: t.create_index("by_v", "v")),
    "drop_index": Action(lambda t, writes: t.drop_index("by_v"), _indexed),
    "alter": Action(lambda t, writes: t.alter(add={"more": "string"})),
    "upgrade": Action(lambda t, writes: t.upgrade(9)),
    "downgrade": Action(lambda t, writes: t.downgrade(6)),
    "resize_buckets": Action(lambda t, writes: t.resize_buckets(2)),
}
PAIRS = tuple(itertools.combinations_with_replacement(ACTIONS, 2))
KINDS = (COW9, MOR9, COW6, MOR6)
_NEEDS_METADATA = {"rebuild_index", "create_index", "drop_index"}


def scenario(pair: tuple[str, str]) -> Scenario:
    """The pair at a table that has lived a while."""
    one, two = (ACTIONS[name] for name in pair)
    writes: list[str] = []

    def before(table: Table) -> None:
        lived(table)
        for action in {name: ACTIONS[name] for name in pair}.values():
            if action.before is not None:
                action.before(table)
        writes[:] = [instant.requested for instant in table.timeline().writes()]

    acts = {"A": lambda t: one.act(t, writes), "B": lambda t: two.act(t, writes)}
    partly = {name: a.partly for name, a in (("A", one), ("B", two)) if a.partly is not None}
    return Scenario(acts, ARCHIVING, before, excused=(HoodooError,), partly=partly)


def lived(table: Table) -> None:
    """Something to clean, to archive, to compact and to cluster."""
    merged = table.config.table_type == "MERGE_ON_READ"
    for text, ts in (("u", 3), ("v", 4)):
        table.upsert(rows({1: "a", 3: "b"}, text, ts))
        if merged:
            table.compact()
    table.clean(commits_retained=1)
    table.upsert(rows({2: "a", 3: "b"}, "w", 5))
    table.upsert(rows({1: "a", 4: "b"}, "x", 6))


def kind_of(pair: tuple[str, str], kind: Kind) -> Kind:
    """The ``kind`` of table, or where the pair needs another one, that."""
    merged = kind.merged or "compaction" in pair or "logcompaction" in pair
    if _NEEDS_METADATA & {*pair}:
        return MOR_RECORDS if merged else COW_RECORDS
    if "resize_buckets" in pair:
        return Kind(merged, index="bucket")
    if {"rewrite_keys", "downgrade"} & {*pair}:  # keys are rewritten with version 9 only
        return MOR9 if merged else COW9
    return Kind(merged, 6 if "upgrade" in pair else kind.version)


@define
class PairTrial(Trial):
    """``dies``: a writer, and the number of its step, from 0, at which its process ends."""

    dies: tuple[str, int] | None = None
    _allowed: dict[object, set[State]] = Factory(dict)
    _alone: dict[str, list[Step]] = Factory(dict)

    def drawn(self, seed: random.Random) -> Iterator[Mapping[str, object]]:
        """One action dies at one of its steps; and stops there, the other one goes on for some steps, the first to its
        end."""
        first, second = seed.sample("AB", 2)
        at = seed.randrange(self.length(first))
        yield self.pair([(first, at + 1)], (first, at))
        yield self.pair([(first, at), (second, seed.randrange(1, 60)), (first, _TO_THE_END)])

    def every(self, count: int, seed: random.Random) -> Iterator[Mapping[str, object]]:
        """Each action stops before ``count`` of its steps, spread over all of them, and the other one goes to its end;
        each dies at as many; and once for each of these, the other one stops, too, and the first goes to its end, or
        one of them dies there."""
        ends = {"A": "B", "B": "A"}
        for first, second in ends.items():
            for at in _spread(self.length(first), count, seed):
                yield self.pair([(first, at)])
                yield self.pair([(first, at + 1)], (first, at))
                until = seed.randrange(self.length(second))
                turns = [(first, at), (second, until + 1), (first, _TO_THE_END)]
                yield self.pair(turns, seed.choice([None, (second, until)]))

    def pair(
        self, turns: list[tuple[str, int]], dies: tuple[str, int] | None = None
    ) -> Mapping[str, object]:
        """The writers take these turns; one of them may die at a step."""
        self.dies = dies
        return self.turns(turns)

    def steps(self, name: str) -> list[Step]:
        """The steps of an action if nobody is beside it."""
        if name not in self._alone:
            self.pair([(name, _TO_THE_END)])
            self._alone[name] = [step for who, step in self._steps if who == name]
        return self._alone[name]

    def length(self, name: str) -> int:
        return len(self.steps(name))

    def started(self, stops: Callable[[str], Callable[[str, str], bool]]) -> Run:
        self._begin()
        store = self.store()

        def work(name: str, act: Act) -> Callable[[], object]:
            stop, steps, dead = stops(name), itertools.count(), [False]

            def gate(op: str, path: str) -> None:
                if stop(op, path) and not dead[0]:
                    run.gate(name, op, path)
                    dead[0] = self.dies == (name, next(steps))
                if dead[0]:  # also for what it would do in a ``finally``
                    self.world.dead.add(name)
                    raise Crash(f"{name} died before {op} {path}")

            def done() -> object:
                try:
                    return act(self._table(GatedStorage(store, gate)))
                except Crash:
                    return DIED

            return done

        run = Run({name: work(name, act) for name, act in self.scenario.acts.items()}, store)
        return run

    def allowed(self, answers: Mapping[str, object]) -> set[State]:
        """The rows of all orders: who answered is in it, who failed is not, who died may be."""
        done = {n for n, a in answers.items() if not isinstance(a, BaseException) and a != DIED}
        died = {n for n, a in answers.items() if a == DIED}
        key = (frozenset(done), frozenset(died))
        if key not in self._allowed:
            self._allowed[key] = {
                self._rows_after(order)
                for more in _subsets(died)
                for order in itertools.permutations(done | more)
            }
        return self._allowed[key]

    def between(self, answers: Mapping[str, object]) -> set[State]:
        """The rows that may be seen until what died is finished: some of what it does may be done."""
        rest = [n for n, a in answers.items() if not isinstance(a, BaseException)]
        died = [n for n in rest if answers[n] == DIED and n in self.scenario.partly]
        orders = {
            (*before, name)
            for name in died
            for count in range(len(rest))
            for before in itertools.permutations([n for n in rest if n != name], count)
        }
        partly = {self._rows_after(order, self.scenario.partly) for order in orders}
        return self.allowed(answers) | partly

    def _rows_after(
        self, order: tuple[str, ...], last: Mapping[str, Act] = MappingProxyType({})
    ) -> State:
        self._begin()
        store = self.store()
        acts = [self.scenario.acts[name] for name in order]
        for act in [*acts[:-1], *(last.get(name, acts[-1]) for name in order[-1:])]:
            with suppress(HoodooError):  # refused in this order: nothing of it is in the table
                act(self._table(store))
        return rows_of(self._table(store))

    def _check(self, store: MemoryStorage, answers: Mapping[str, object]) -> None:
        for name, answer in answers.items():
            if isinstance(answer, BaseException) and not isinstance(answer, HoodooError):
                raise AssertionError(f"{name} failed") from answer
        key = (frozenset((n, str(type(a))) for n, a in answers.items()), self._seen(store, ()))
        if key in self._checked:
            return
        found = rows_of(self._table(store))
        allowed = self.allowed(answers)
        seen = allowed if found in allowed else self.between(answers)
        assert found in seen, f"{found} is none of {seen}; {_told(answers)}"
        self._checked.add(key)
        # What was planned is finished by the next writer, also a restore, say, whose process has
        # died, and which has undone a part of what it undoes.
        self._check_goes_on(store, allowed if DIED in answers.values() else {found})

    def _check_goes_on(self, store: MemoryStorage, allowed: set[State]) -> None:
        """A writer that knows nothing of what happened needs no manual step, and no row is another one then."""
        self.world.dead |= {"A", "B"}
        self._table(store).upsert(rows({99: "b"}, "next", 9))
        expected = rows_of(self._table(store))
        assert expected in {_plus(found, 99, "next") for found in allowed}, f"{expected}, {allowed}"
        timeline = load(store, properties.load(store))
        if self.kind.version > 6 or not pending_compactions(timeline):
            seen = by_hudi(store, self.scratch / f"hudi-{len(self._checked)}")
            assert seen == expected, f"hudi reads {seen}, not {expected}"
        table = self._table(store)
        if self.kind.merged:
            table.compact()
        table.clean(commits_retained=1)
        table.upsert(rows({98: "b"}, "last", 9))
        table, found = self._table(store), rows_of(self._table(store))
        assert found == _plus(expected, 98, "last"), f"{found}, {expected}"
        pending = [i for i in table.timeline().pending() if not i.traits.is_service]
        assert pending == [], pending
        report = table.verify()
        assert report.ok, [str(f) for f in report.findings]


def _plus(found: State, key: int, text: str) -> State:
    more = (None,) if found and len(found[0]) == 4 else ()
    return tuple(sorted((*found, (key, text, "b", *more))))


def _spread(length: int, count: int, seed: random.Random) -> list[int]:
    """``count`` of so many steps, one of each of ``count`` parts of them; all of them if they are fewer."""
    if count >= length:
        return list(range(length))
    return [int((number + seed.random()) * length / count) for number in range(count)]


def _subsets(names: set[str]) -> Iterator[frozenset[str]]:
    for count in range(len(names) + 1):
        yield from map(frozenset, itertools.combinations(sorted(names), count))


def _told(answers: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(answer)[:200] for name, answer in answers.items()}
