"""A process that ends in the middle of something: what the crash suites, and tests of your own, are
made of.

A trial opens a table twice. :func:`crash` opens it over a store that ends the process at a chosen
operation; then :func:`opened` opens it as the next process does. Both work on every engine: what
runs on the driver ends; workers in other processes go on for a while, as those of a cluster do.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.engine import Engine
from hoodoo.kernel.resolve import declared_options, resolve
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import TEMP_DIR
from hoodoo.table.table import Table
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import Crash, CrashingStorage, RecordingStorage
from hoodoo.testing.tables import opened_in
from hoodoo.timeline.heartbeat import FOLDER as HEARTBEATS

Operation = Callable[[Table], object]
When = Literal["before", "after", "torn"]
_PAST = 2 * 86400


def one_thread() -> Engine:
    """The local engine. So the n-th storage operation is the same in each trial."""
    threads = next(o for o in declared_options("engine", "local") if o.key.endswith(".threads"))
    found: Engine = resolve("engine", "local", Settings(options={threads.key: "1"})).instance
    return found


def opened(
    path: Path,
    options: Mapping[str, str] | None = None,
    engine: Engine | None = None,
    wrap: Callable[[Storage], Storage] | None = None,
) -> Table:
    """The table in the local directory ``path`` as a new process opens it; ``wrap`` goes around its
    store. ``engine``: by default one thread of the local one."""
    store = DirectoryStorage(str(path))
    wrapped = wrap(store) if wrap else store
    return opened_in(wrapped, options, engine or one_thread())


def mutations(
    path: Path,
    operation: Operation,
    options: Mapping[str, str] | None = None,
    engine: Engine | None = None,
) -> list[tuple[str, str]]:
    """Do it, without a crash: ``(storage operation, path)`` of all that changes the store, in their
    order."""
    stores: list[RecordingStorage] = []

    def recording(inner: Storage) -> Storage:
        stores.append(RecordingStorage(inner))
        return stores[0]

    operation(opened(path, options, engine, recording))
    return stores[0].mutations


def crash(
    path: Path,
    operation: Operation,
    at: int,
    when: When = "before",
    options: Mapping[str, str] | None = None,
    engine: Engine | None = None,
) -> bool:
    """Do it in a process that ends at the ``at``-th operation that changes the store; whether there
    were so many. Where there were fewer it is done. Errors that ``operation`` raises by itself come
    through."""
    stores: list[CrashingStorage] = []

    def crashing(inner: Storage) -> Storage:
        stores.append(CrashingStorage(inner, at, when))
        return stores[0]

    try:
        operation(opened(path, options, engine, crashing))
    except BaseException:
        # What an operation makes of the crash on its way out is no answer of a process that has
        # ended.
        if not stores or not stores[0].crashed:
            raise
    finally:
        outlive(path)
    return stores[0].crashed


def outlive(path: Path) -> None:
    """As if two days had passed: nobody can be writing what the process has left. (A crash that is
    an exception ends no process: its temporary files and heartbeats look alive.)"""
    past = time.time() - _PAST
    for folder in (TEMP_DIR, HEARTBEATS):
        for directory, _, names in os.walk(path / folder):
            for name in names:
                os.utime(os.path.join(directory, name), (past, past))


__all__ = ["Crash", "Operation", "When", "crash", "mutations", "one_thread", "opened", "outlive"]
