"""How many storage operations a call takes, and its depth: how many of them wait for one before.

Across a network the depth is what a user waits for. It is counted, not timed: what a pool of threads is given begins
where the pool began, and the pool ends with the longest of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import hoodoo
import hoodoo.participants.lost
import hoodoo.storage.together
import pyarrow as pa
import pytest
from hoodoo.storage.api import Storage
from hoodoo.table import settings as tables
from hoodoo.testing.stores import Delegating

T = TypeVar("T")
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("ts", pa.int64())])
POOLS = (hoodoo.participants.lost, hoodoo.storage.together)


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

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        self.clock.tick(op, path)
        return call()


class Pool:
    """Runs what it is given at once, one after another, and counts as if side by side."""

    def __init__(self, *_workers: object, **_named: object) -> None:
        self.began = self.ended = Far.clock.now

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_error: object) -> None:
        Far.clock.now = max(self.ended, Far.clock.now)

    def submit(self, call: Callable[..., T], *args: Any) -> Future[T]:
        Far.clock.now = self.began
        future: Future[T] = Future()
        try:
            future.set_result(call(*args))
        except Exception as error:
            future.set_exception(error)
        self.ended = max(self.ended, Far.clock.now)
        Far.clock.now = self.ended
        return future

    def map(self, call: Callable[..., T], *values: Iterable[Any]) -> list[T]:
        return [self.submit(call, *each).result() for each in zip(*values, strict=True)]


@pytest.fixture(autouse=True)
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = tables.open_storage

    def open_storage(*args: Any, **named: Any) -> Storage:
        return Far(opened(*args, **named))

    monkeypatch.setattr(tables, "open_storage", open_storage)
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


def rows(count: int, version: int) -> pa.Table:
    columns = {"id": list(range(count)), "v": [version] * count, "ts": [version] * count}
    return pa.table(columns, schema=SCHEMA)


def filled(path: Path, kind: str, index: str) -> hoodoo.Table:
    options = {"hoodie.clean.automatic": True, "hoodoo.local.threads": 1}
    table = hoodoo.create(
        str(path),
        SCHEMA,
        record_key="id",
        ordering="ts",
        table_type=kind,
        index=index,
        options=options,
    )
    table.upsert(rows(20, 1))
    for version in (2, 3, 4):
        table.upsert(rows(5, version))
    return table


# The goals (operations, depth) are (22, 12), with a record index (34, 18); to open and read: depth 4.
@pytest.mark.parametrize(
    ("kind", "index", "operations", "depth"),
    [
        ("COPY_ON_WRITE", "simple", 30, 20),
        ("MERGE_ON_READ", "simple", 29, 19),
        ("COPY_ON_WRITE", "record_index", 76, 66),
    ],
)
def test_a_small_upsert(tmp_path: Path, kind: str, index: str, operations: int, depth: int) -> None:
    table = filled(tmp_path / "t", kind, index)
    with counted(operations, depth):
        assert table.upsert(rows(5, 9)).updated == 5


@pytest.mark.parametrize(
    ("kind", "operations", "depth"), [("COPY_ON_WRITE", 12, 8), ("MERGE_ON_READ", 15, 12)]
)
def test_to_open_and_read(tmp_path: Path, kind: str, operations: int, depth: int) -> None:
    path = tmp_path / "t"
    filled(path, kind, "simple")
    with counted(operations, depth):
        assert hoodoo.open(str(path)).read().to_arrow().num_rows == 20


def test_what_waits_is_deep(tmp_path: Path) -> None:
    """The clock counts calls one after another, and those of a pool once."""
    store = Far(tables.open_storage(str(tmp_path), {}).inner)
    with counted(5, 3):
        store.head("a")
        hoodoo.storage.together.together(store, *[lambda: store.head("b")] * 3)
        store.head("c")
    with pytest.raises(AssertionError), counted(1, 1):
        store.head("a")
        store.head("a")
