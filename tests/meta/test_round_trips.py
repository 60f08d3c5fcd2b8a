"""How many storage operations a call takes, and its depth: how many of them wait for one before.

Across a network the depth is what a user waits for. It is counted, not timed: what a pool of threads is given begins
where the pool began, and the pool ends with the longest of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import hoodoo
import hoodoo.storage.together
import hoodoo_cloud.remembering
import hoodoo_serve.beside
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.storage.api import Storage
from hoodoo.table import settings as tables
from hoodoo.testing.stores import Delegating
from hoodoo.timeline import ledger, listed, replaced, replaced_note
from hoodoo_cloud.remembering import remembering
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.storage.local import LocalStorage

from tests.bench.scale import fabricate

T = TypeVar("T")
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("ts", pa.int64())])
NOTHING: Mapping[str, Any] = {}
# Threads that renew heartbeats and locks each minute, in the midst of any call. No call waits for them.
RENEWALS = ("hoodoo-heartbeat", "hoodoo-lock-renewal")
POOLS = (hoodoo.storage.together, hoodoo_cloud.remembering)


class Clock:
    """Operations, and the depth at which the last one was done."""

    def __init__(self) -> None:
        self.operations: list[str] = []
        self.now = self.deepest = 0

    def tick(self, op: str, path: str) -> None:
        self.operations.append(f"{op} {path}")
        self.now += 1
        self.deepest = max(self.deepest, self.now)


class Far(Delegating):
    """A store across a network, whose operations are counted."""

    clock = Clock()
    at_once = 16

    def discard(self, paths: Sequence[str]) -> None:
        def delete() -> None:
            for path in paths:
                self.inner.delete(path)
                folder = path.rpartition("/")[0]
                if not self.inner.list(folder):  # what has no directories shows none
                    self.inner.delete_prefix(folder)

        self.around("discard", " ".join(paths), delete)

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        if threading.current_thread().name not in RENEWALS:
            self.clock.tick(op, path)
        return call()


class Ended(Future[T]):
    """Of a pool: who asks for its result has waited for it."""

    at = 0

    def done(self) -> bool:
        """Whether it has ended when who asks has come so far."""
        return super().done() and self.at <= Far.clock.now

    def result(self, timeout: float | None = None) -> T:
        Far.clock.now = max(Far.clock.now, self.at)
        return super().result(timeout)


class Pool:
    """Runs what it is given at once, one after another, and counts as if side by side."""

    def __init__(self, *_workers: object, **_named: object) -> None:
        self.ended = Far.clock.now

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_error: object) -> None:
        Far.clock.now = max(self.ended, Far.clock.now)

    def submit(self, call: Callable[..., T], *args: Any) -> Ended[T]:
        """What the thread that asks does from here on goes on beside it."""
        here = Far.clock.now
        future: Ended[T] = Ended()
        try:
            future.set_result(call(*args))
        except Exception as error:
            future.set_exception(error)
        future.at = Far.clock.now
        self.ended = max(self.ended, future.at)
        Far.clock.now = here
        return future

    def map(self, call: Callable[..., T], *values: Iterable[Any]) -> list[T]:
        found = [self.submit(call, *each) for each in zip(*values, strict=True)]
        return [future.result() for future in found]


@pytest.fixture(autouse=True)
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = tables.open_storage

    def open_storage(*args: Any, **named: Any) -> Storage:
        return remembering(Far(opened(*args, **named)))

    monkeypatch.setattr(tables, "open_storage", open_storage)
    monkeypatch.setattr(ledger, "_ASLEEP", 60.0)  # a busy machine is no process that slept
    for module in POOLS:
        monkeypatch.setattr(module, "ThreadPoolExecutor", Pool)


@contextmanager
def counted(operations: int, depth: int) -> Iterator[Clock]:
    """At most so many operations, and so deep."""
    clock = Far.clock = Clock()
    yield clock
    found = (len(clock.operations), clock.deepest)
    assert found <= (operations, depth) and clock.deepest <= depth, (found, clock.operations)
    assert operations - found[0] < 3 and depth - found[1] < 3, f"only {found}: lower the limits"


rows = Maker(SCHEMA, "v", ts=lambda n, v: v)


def filled(path: Path, kind: str, index: str, more: Mapping[str, Any] = NOTHING) -> hoodoo.Table:
    options = {"hoodie.clean.automatic": True, "hoodoo.local.threads": 1, **more}
    table = hoodoo.create(
        str(path),
        SCHEMA,
        record_key="id",
        ordering="ts",
        table_type=kind,
        index=index,
        options=options,
    )
    table.upsert(rows(range(20), 1))
    for version in (2, 3, 4):
        table.upsert(rows(range(5), version))
    return table


def test_a_new_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is listed once, whatever is asked of it."""
    monkeypatch.setattr("hoodoo_standard.creation.properties.open_storage", tables.open_storage)
    most = 12 + len(tmp_path.parts)  # each folder above may be a table
    with counted(most, most) as clock:
        hoodoo.create(tmp_path / "t", SCHEMA, record_key="id")
    assert clock.operations.count("list ") == 1


