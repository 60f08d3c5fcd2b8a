"""A table of 2,000 commits beside one of 20: the same rows and file groups, the same work asked of both.

Both are cleaned and archived after every commit, as by default; that is what is measured. Runs on the two
tables take turns, so that what else the machine does falls on both. Operations on the store are counted
besides: they are the same on every machine.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, frozen
from hoodoo.table import settings as tables
from hoodoo.table.table import Table
from hoodoo.testing.stores import RecordingStorage
from hoodoo.timeline import properties

from tests.bench import data
from tests.bench.measure import Figure, Report

SHORT, LONG = 20, 2000
ROWS, CHANGED = 4000, 5
# Rows by commit: which ones follow from its number alone, so that what has to be there can be computed.
STRIDE = 797
SCHEMA = pa.schema([("id", pa.int64()), ("commit", pa.int64()), ("text", pa.string())])
NO_CLEAN = {"hoodie.clean.automatic": "false"}
NO_ARCHIVE = {"hoodie.archive.automatic": "false"}
GOAL = 1.5


@frozen
class Kind:
    name: str
    version: int
    options: Mapping[str, Any]
    table_type: str = "COPY_ON_WRITE"

    @property
    def folder(self) -> str:
        return self.name.replace(" ", "-").replace(",", "")


BUCKETS = {"hoodie.bucket.index.num.buckets": 4}
KINDS = (
    Kind("copied on write", 9, {}),
    Kind("merged on read", 9, {"hoodie.compact.inline": "true"}, "MERGE_ON_READ"),
    Kind("copied on write, version 6", 6, {}),
)


def _text(ids: Any, commit: int) -> pa.Array:
    return pa.array([f"row {i} of commit {commit}, and some more letters" for i in ids])


def _first() -> pa.Table:
    ids = np.arange(ROWS)
    return pa.table([ids, np.zeros(ROWS, np.int64), _text(ids, 0)], schema=SCHEMA)


def _ids(commit: int) -> Any:
    return (commit * CHANGED + np.arange(CHANGED)) * STRIDE % ROWS


def _rows(commit: int) -> pa.Table:
    ids = _ids(commit)
    return pa.table([ids, np.full(CHANGED, commit), _text(ids, commit)], schema=SCHEMA)


def _expected(commits: int) -> Any:
    """The commit that wrote each row last; the first one, number 0, loads all of them."""
    found = np.zeros(ROWS, np.int64)
    for commit in range(1, commits):
        found[_ids(commit)] = commit
    return found


def check(path: str, commits: int) -> None:
    """Every row is there once, and as the last commit that had it wrote it."""
    found = hoodoo.open(path).read(columns=["id", "commit", "text"]).to_arrow().sort_by("id")
    expected = _expected(commits)
    assert found.num_rows == ROWS, found.num_rows
    assert (found.column("id").to_numpy() == np.arange(ROWS)).all()
    assert (found.column("commit").to_numpy() == expected).all()
    texts = [_text([i], int(c))[0].as_py() for i, c in enumerate(expected)]
    assert found.column("text").to_pylist() == texts


def build(kind: Kind, commits: int) -> Path:
    """The table with so many commits, made once into the cache."""
    made = data.cache() / f"growth-{kind.folder}-{commits}"
    if made.exists():
        return made
    part = made.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    hoodoo.create(
        str(part), SCHEMA, name="growth", record_key="id", index="bucket",
        table_version=kind.version, table_type=kind.table_type, options=BUCKETS,
    )  # fmt: skip
    table = hoodoo.open(str(part), dict(kind.options))
    begun = time.perf_counter()
    table.bulk_insert(_first())
    for commit in range(1, commits):
        table.upsert(_rows(commit))
    each = (time.perf_counter() - begun) / commits * 1000
    print(f"made: {commits} commits, {kind.name}, {each:.0f} ms each", flush=True)
    check(str(part), commits)
    part.rename(made)
    return made


@define
class Copy:
    """A table that may be changed: a copy of one that was built with ``built`` commits. ``commits`` is how
    many it has by now."""

    kind: Kind
    path: str
    built: int
    commits: int

    @classmethod
    def of(cls, kind: Kind, commits: int, folder: str) -> Copy:
        path = f"{folder}/growth-{kind.folder}-{commits}"
        shutil.copytree(build(kind, commits), path)
        return cls(kind, path, commits, commits)

    def open(self, *more: Mapping[str, Any]) -> Table:
        return hoodoo.open(self.path, self._options(more))

    def watched(self, *more: Mapping[str, Any]) -> tuple[Table, RecordingStorage]:
        """The same, with the operations on its store."""
        storage = RecordingStorage(tables.open_storage(self.path, {}))
        config = properties.load(storage)
        given = tables.check_options(self._options(more), config)
        return Table(storage, config, given), storage

    def upsert(self, table: Table) -> None:
        done = table.upsert(_rows(self.commits))
        self.commits += 1
        assert (done.updated, done.inserted) == (CHANGED, 0), done

    def _options(self, more: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
        found = dict(self.kind.options)
        for options in more:
            found.update(options)
        return found


Work = Callable[[Copy, Table], object]


@frozen
class Task:
    """``call`` is measured, on a table opened with ``options``; ``before`` is not. ``checked`` sees what
    the call answered."""

    name: str
    call: Work
    goal: float | None = None
    options: Mapping[str, Any] = {}
    before: Work = lambda copy, table: None
    checked: Callable[[Any], bool] = lambda answer: True


def _one_key(copy: Copy, table: Table) -> tuple[int, int]:
    commit = copy.commits - 1
    wanted = int(_ids(commit)[0])
    found = table.read(where=pc.field("id") == wanted).to_arrow()
    return found.num_rows, int(found.column("commit")[0].as_py() - commit)


def _upserts(count: int) -> Work:
    def work(copy: Copy, table: Table) -> None:
        for _ in range(count):
            copy.upsert(table)

    return work


def _surplus(copy: Copy, table: Table) -> None:
    """Something to clean: one commit is enough, where it is a compaction."""
    _upserts(1 if copy.kind.table_type == "COPY_ON_WRITE" else 6)(copy, table)


TASKS = (
    Task(
        "open, schema", lambda copy, table: copy.open().schema, GOAL,
        checked=lambda schema: bool(schema == SCHEMA),
    ),
    Task("timeline", lambda copy, table: table.timeline(), checked=lambda t: len(t.writes()) > 19),
    Task("read of one key", _one_key, checked=lambda found: found == (1, 0)),
    Task("upsert of 5 rows", lambda copy, table: copy.upsert(table), GOAL),
    Task(
        "clean", lambda copy, table: table.clean(), GOAL, NO_CLEAN, _surplus,
        checked=lambda done: bool(done.instant),
    ),
    Task(
        "archive", lambda copy, table: table.archive(), None, NO_ARCHIVE, _upserts(12),
        checked=lambda done: len(done.instants) > 9,
    ),
    Task("22 upserts in a row", _upserts(22), GOAL),
)  # fmt: skip


def _once(task: Task, copy: Copy) -> tuple[float, float]:
    """Seconds, by the clock and of the processor."""
    task.before(copy, copy.open(task.options))
    table = copy.open(task.options)
    begun, worked = time.perf_counter(), time.process_time()
    answer = task.call(copy, table)
    seconds = time.perf_counter() - begun, time.process_time() - worked
    assert task.checked(answer), (task.name, answer)
    return round(seconds[0], 6), round(seconds[1], 6)


def _operations(task: Task, copy: Copy) -> Counter[str]:
    """What the task asks of the store, by kind of operation."""
    if task.name.startswith("open"):
        task = Task(task.name, lambda copy, table: table.schema)
    task.before(copy, copy.open(task.options))
    table, storage = copy.watched(task.options)
    assert task.checked(task.call(copy, table))
    return Counter(op for op, _path in storage.calls)


def _measure(report: Report, kind: Kind, task: Task, pair: tuple[Copy, Copy], runs: int) -> None:
    seconds: tuple[list[tuple[float, float]], ...] = ([], [])
    for _ in range(runs):
        for copy, found in zip(pair, seconds, strict=True):
            found.append(_once(task, copy))
    short: Figure | None = None
    for copy, found in zip(pair, seconds, strict=True):
        figure = Figure(
            f"{task.name}, {kind.name}, {copy.built} commits", [s for s, _ in found], {}
        )
        processor = statistics.median(p for _, p in found)
        counts = _operations(task, copy)
        figure.notes = {
            "processor_ms": round(processor * 1000, 2),
            "operations": sum(counts.values()),
            **dict(sorted(counts.items())),
        }
        if short is not None:
            figure.against, figure.goal = short.name, task.goal
            figure.ratio = round(figure.median / short.median, 2)
            figure.notes["processor_ratio"] = round(
                processor * 1000 / short.notes["processor_ms"], 2
            )
        short = figure
        report.figures[figure.name] = figure
        print(report.line(figure), flush=True)


def run(report: Report, folder: str, scale: float, runs: int) -> None:
    """Medians of at least five, but for a single run. ``scale`` 0.1 is a table of 200 commits."""
    long = max(2 * SHORT, int(LONG * min(scale, 1)))
    for kind in KINDS:
        pair = (Copy.of(kind, SHORT, folder), Copy.of(kind, long, folder))
        for copy in pair:  # what is built once may be of an older Hoodoo; and all is imported then
            check(copy.path, copy.commits)
            copy.upsert(copy.open())
        for task in TASKS:
            _measure(report, kind, task, pair, max(runs, 5) if runs > 1 else 1)
        for copy in pair:
            check(copy.path, copy.commits)
            shutil.rmtree(copy.path)
