"""Upserts of threads that wait for one another: one commit has the rows of all, and the table is as if
they had written one after the other."""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.actions import writer_queue
from hoodoo.errors import CommitUnknownError, DataError
from hoodoo.kernel.resolve import default_name, resolve
from hoodoo.table.after_write import AfterWrites
from hoodoo.table.table import Table
from hoodoo.timeline import properties
from hoodoo.timeline.batches import Batch
from hoodoo_rows import writes
from hoodoo_rows.write import ready
from hoodoo_rows.write.operation import UPSERT
from hoodoo_rows.write.transaction import WriteTransaction

LONG = 60.0  # seconds: no test waits so long unless it fails
SCHEMA = pa.schema([("id", pa.int64()), ("ts", pa.int64()), ("v", pa.string()), ("p", pa.string())])
Outcome = list[Any]


def batch_of(*found: tuple[int, int, str, str]) -> pa.Table:
    columns = list(zip(*found, strict=True)) or [[], [], [], []]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)


def state(path: Path) -> list[tuple[Any, ...]]:
    found = hoodoo.open(path).read(columns=SCHEMA.names).to_arrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


def commits(path: Path) -> int:
    return len(hoodoo.open(path).handle.timeline().writes())


@contextmanager
def another_has_the_turn(table: Table) -> Iterator[None]:
    lock = resolve("lock", default_name("lock", table.handle.settings)).instance
    held = lock.acquire(table.handle.storage, "turn", LONG)
    assert held is not None
    try:
        yield
    finally:
        held.release()


def waiting() -> int:
    """How many writes of this process wait, with the one that leads them."""
    _guard, lines = ready._lines(os.getpid())
    return sum((line._leader is not None) + len(line._waiting) for line in list(lines.values()))


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.001)


def beside(path: Path, writes: Sequence[Callable[[Table], Any]], **how: Any) -> Outcome:
    """What each of ``writes`` returns, or raises. They all wait for the turn, in their order."""
    outcomes: Outcome = [None] * len(writes)
    before = waiting()

    def run(at: int) -> None:
        table = hoodoo.open(path, **how)
        table.handle.writer_queue.lost(0.0)  # it has met another writer
        try:
            outcomes[at] = writes[at](table)
        except Exception as error:
            outcomes[at] = error

    threads = [threading.Thread(target=run, args=(at,)) for at in range(len(writes))]
    with another_has_the_turn(hoodoo.open(path)):
        for n, thread in enumerate(threads):
            thread.start()
            until(lambda n=n: waiting() == before + n + 1)  # type: ignore[misc]
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()
    assert waiting() == before
    return outcomes


def upsert(*found: tuple[int, int, str, str]) -> Callable[[Table], Any]:
    return lambda table: table.upsert(batch_of(*found))


def made(path: Path, **how: Any) -> Table:
    options = {"index": "bucket", "partition_by": "p", **how}
    return hoodoo.create(path, SCHEMA, name="t", record_key="id", **options)


# --- one commit -----------------------------------------------------------------------------------
def test_one_commit_has_the_rows_of_all_that_wait(tmp_path: Path) -> None:
    made(tmp_path / "t").upsert(batch_of((1, 1, "old", "a")))
    outcomes = beside(
        tmp_path / "t",
        [upsert((1, 2, "first", "a")), upsert((1, 3, "second", "a"), (2, 3, "new", "b")),
         upsert((3, 4, "third", "a"))],
    )  # fmt: skip
    assert len({commit.instant for commit in outcomes}) == 1
    assert commits(tmp_path / "t") == 2
    assert state(tmp_path / "t") == [
        (1, 3, "second", "a"), (2, 3, "new", "b"), (3, 4, "third", "a"),
    ]  # fmt: skip


def test_what_comes_after_the_write_is_done_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "t")
    done: list[int] = []
    inside = AfterWrites.run

    def run(self: Any, *given: Any) -> None:
        done.append(1)
        inside(self, *given)

    monkeypatch.setattr(AfterWrites, "run", run)
    beside(tmp_path / "t", [upsert((n, 1, "x", "a")) for n in range(4)])
    assert len(done) == 1