# The goals (operations, depth) were (22, 12), with cleaning, too; with a record index (34, 18); to open and read: depth 4.
@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize(
    ("kind", "index", "operations", "depth"),
    [
        ("COPY_ON_WRITE", "simple", 16, 9),
        ("MERGE_ON_READ", "simple", 16, 9),
        ("COPY_ON_WRITE", "record_index", 29, 15),
    ],
)
def test_a_small_upsert(tmp_path: Path, kind: str, index: str, operations: int, depth: int) -> None:
    table = filled(tmp_path / "t", kind, index)
    with counted(operations, depth):
        assert table.upsert(rows(range(5), 9)).updated == 5


def test_the_first_small_upsert_of_a_process(tmp_path: Path) -> None:
    path = tmp_path / "t"
    filled(path, "COPY_ON_WRITE", "simple")
    table = hoodoo.open(str(path), {"hoodoo.local.threads": 1})
    with counted(28, 12):
        table.upsert(rows(range(5), 9))


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize(
    ("kind", "index", "operations", "depth"),
    [
        ("COPY_ON_WRITE", "simple", 21, 12),
        ("COPY_ON_WRITE", "record_index", 47, 25),
    ],
)
def test_a_small_upsert_that_cleans(
    tmp_path: Path, kind: str, index: str, operations: int, depth: int
) -> None:
    """As each one does from the eleventh on: a clean is decided with the write, or in two decisions more."""
    table = filled(tmp_path / "t", kind, index)
    for version in range(5, 18):
        table.upsert(rows(range(5), version))
    with counted(operations, depth):
        table.upsert(rows(range(5), 18))


class AtOnce:
    """A thread that ends before who has begun it goes on, and has a clock of its own."""

    clock = Clock()

    def __init__(self, target: Callable[..., None], args: Sequence[Any], name: str) -> None:
        self.target, self.args = target, args

    def start(self) -> None:
        outside, Far.clock = Far.clock, Clock()
        try:
            self.target(*self.args)
        finally:
            AtOnce.clock, Far.clock = Far.clock, outside

    def is_alive(self) -> bool:
        return False


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize(
    ("index", "limit", "thread"),
    [("simple", (17, 9), (19, 12)), ("record_index", (30, 15), (33, 21))],
)
def test_a_small_upsert_beside_which_a_thread_cleans(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    index: str,
    limit: tuple[int, int],
    thread: tuple[int, int],
) -> None:
    """The next write goes on from what the thread has decided, as if it had done so itself."""
    monkeypatch.setattr(hoodoo_serve.beside, "threading", SimpleNamespace(Thread=AtOnce))
    freed = {"hoodie.clean.async.enabled": True, "hoodie.archive.async": True}
    table = filled(tmp_path / "t", "COPY_ON_WRITE", index, freed)
    for version in range(5, 18):
        table.upsert(rows(range(5), version))
    with counted(*limit):
        table.upsert(rows(range(5), 18))
    assert [i.action for i in table.timeline().instants].count("clean") > 3
    found = (len(AtOnce.clock.operations), AtOnce.clock.deepest)
    assert found <= thread and found[1] <= thread[1], found


