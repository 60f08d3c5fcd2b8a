"""What the crash tests share: tiny tables, two readers, and what must not be left on disk.

A trial works on a fresh copy of a prepared table. A *state* is the table's rows as two independent
readers, Hoodoo reopened and the ``hudi`` wheel, see them.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import define, frozen
from crash_leaks import leaks
from hoodoo.hookspecs.engine import Engine, Step
from hoodoo.kernel.answers.engines import Watched
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import DAY, TEMP_DIR
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage, RecordingStorage
from hoodoo.timeline import properties
from hoodoo.timeline.decision import FOLDER as LEDGER
from hoodoo.timeline.heartbeat import FOLDER as HEARTBEATS
from hoodoo.timeline.markers import MARKERS
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage

VERSIONS = (6, 9)
WHEN = ("before", "after", "torn")
SCHEMA = pa.schema(
    [("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64()), ("region", pa.string())]
)

Row = tuple[int, str, str]
State = tuple[Row, ...]
Operation = Callable[[Table], object]
Wrap = Callable[[Storage], Storage]
Mutations = tuple[tuple[str, str], ...]

SEED = int(
    os.environ.get("HOODOO_CRASH_SEED")
    or os.environ.get("HOODOO_SEED")
    or random.randrange(1 << 32)
)


@define
class Count:
    """What this run made: ``trials`` of crashes, errors and zombies; ``damages`` of files."""

    trials: int = 0
    damages: int = 0


COUNT = Count()

rows = Maker(SCHEMA, "v", "ts", mapped="region")


OPERATIONS: dict[str, Operation] = {
    "upsert": lambda t: t.upsert(rows({1: "a", 6: "b", 7: "c"}, "new", 3)),
    "insert": lambda t: t.insert(rows({8: "a", 9: "c"}, "new", 3)),
    "delete": lambda t: t.delete([1, 3]),
    "bulk_insert": lambda t: t.bulk_insert(rows({8: "a", 9: "c"}, "new", 3)),
    "insert_overwrite": lambda t: t.insert_overwrite(rows({8: "a", 9: "c"}, "new", 3)),
    "insert_overwrite_table": lambda t: t.insert_overwrite_table(rows({8: "a", 9: "c"}, "new", 3)),
    "delete_partitions": lambda t: t.delete_partitions("a"),
}
NEXT: Row = (99, "next", "b")


def write_next(table: Table) -> None:
    """What a later writer does, knowing nothing of what happened: upsert one other key."""
    key, text, region = NEXT
    table.upsert(rows({key: region}, text, 9))


def build(path: Path, version: int, commits: int = 2) -> Path:
    """A partitioned table, ``commits`` (0 to 2) commits old."""
    hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        table_version=version,
    )  # fmt: skip
    table = opened(path)
    if commits > 0:
        table.insert(rows({1: "a", 2: "a", 3: "b", 4: "b"}, "old", 1))
    if commits > 1:
        table.upsert(rows({2: "a", 5: "b"}, "mid", 2))
    return path


def opened(path: Path, wrap: Wrap | None = None, engine: Engine | None = None) -> Table:
    """The table at ``path`` as a new process opens it; ``wrap`` goes around its store.

    One thread, so that the n-th operation of a write is the same in each trial.
    """
    plain = LocalStorage(str(path), durable=False)
    storage = wrap(plain) if wrap else plain
    return Table(storage, properties.load(plain), {}, engine or LocalEngine(1))


def ours(path: Path) -> State:
    found = opened(path).read(columns=["id", "v", "region"]).to_arrow()
    return tuple(sorted(zip(*(found.column(n).to_pylist() for n in ("id", "v", "region")))))


def theirs(path: Path) -> State:
    """By the independent reader ``hudi``."""
    import hudi

    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read()
    found: list[Row] = []
    for batch in batches:
        found += zip(*(batch.column(n).to_pylist() for n in ("id", "v", "region")))
    return tuple(sorted(found))


def state(path: Path) -> State:
    """The rows, which both readers have to agree on."""
    mine, other = ours(path), theirs(path)
    assert mine == other, f"Hoodoo reads {mine}, hudi reads {other}"
    return mine


def plus_next(before: State) -> State:
    return tuple(sorted((*before, NEXT)))


@frozen
class Prepared:
    """A table to copy, and what one operation makes of it."""

    path: Path
    operation: Operation
    old: State
    new: State
    mutations: Mutations

    @property
    def steps(self) -> int:
        return len(self.mutations)

    @property
    def decisions(self) -> list[int]:
        """The operations (from 1) that take a number: each decides what follows it. Before the first
        one of a write all its files are there, and nothing is published."""
        numbers = (n for n, (_, path) in enumerate(self.mutations, 1) if _is_number(path))
        return list(numbers)


def _is_number(path: str) -> bool:
    return path.startswith(f"{LEDGER}/") and not path.endswith(".done")


def prepared(
    base: Path, scratch: Path, operation: Operation, changes_rows: bool = True
) -> Prepared:
    """Run ``operation`` once without trouble, to learn its outcome and its storage operations."""
    target = scratch / "whole"
    steps = mutations(base, target, operation)
    found = Prepared(base, operation, state(base), state(target), steps)
    assert (found.old != found.new) == changes_rows, "the trial would prove nothing"
    assert found.steps
    return found


def mutations(base: Path, target: Path, operation: Operation) -> Mutations:
    """The mutating storage operations of ``operation`` on a copy of ``base``, which is ``target``."""
    stores: list[RecordingStorage] = []

    def record(inner: Storage) -> Storage:
        stores.append(RecordingStorage(inner))
        return stores[0]

    operation(opened(copied(base, target), record))
    return tuple(stores[0].mutations)


def step(steps: Mutations, suffix: str) -> int:
    """The first of ``steps`` (from 1) on a path that ends so."""
    return next(n for n, (_, path) in enumerate(steps, 1) if path.endswith(suffix))


def copied(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    return target


def crash(
    path: Path, operation: Operation, at: int, when: Any, engine: Engine | None = None
) -> None:
    """Run ``operation`` in a process that ends at its ``at``-th mutating storage operation."""
    stores: list[CrashingStorage] = []

    def crashing(inner: Storage) -> Storage:
        stores.append(CrashingStorage(inner, at, when))
        return stores[0]

    try:
        operation(opened(path, crashing, engine))
    except Crash:
        pass
    assert stores[0].crashed, f"there was no operation {at}"


def plain(step: Step) -> Step:
    """``step`` without what core puts around it on its way to an engine."""
    return step.step if isinstance(step, Watched) else step


def check_next_write(path: Path, found: State, where: str) -> None:
    """The next write needs no manual step, adds its key to ``found``, and leaves nothing behind."""
    age_temporaries(path)
    write_next(opened(path))
    assert state(path) == plus_next(found), where
    assert leaks(path) == [], where


def next_number(path: Path) -> str:
    """How the file of the next decision ends."""
    numbers = (int(p.name) for p in (path / LEDGER).glob("*[0-9]"))
    return f"/{max(numbers, default=0) + 1:012d}"


def age_temporaries(path: Path) -> None:
    """As if two days had passed: the store sweeps only temporaries that nobody can be writing, and a
    torn heartbeat says nothing but how old it is."""
    past = time.time() - 2 * DAY
    for folder in (TEMP_DIR, HEARTBEATS, MARKERS):
        for directory, _, names in os.walk(path / folder):
            for name in names:
                os.utime(os.path.join(directory, name), (past, past))