def test_without_the_option_each_has_its_commit(tmp_path: Path) -> None:
    made(tmp_path / "t")
    outcomes: Outcome = [None, None]
    options = {"hoodoo.write.group": "false"}

    def run(at: int) -> None:
        table = hoodoo.open(tmp_path / "t", options=options)
        table.handle.writer_queue.lost(0.0)
        outcomes[at] = table.upsert(batch_of((1, at, "x", "a")))

    threads = [threading.Thread(target=run, args=(at,)) for at in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert len({commit.instant for commit in outcomes}) == 2


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda t: t.delete([1]), id="delete"),
        pytest.param(lambda t: t.insert(batch_of((1, 9, "again", "a"))), id="insert"),
        pytest.param(lambda t: t.upsert(batch_of((1, 9, "b", "a")), batch=Batch("s", 1)), id="batch"),
        pytest.param(
            lambda t: t.upsert(pa.RecordBatchReader.from_batches(SCHEMA, iter([]))), id="stream"
        ),
    ],
)  # fmt: skip
def test_others_write_by_themselves(
    tmp_path: Path, other: Callable[[Table], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "t").upsert(batch_of((1, 1, "old", "a")))
    table = hoodoo.open(tmp_path / "t")
    table.handle.writer_queue.lost(0.0)
    monkeypatch.setattr(ready.ReadyWrite, "wait", _never)
    other(table)


def _never(*given: object) -> None:
    raise AssertionError("it waited with others")


def test_one_of_other_columns_writes_by_itself(tmp_path: Path) -> None:
    made(tmp_path / "t")
    wider = batch_of((2, 1, "b", "a")).append_column("n", pa.array([1], pa.int32()))
    outcomes = beside(
        tmp_path / "t",
        [upsert((1, 1, "a", "a")), lambda t: t.upsert(wider, add_columns=True),
         upsert((3, 1, "c", "a"))],
    )  # fmt: skip
    assert len({commit.instant for commit in outcomes}) == 2
    assert outcomes[0].instant == outcomes[2].instant
    assert [row[0] for row in state(tmp_path / "t")] == [1, 2, 3]


# --- errors ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", range(3))
def test_rows_that_are_refused_cost_the_others_nothing(tmp_path: Path, bad: int) -> None:
    made(tmp_path / "t")
    writes = [upsert((n, 1, "x", "a")) for n in range(3)]
    without = pa.table(
        [pa.array([None], pa.int64()), *(c for c in batch_of((0, 1, "x", "a")).columns[1:])], SCHEMA
    )
    writes[bad] = lambda table: table.upsert(without)
    outcomes = beside(tmp_path / "t", writes)
    assert isinstance(outcomes[bad], DataError), outcomes
    good = [n for n in range(3) if n != bad]
    assert all(outcomes[n].instant for n in good), outcomes
    assert [row[0] for row in state(tmp_path / "t")] == good


def test_an_unknown_outcome_is_unknown_to_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "t")
    error = CommitUnknownError("t", "the store gave no answer.", "Look at the timeline.")

    def unknown(*given: object, **more: object) -> None:
        raise error

    monkeypatch.setattr("hoodoo_rows.write.transaction.WriteTransaction.decide", unknown)
    outcomes = beside(tmp_path / "t", [upsert((n, 1, "x", "a")) for n in range(3)])
    assert [type(found) for found in outcomes] == [CommitUnknownError] * 3
    assert {str(found) for found in outcomes} == {str(error)}


class Interrupted(BaseException):
    """As KeyboardInterrupt is."""


