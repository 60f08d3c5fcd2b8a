"""Worlds: a table in memory, and writers that are processes of their own as far as they can tell.

What a run may depend on besides the order of operations is fixed: the clock stands still, the wait
after a lost race is chosen, tokens are counted, and every writer has heartbeats of its own.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import Factory, define
from hoodoo.actions import writer_queue as turns
from hoodoo.actions.writer_queue import WriterQueue
from hoodoo.storage.api import Storage
from hoodoo.table.table import Table
from hoodoo.timeline import heartbeat, ledger, properties, publish
from hoodoo_standard.engine.local import LocalEngine

NOON = datetime(2026, 3, 29, 12, tzinfo=timezone.utc)
# A write does its work and nothing else; services are writers of their own.
ALONE = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.cleaner.parallelism": "1",
}
MAIN = "MainThread"

Row = tuple[Any, ...]
State = tuple[Row, ...]


@define
class World:
    """What the library asks the world for, by the writer whose thread asks. ``dead``: writers that
    seem gone to all others. ``apart``: milliseconds between the clocks of two writers; without, they
    take the same instants; ``clock`` answers a writer's name instead."""

    dead: set[str] = Factory(set)
    apart: int = 300
    clock: Callable[[str], datetime] | None = None
    _beats: dict[str, Any] = Factory(dict)
    _counts: dict[str, Iterator[int]] = Factory(dict)

    def begin(self) -> None:
        """Another run: everything is counted from the start."""
        self.dead.clear()
        self._counts.clear()

    def now(self, given: datetime | None) -> datetime:
        if self.clock is not None:
            return given or self.clock(_who())
        behind = "ABC".find(_who()) + 1
        return given or NOON + timedelta(milliseconds=behind * self.apart)

    def identity(self) -> dict[str, object]:
        return {"host": "host", "pid": 1, "started": "", "process": _who(), "interval": 60.0}

    def beats(self) -> Any:
        return self._beats.setdefault(_who(), heartbeat._Beats())

    def lives(self, told: Mapping[str, object]) -> bool:
        return told["process"] not in self.dead

    def token(self) -> Any:
        count = self._counts.setdefault(_who(), itertools.count())
        return SimpleNamespace(hex=f"{_who()}-{next(count)}")

    def chance(self, limit: int) -> int:
        """The first writer never waits after a lost race, the others as long as they may."""
        return limit - 1 if _who() in ("B", "C") else 0


def _who() -> str:
    return threading.current_thread().name


@contextmanager
def fixed() -> Iterator[World]:
    """For the time of this context all that is not an operation of the store is as the world says."""
    world = World()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "_at", world.now)
        patch.setattr(publish, "random", SimpleNamespace(randrange=world.chance))
        patch.setattr(ledger, "uuid", SimpleNamespace(uuid4=world.token))
        patch.setattr(heartbeat, "identity", world.identity)
        patch.setattr(heartbeat, "_beats", world.beats)
        patch.setattr(heartbeat._Beats, "_renew", lambda self: None)
        patch.setattr(heartbeat, "process_lives", world.lives)
        # Any wait is one of the orders that are tried, so none is needed.
        for module in (turns, properties):
            patch.setattr(module, "time", SimpleNamespace(sleep=lambda seconds: None))
        yield world


def opened(storage: Storage, options: Mapping[str, str] | None = None) -> Table:
    """The table as a process opens it. Turns choose among the orders, so there are none."""
    table = Table(storage, properties.load(storage), {**ALONE, **(options or {})}, LocalEngine(1))
    table.handle.writer_queue = WriterQueue()
    return table


def rows_of(table: Table) -> State:
    """Sorted by key; with the column ``more`` where the table has it."""
    names = ["id", "v", "region", *(["more"] if "more" in table.schema.names else [])]
    found = table.read(columns=names).to_arrow()
    return tuple(sorted(zip(*(found.column(n).to_pylist() for n in names))))