@pytest.mark.parametrize(
    ("kind", "operations", "depth"), [("COPY_ON_WRITE", 14, 4), ("MERGE_ON_READ", 15, 4)]
)
def test_to_open_and_read(tmp_path: Path, kind: str, operations: int, depth: int) -> None:
    path = tmp_path / "t"
    filled(path, kind, "simple")
    with counted(operations, depth):
        assert hoodoo.open(str(path)).read().to_arrow().num_rows == 20


@pytest.mark.sampled(1, among="long")
def test_one_key_of_buckets_in_a_new_process(tmp_path: Path) -> None:
    """However many writes there are: the newest one notes that those before went by buckets, too."""
    path = tmp_path / "t"
    few = {
        "hoodie.bucket.index.num.buckets": "4",
        "hoodie.clean.automatic": False,
        "hoodie.metadata.enable": True,
    }
    table = filled(path, "COPY_ON_WRITE", "bucket", few)
    for version in range(5, 15):
        table.upsert(rows(range(5), version))
    with counted(17, 7):
        found = hoodoo.open(str(path)).read(where=pc.field("id") == 7)
        assert found.to_arrow().num_rows == 1 and len(found.plan.slices) == 1


def test_what_waits_is_deep(tmp_path: Path) -> None:
    """The clock counts calls one after another, and those of a pool once."""
    store = Far(LocalStorage(str(tmp_path)))
    with counted(5, 3):
        store.head("a")
        hoodoo.storage.together.together(store, *[lambda: store.head("b")] * 3)
        store.head("c")
    with pytest.raises(AssertionError), counted(1, 1):
        store.head("a")
        store.head("a")


PATHS = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.int64())])


def in_paths(count: int, version: int, first: int = 0) -> pa.Table:
    ids = range(first, first + count)
    columns = {"id": list(ids), "p": [f"p{n}" for n in range(count)], "v": [version] * count}
    return pa.table(columns, schema=PATHS)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize(
    "how", ["bulk_insert", "insert", "upsert of new keys", "upsert", "delete", "insert_overwrite"]
)
@pytest.mark.sampled(2)
def test_partition_paths(tmp_path: Path, kind: str, how: str) -> None:
    """A write to five times as many paths is as deep, also if the process has not seen their files yet."""
    found = []
    for count in (16, 80):
        path, options = str(tmp_path / f"{count}"), {"hoodoo.local.threads": 1}
        table = hoodoo.create(
            path, PATHS, record_key="id", partition_by="p", index="simple", table_type=kind,
            options=options,
        )  # fmt: skip
        if how not in ("bulk_insert", "insert"):
            table.insert(in_paths(count, 1))
            table.upsert(in_paths(count, 2))
            table = hoodoo.open(path, options)
        verb, rows = getattr(table, how.split()[0]), in_paths(count, 3)
        if how == "delete":
            rows = rows.select(["id", "p"])
        if how == "upsert of new keys":
            rows = in_paths(count, 3, 1000)
        clock = Far.clock = Clock()
        verb(rows)
        found.append(clock.deepest)
    assert found[1] - found[0] <= 3, found


@pytest.mark.sampled(1, among="long")
def test_a_new_process_needs_no_more_of_many_replacecommits(tmp_path: Path) -> None:
    """Its first read and its first upsert, by what the writer before has noted."""

    def asked(path: str, call: Callable[[hoodoo.Table], object]) -> tuple[int, int]:
        for known in (listed._seen, replaced._seen, replaced_note._known):
            known.clear()  # type: ignore[attr-defined]
        clock = Far.clock = Clock()
        call(hoodoo.open(path, {**fabricate.QUIET, "hoodoo.local.threads": "1"}))
        return len(clock.operations), clock.deepest

    found = []
    for count in (300, 3000):
        path = str(tmp_path / f"{count}")
        fabricate.with_commits(path, count, "replacecommit")
        read = asked(path, lambda table: table.read().to_arrow())
        found.append((read, asked(path, lambda table: table.upsert(fabricate.rows(10)))))
    assert found[0] == found[1]
    assert found[0] <= ((40, 6), (62, 21))