def test_others_go_on_where_the_one_that_leads_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "t")
    times = itertools.count()
    settle = WriteTransaction.settle

    def once(self: WriteTransaction) -> None:
        if next(times) == 0:
            raise Interrupted
        settle(self)

    monkeypatch.setattr(WriteTransaction, "settle", once)
    caught: list[BaseException] = []

    def interrupted(table: Table) -> None:
        try:
            table.upsert(batch_of((0, 1, "x", "a")))
        except Interrupted as error:
            caught.append(error)

    outcomes = beside(tmp_path / "t", [interrupted, *(upsert((n, 1, "x", "a")) for n in (1, 2))])
    assert len(caught) == 1
    assert all(commit.instant for commit in outcomes[1:])
    assert [row[0] for row in state(tmp_path / "t")] == [1, 2]


def test_a_write_inside_a_write_does_not_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = made(tmp_path / "t").handle
    found: list[Any] = []

    def joins() -> None:
        batch = batch_of((9, 1, "x", "b"))
        found.append(writes._ready([], handle, UPSERT, batch, None))  # type: ignore[arg-type]

    settle = WriteTransaction.settle
    monkeypatch.setattr(WriteTransaction, "settle", lambda self: (joins(), settle(self)))
    outcomes = beside(tmp_path / "t", [upsert((1, 1, "x", "a"))])
    joins()
    assert outcomes[0].instant
    assert [one is None for one in found] == [True, False]


def test_a_write_that_waits_for_one_inside_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "t")
    monkeypatch.setattr(writer_queue, "_LEAST_WAIT", 0.2)
    monkeypatch.setattr(ready, "PATIENCE", 0.2)
    times, inside, settle = itertools.count(), hoodoo.open(tmp_path / "t"), WriteTransaction.settle
    inside.handle.writer_queue.lost(0.0)

    def waits(self: WriteTransaction) -> None:
        if next(times) == 0:
            thread = threading.Thread(target=upsert((2, 1, "x", "b")), args=(inside,), daemon=True)
            thread.start()
            thread.join(LONG / 6)
            assert not thread.is_alive()
        settle(self)

    monkeypatch.setattr(WriteTransaction, "settle", waits)
    (outcome,) = beside(tmp_path / "t", [upsert((1, 1, "x", "a"))])
    assert outcome.instant, outcome
    assert [row[0] for row in state(tmp_path / "t")] == [1, 2]


def test_others_go_on_where_the_turn_cannot_be_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "t")
    times, give_back = itertools.count(), writer_queue.WriterQueue.give_back

    def broken(self: writer_queue.WriterQueue) -> None:
        give_back(self)
        if next(times) == 0:
            raise OSError("broken")

    monkeypatch.setattr(writer_queue.WriterQueue, "give_back", broken)
    table = hoodoo.open(tmp_path / "t")
    table.handle.writer_queue.lost(0.0)
    with pytest.raises(OSError, match="broken"):
        table.upsert(batch_of((1, 1, "x", "a")))
    assert waiting() == 0


def in_line(*rows: pa.Table) -> list[ready.ReadyWrite]:
    """Writes that wait, with the rows of all that go together at the first one, which leads."""
    line = ready._Line()
    each = rows or [batch_of((n, 1, "x", "a")) for n in range(3)]
    found = [ready.ReadyWrite(one, line, lambda: True) for one in each]
    assert [line.leads(one) for one in found] == [True, *[False] * (len(each) - 1)]
    found[0].with_others()
    return found


def test_nobody_waits_for_one_that_was_interrupted_while_another_wrote_its_rows() -> None:
    first, interrupted, third = in_line()
    interrupted.end(Interrupted())
    first.failed(DataError("rows", "are bad.", "Give others."))
    first.end(None)
    assert third.wait() is None
    assert third.line.leads(third)


def test_all_are_told_of_a_commit_though_an_interrupt_comes() -> None:
    first, second, third = in_line()
    commit: Any = object()

    class Breaks(threading.Event):
        def set(self) -> None:
            super().set()
            raise Interrupted

    second._woken = Breaks()
    with pytest.raises(Interrupted):
        first.written(commit)
    first.end(Interrupted())
    assert second.wait() is commit
    assert third.wait() is None
    assert third.line.leads(third)


