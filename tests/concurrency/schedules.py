"""Schedules: every order in which the storage operations of some writers can take effect.

A writer runs in a thread of its own and stops before each operation of its store; one at a time is let
go on, so what happens is decided by the choices alone. :func:`explore` repeats the run with other
choices until none is left: depth first, each run from the beginning.

Two orders of operations that don't conflict are one schedule (a trace of Mazurkiewicz): after a run,
each pair of conflicting operations that could have come the other way round asks for a run in which it
does (Flanagan and Godefroid, "Dynamic partial-order reduction", POPL 2005), and sleep sets leave out
what was there already. Nothing sleeps, nothing waits for a time: time-outs only say that it is stuck.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from attrs import Factory, define, frozen
from hoodoo.testing.stores import MUTATING
from memory_store import MemoryStorage

STUCK = 600.0


@frozen
class Step:
    """An operation of the store, before it takes place."""

    op: str
    path: str

    @property
    def mutates(self) -> bool:
        return self.op in MUTATING

    def __str__(self) -> str:
        return f"{self.op} {self.path}"


Conflict = Callable[[Step, Step], bool]
# The writers that wait, with their next steps -> who goes on; None: this run is of no use.
Choose = Callable[[Mapping[str, Step]], "str | None"]


class Abandoned(BaseException):
    """The run is over for this writer. Not an Exception, so that nothing handles it."""


@define
class _Writer:
    next: Step | None = None
    ended: bool = False
    answer: object = None
    one_at_a_time: threading.Lock = Factory(threading.Lock)
    go: threading.Event = Factory(threading.Event)


class Run:
    """Writers of ``store`` under one scheduler; before each of its steps a writer asks :meth:`gate`."""

    def __init__(self, works: Mapping[str, Callable[[], object]], store: MemoryStorage) -> None:
        self._works, self.store = works, store
        self._writers = {name: _Writer() for name in works}
        self._changed = threading.Condition()
        self._over = False
        self.steps: list[tuple[str, Step]] = []

    def gate(self, name: str, op: str, path: str) -> None:
        """Stop ``name`` before this step until it is chosen. Threads of one writer go one by one."""
        writer = self._writers[name]
        with writer.one_at_a_time:
            with self._changed:
                if not self._over:
                    writer.go.clear()
                    writer.next = Step(op, path)
                    self._changed.notify_all()
            if not writer.go.wait(STUCK) or self._over:
                raise Abandoned("the run is over")

    def __call__(self, choose: Choose) -> dict[str, object] | None:
        """What each writer answered, errors as values; None where ``choose`` gave the run up."""
        threads = [
            threading.Thread(target=self._work, args=(name,), name=name, daemon=True)
            for name in self._works
        ]
        try:
            for name, thread in zip(self._works, threads):
                thread.start()
                self._settled(name)
            while waiting := {n: w.next for n, w in self._writers.items() if w.next is not None}:
                chosen = choose(waiting)
                if chosen is None:
                    return None
                self.steps.append((chosen, waiting[chosen]))
                self._writers[chosen].next = None
                self._writers[chosen].go.set()
                self._settled(chosen)
        finally:
            with self._changed:
                self._over = True
            for writer in self._writers.values():
                writer.go.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join(STUCK)
                    assert not thread.is_alive(), f"writer {thread.name} does not end"
        return {name: writer.answer for name, writer in self._writers.items()}

    def _settled(self, name: str) -> None:
        writer = self._writers[name]
        with self._changed:
            there = self._changed.wait_for(lambda: writer.ended or writer.next is not None, STUCK)
        assert there, f"writer {name} is stuck outside of the store, after {self.steps[-1:]}"

    def _work(self, name: str) -> None:
        writer = self._writers[name]
        try:
            writer.answer = self._works[name]()
        except (Exception, Abandoned) as error:
            writer.answer = error
        finally:
            with self._changed:
                writer.ended, writer.next = True, None
                self._changed.notify_all()


@define
class _Node:
    """A state of the search: what waits there, who has been tried, who need not be."""

    waiting: Mapping[str, Step]
    sleep: set[str]
    chosen: str
    todo: set[str]
    done: set[str] = Factory(set)

    def left(self) -> list[str]:
        return sorted(self.todo - self.done - self.sleep)


@define
class Search:
    """Depth first over all schedules. ``pruned`` runs were given up as repetitions of others."""

    conflict: Conflict
    runs: int = 0
    pruned: int = 0
    _nodes: list[_Node] = Factory(list)
    _complete: bool = False

    @property
    def complete(self) -> bool:
        """Whether no schedule is left."""
        return self._complete

    def schedules(self, make: Callable[[], Run]) -> Iterator[tuple[Run, dict[str, object]]]:
        """Each schedule once: the run, and what its writers answered."""
        while True:
            run = make()
            depth = 0

            def choose(waiting: Mapping[str, Step]) -> str | None:
                nonlocal depth
                if depth == len(self._nodes):
                    node = self._node(waiting)
                    if node is None:
                        return None
                    self._nodes.append(node)
                node = self._nodes[depth]
                assert node.waiting == waiting, f"not repeatable: {node.waiting} {waiting}"
                depth += 1
                return node.chosen

            answers = run(choose)
            self._races(run.steps)
            if answers is None:
                self.pruned += 1
            else:
                self.runs += 1
                yield run, answers
            while self._nodes and not self._nodes[-1].left():
                self._nodes.pop()
            if not self._nodes:
                self._complete = True
                return
            node = self._nodes[-1]
            node.chosen = node.left()[0]
            node.done.add(node.chosen)

    def _node(self, waiting: Mapping[str, Step]) -> _Node | None:
        sleep: set[str] = set()
        last = ""
        if self._nodes:
            parent = self._nodes[-1]
            last, step = parent.chosen, parent.waiting[parent.chosen]
            sleep = {
                name for name in parent.sleep | (parent.done - {last})
                if name != last and not self.conflict(parent.waiting[name], step)
            }  # fmt: skip
        awake = [name for name in waiting if name not in sleep]
        if not awake:
            return None
        chosen = last if last in awake else awake[0]
        return _Node(dict(waiting), sleep, chosen, {chosen}, {chosen})

    def _races(self, steps: list[tuple[str, Step]]) -> None:
        """Of each pair that conflicts, with nothing between that orders it, ask for the other order."""
        clocks: list[dict[str, int]] = []  # of each step: the last step of every writer before it
        last: dict[str, int] = {}
        for at, (name, step) in enumerate(steps):
            clock = dict(clocks[last[name]]) if name in last else {}
            races = []
            for before in range(at - 1, -1, -1):
                other, earlier = steps[before]
                if clock.get(other, -1) < before and self.conflict(earlier, step):
                    races.append(before)
                    for who, when in clocks[before].items():
                        clock[who] = max(clock.get(who, -1), when)
            clock[name] = at
            clocks.append(clock)
            last[name] = at
            for before in races:
                self._ask(steps, clocks, before, at)

    def _ask(
        self, steps: list[tuple[str, Step]], clocks: list[dict[str, int]], before: int, at: int
    ) -> None:
        """Somebody who can begin what leads to step ``at`` without step ``before`` is to be chosen there."""
        rival = steps[before][0]
        apart = [
            n for n in range(before + 1, at + 1)
            if n == at or clocks[n].get(rival, -1) < before
        ]  # fmt: skip
        first: set[str] = set()
        for n in apart:
            name = steps[n][0]
            if not any(clocks[n].get(steps[m][0], -1) >= m for m in apart if m < n):
                first.add(name)
        node = self._nodes[before]
        if not first & node.todo:
            node.todo.add(steps[at][0] if steps[at][0] in first else min(first))