def test_columns_whose_metadata_differs_do_not_go_together() -> None:
    rows = batch_of((1, 1, "x", "a"))
    of_another_type = SCHEMA.set(2, SCHEMA.field(2).with_metadata({"hudi_type": "BLOB"}))
    first, *_others = in_line(rows, rows.cast(of_another_type))
    assert first._others == []
    first, *_others = in_line(rows, rows.replace_schema_metadata({"pandas": "{}"}))
    assert len(first._others) == 1


def test_rows_do_not_go_together_where_the_table_has_changed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"hoodie.table.cdc.enabled": "false"}
    table = made(tmp_path / "t", options=options)
    take, times = writer_queue.WriterQueue.take, itertools.count()

    def changes(self: writer_queue.WriterQueue, storage: Any) -> None:
        take(self, storage)
        if next(times) == 0:
            properties.update(storage, table.handle.config, {"hoodie.table.cdc.enabled": "true"})

    monkeypatch.setattr(writer_queue.WriterQueue, "take", changes)
    outcomes = beside(tmp_path / "t", [upsert((1, n, "x", "a")) for n in range(3)])
    assert len({commit.instant for commit in outcomes}) == 3


# --- as one after the other -----------------------------------------------------------------------
ARRIVAL, EVENT_TIME, NO_ORDER = "by arrival", "by event time", "without ordering"
INDEXES = ("bucket", "simple", "bloom", "global_simple", "record_index")
KINDS = [
    kind
    for kind in itertools.product(
        ("COPY_ON_WRITE", "MERGE_ON_READ"), INDEXES, (ARRIVAL, EVENT_TIME, NO_ORDER),
        ("stored", "virtual"), (6, 9),
    )
    if kind[1:4:2] != ("bloom", "virtual") and kind[1::2] != ("record_index", "virtual")
    and (kind[1], kind[4]) != ("record_index", 6)
]  # fmt: skip
Kind = tuple[str, str, str, str, int]
DELETES = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))


def _create(path: Path, kind: Kind) -> Table:
    table_type, index, mode, keys, version = kind
    options: dict[str, str] = {"hoodie.metadata.enable": "true"} if index == "record_index" else {}
    if keys == "virtual":
        options["hoodie.populate.meta.fields"] = "false"
    if mode == ARRIVAL:
        options["hoodie.record.merge.mode"] = "COMMIT_TIME_ORDERING"
    return made(
        path, table_type=table_type, index=index, ordering=() if mode == NO_ORDER else "ts",
        options=options, table_version=version,
    )  # fmt: skip


def _drawn(draw: random.Random, mode: str, name: str) -> pa.Table:
    found = batch_of(*(
        (draw.randrange(6), draw.randrange(4), f"{name}.{n}", draw.choice("ab"))
        for n in range(draw.randrange(1, 4))
    ))  # fmt: skip
    if mode == EVENT_TIME:
        return found
    gone = [draw.randrange(3) == 0 for _ in range(found.num_rows)]
    return found.append_column(DELETES.field("_hoodie_is_deleted"), pa.array(gone))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind)))
def test_as_if_they_had_written_one_after_the_other(tmp_path: Path, kind: Kind) -> None:
    draw = random.Random(f"{kind}")
    for turn in range(3):
        first = batch_of(*((n, draw.randrange(4), "old", draw.choice("ab")) for n in range(4)))
        batches = [_drawn(draw, kind[2], f"{turn}.{at}") for at in range(3)]
        one, other = tmp_path / f"one{turn}", tmp_path / f"other{turn}"
        for path in (one, other):
            _create(path, kind).upsert(first)
        for batch in batches:
            hoodoo.open(one).upsert(batch)
        outcomes = beside(
            other,
            [lambda table, batch=batch: table.upsert(batch) for batch in batches],  # type: ignore[misc]
        )
        assert len({commit.instant for commit in outcomes}) == 1, outcomes
        assert state(other) == state(one), batches
