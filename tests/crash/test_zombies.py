"""Tasks that run twice, or too late: one file for each slot, and nothing that a reader could see.

Speculation can't be had on one host, so the engine here keeps the (step, input) pairs of the writing
steps, and the tests run the pure task again when and where they like.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve, field, frozen
from crash_leaks import leaks
from crash_trials import (
    COUNT,
    NEXT,
    OPERATIONS,
    SEED,
    VERSIONS,
    Operation,
    Prepared,
    age_temporaries,
    check_next_write,
    copied,
    crash,
    opened,
    plain,
    plus_next,
    prepared,
    rows,
    state,
    write_next,
)
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.engine import Step, Stream, Task
from hoodoo.storage.api import Entry, Storage
from hoodoo.table.table import Table
from hoodoo.testing.stores import Delegating
from hoodoo_cloud.remembering import remembering
from hoodoo_rows.write.new_files import WriteNewFiles
from hoodoo_rows.write.write_slots import WriteSlots
from hoodoo_standard.engine.local import LocalEngine, LocalStream
from hoodoo_standard.storage.local import LocalStorage
from table_life import check_archives

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]
Batches = list[pa.RecordBatch]
Writing = WriteSlots | WriteNewFiles

# upsert and insert merge into slots, bulk_insert writes new files; overwrites publish by replacing.
WRITES = ["upsert", "insert", "delete", "bulk_insert", "insert_overwrite"]


@frozen
class Attempt:
    """One task of a writing step, with all it needs to run once more."""

    step: Writing
    task: Task
    batches: Batches

    def run(self) -> list[pa.RecordBatch]:
        return list(self.step(iter(self.batches), self.task))

    def shuffled(self, chance: random.Random) -> Attempt:
        """The same rows in another order; rows of a slot stay together, as an exchange promises."""
        mixed = []
        for batch in self.batches:
            order = list(range(batch.num_rows))
            chance.shuffle(order)
            # One row to a batch: how rows are cut into batches is not part of the promise either.
            mixed += [batch.take(pa.array([place])) for place in order]
        return evolve(self, batches=mixed)


def _alone(attempt: Attempt) -> list[pa.RecordBatch]:
    return attempt.run()


def _one_after_the_other(attempt: Attempt) -> list[pa.RecordBatch]:
    first, second = attempt.run(), attempt.run()
    _check_named(attempt, [first, second])
    return second


def _at_once(attempt: Attempt) -> list[pa.RecordBatch]:
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(attempt.run) for _ in range(4)]
        found = [future.result() for future in futures]
    _check_named(attempt, found)
    return found[-1]


def _check_named(attempt: Attempt, found: list[list[pa.RecordBatch]]) -> None:
    """Where a plan names the files, all attempts make the same ones; of a direct write each makes its own."""
    names = [tuple(_named(one)) for one in found]
    assert all(names) or not any(names)
    if isinstance(attempt.step, WriteSlots):
        assert len(set(names)) == 1, "the attempts report other files"
    elif any(names):
        assert len(set(names)) == len(found), "two attempts share a file"


def _named(batches: list[pa.RecordBatch]) -> list[tuple[object, ...]]:
    names = ("path", "num_writes", "num_inserts", "num_updates", "num_deletes", "file_size")
    return [tuple(row[n] for n in names) for batch in batches for row in batch.to_pylist()]


@frozen
class WatchingEngine(LocalEngine):
    """Keeps the tasks of the writing steps; ``attempt`` is how each of them is run."""

    attempt: Callable[[Attempt], list[pa.RecordBatch]] = _alone
    attempts: list[Attempt] = field(factory=list)

    def map(self, stream: Stream, step: Step) -> LocalStream:
        given, step = step, plain(step)
        if not isinstance(step, (WriteSlots, WriteNewFiles)):
            return super().map(stream, given)
        assert isinstance(stream, LocalStream)

        def part(
            number: int, read: Callable[[], Iterator[pa.RecordBatch]]
        ) -> Callable[..., Iterator[pa.RecordBatch]]:
            def run() -> Iterator[pa.RecordBatch]:
                batches = [_own(batch) for batch in read()]
                self.attempts.append(Attempt(step, Task(number), batches))
                return iter(self.attempt(self.attempts[-1]))

            return run

        parts = tuple(part(number, read) for number, read in enumerate(stream.parts))
        return LocalStream(step.out_schema, parts)


def _own(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Memory of its own: spilled batches are maps of a file that goes with its stream."""
    return batch.take(pa.array(range(batch.num_rows)))


def _data(path: Path) -> dict[str, bytes]:
    """The base files of the table at ``path`` with their bytes."""
    return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*.parquet")}


def _expected(base: Path, tmp_path: Path, operation: Operation) -> tuple[tuple[int, str, str], ...]:
    target = copied(base, tmp_path / "expected")
    operation(opened(target))
    return state(target)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("twice", [_one_after_the_other, _at_once], ids=["in-turn", "at-once"])
def test_each_task_runs_twice(
    tables: Tables,
    tmp_path: Path,
    name: str,
    version: int,
    twice: Callable[[Attempt], list[pa.RecordBatch]],
) -> None:
    base = tables(version)
    target = copied(base, tmp_path / "trial")
    engine = WatchingEngine(1, attempt=twice)
    commit = OPERATIONS[name](opened(target, engine=engine))
    assert engine.attempts
    new = sorted(set(_data(target)) - set(_data(base)))
    assert new == sorted(commit.files)  # type: ignore[attr-defined]
    found = state(target)
    assert found == _expected(base, tmp_path, OPERATIONS[name])
    if name != "bulk_insert":  # there markers of attempts that lost stay until the next write
        assert leaks(target) == []
    check_next_write(target, found, name)
    assert leaks(target) == []
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_loser_of_a_direct_write_that_dies_after_the_publish(
    tables: Tables, tmp_path: Path, version: int
) -> None:
    """Between its put and its look at the door. The next write deletes its file."""
    target = copied(tables(version), tmp_path / "trial")
    engine = WatchingEngine(1)
    OPERATIONS["bulk_insert"](opened(target, engine=engine))
    found, files = state(target), _data(target)
    _wake(engine.attempts, target, looks=2)
    assert set(_data(target)) > set(files), "the losers left nothing: this proves nothing"
    check_next_write(target, found, "bulk_insert")
    assert leaks(target) == []
    COUNT.trials += 1


class Far(Delegating):
    """A store across a network: a table that goes on looks at less before each write."""

    at_once = 16


def _far(inner: Storage) -> Storage:
    return remembering(Far(inner))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("then", ["its table writes", "another one writes", "a new process writes"])
def test_a_file_of_a_loser_that_comes_after_the_next_write(
    tables: Tables, tmp_path: Path, version: int, then: str
) -> None:
    """Between its put and its look at the door, again; and its put took long. Each write deletes its file, for an
    hour."""
    target = copied(tables(version), tmp_path / "trial")
    other = opened(target, _far)
    write_next(other)
    table = opened(target, _far, WatchingEngine(1, attempt=_one_after_the_other))
    commit = OPERATIONS["bulk_insert"](table)
    folder = target / f".hoodie/.temp/{commit.instant}"  # type: ignore[attr-defined]
    marked = {
        str(m.relative_to(folder)).removesuffix(".marker.CREATE") for m in folder.rglob("*.CREATE")
    }
    late = marked.difference(commit.files)  # type: ignore[attr-defined]
    assert late, "no attempt has lost"
    write_next(table)
    expected = state(target)
    for file in late:
        shutil.copy(target / commit.files[0], target / file)  # type: ignore[attr-defined]
    writers = {"its table writes": table, "another one writes": other}
    write_next(writers.get(then) or opened(target))
    assert not any((target / file).exists() for file in late)
    assert state(target) == expected
    age_temporaries(target)
    opened(target).upsert(rows({NEXT[0]: NEXT[2]}, NEXT[1], 10))
    assert state(target) == expected
    assert leaks(target) == []
    COUNT.trials += 1


def test_a_commit_that_says_nothing_proves_nothing_of_marked_files(
    tables: Tables, tmp_path: Path
) -> None:
    """On layout 1 a completed instant may be empty: no marker that was left over takes its files away."""
    target = copied(tables(6), tmp_path / "trial")
    done = opened(target).bulk_insert(rows({71: "a", 72: "b"}, "new", 5))
    (target / f".hoodie/{done.instant}.commit").write_bytes(b"")
    for file in done.files:
        left = target / f".hoodie/.temp/{done.instant}/{file}.marker.CREATE"
        left.parent.mkdir(parents=True, exist_ok=True)
        left.touch()
    write_next(opened(target))
    assert set(done.files) <= set(_data(target))
    assert not (target / f".hoodie/.temp/{done.instant}").exists(), "nobody has looked"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", WRITES)
def test_a_loser_finishes_after_the_publish(
    tables: Tables, tmp_path: Path, name: str, version: int
) -> None:
    """Also with its rows in another order, and after somebody else has written."""
    chance = random.Random(f"{SEED} loser {name} {version}")
    target = copied(tables(version), tmp_path / "trial")
    engine = WatchingEngine(1)
    OPERATIONS[name](opened(target, engine=engine))
    found, files = state(target), _data(target)
    for attempt in engine.attempts:
        with suppress(CommitConflictError):  # of a direct write, whose door is closed
            attempt.run()
            attempt.shuffled(chance).run()
    assert _data(target) == files, f"a late task changed or added a file, seed {SEED}"
    assert state(target) == found
    check_next_write(target, found, f"seed {SEED}")
    files = _data(target)
    for attempt in engine.attempts:
        with suppress(CommitConflictError):
            attempt.shuffled(chance).run()
    assert _data(target) == files
    assert state(target) == plus_next(found)
    COUNT.trials += 1


def _undone_with_attempts(case: Prepared, target: Path) -> list[Attempt]:
    """A write whose driver died at the end, undone by the next; its tasks, still alive."""
    copied(case.path, target)
    engine = WatchingEngine(1)
    crash(target, case.operation, case.decisions[0], "before", engine)
    assert engine.attempts
    assert opened(target).rollback()
    return engine.attempts


class StaleStorage(Delegating):
    """What a task saw of the timeline before it was stopped for a while: for the first ``looks`` at
    it, the inflight file of its instant is still there, and the door open."""

    def __init__(self, inner: Storage, looks: int) -> None:
        super().__init__(inner)
        self.looks = looks
        self.stale = False

    def head(self, path: str) -> Entry | None:
        if path.endswith(".inflight"):
            self.stale = self.looks > 0
            self.looks -= self.stale
        if self.stale and path.endswith((".inflight", "/open")):
            return Entry(path)
        return super().head(path)


def _wake(zombies: list[Attempt], target: Path, looks: int) -> None:
    """Let the tasks of an undone write end now; each puts one file at most."""
    for zombie in zombies:
        for name in _slots(zombie):
            store = StaleStorage(LocalStorage(str(target), durable=False), looks)
            try:
                evolve(zombie, step=evolve(zombie.step, storage=store), batches=name).run()
            except CommitConflictError:
                assert looks < 2


def _slots(attempt: Attempt) -> list[Batches]:
    """The input of a task cut by what makes one file: the slot, or the partition path."""
    column = (
        "_hoodie__slot"
        if "_hoodie__slot" in attempt.batches[0].schema.names
        else "_hoodie_partition_path"
    )
    table = pa.Table.from_batches(attempt.batches)
    kinds = sorted(set(table.column(column).to_pylist()))
    return [table.filter(pc.equal(table.column(column), kind)).to_batches() for kind in kinds]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("looks", [0, 1], ids=["before-the-put", "after-the-put"])
def test_a_zombie_of_an_undone_write_notices(
    tables: Tables, tmp_path: Path, name: str, version: int, looks: int
) -> None:
    """It looks at its instant on both sides of the put, and leaves no file."""
    target = tmp_path / "trial"
    case = prepared(tables(version), tmp_path, OPERATIONS[name])
    zombies = _undone_with_attempts(case, target)
    old, files = state(target), _data(target)
    _wake(zombies, target, looks)
    assert _data(target) == files
    assert state(target) == old
    check_next_write(target, old, name)
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", WRITES)
def test_a_zombie_that_dies_between_put_and_look_is_invisible(
    tables: Tables, tmp_path: Path, name: str, version: int
) -> None:
    """The one way in which its file stays: no reader sees it, and the next write removes it. One that
    comes later yet stays invisible, until archiving removes it."""
    target = tmp_path / "trial"
    case = prepared(tables(version), tmp_path, OPERATIONS[name])
    zombies = _undone_with_attempts(case, target)
    old, files = state(target), _data(target)
    _wake(zombies, target, looks=2)
    assert set(_data(target)) > set(files), "the zombies left nothing: this proves nothing"
    assert state(target) == old
    check_next_write(target, old, name)
    _wake(zombies, target, looks=2)  # once more, after the next write
    assert state(target) == plus_next(old)
    opened(target).upsert(rows({NEXT[0]: NEXT[2]}, NEXT[1], 10))
    assert state(target) == plus_next(old)
    age_temporaries(target)
    check_archives(target, plus_next(old), name)
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["insert", "bulk_insert"])
@pytest.mark.parametrize("looks", [0, 1], ids=["before-the-put", "after-the-put"])
def test_a_zombie_of_the_first_write_leaves_nothing(
    tables: Tables, tmp_path: Path, version: int, kind: str, looks: int
) -> None:
    """Files older than the first instant of the timeline count as archived ones, that is as
    committed: here a file that stays would be seen at once."""

    def first(table: Table) -> object:
        return getattr(table, kind)(rows({1: "a", 2: "b"}, "zombie", 1))

    target = tmp_path / "trial"
    case = prepared(tables(version, commits=0), tmp_path, first)
    zombies = _undone_with_attempts(case, target)
    _wake(zombies, target, looks)
    assert state(target) == ()
    write_next(opened(target))
    assert state(target) == (NEXT,)
    assert leaks(target) == []
    _wake(zombies, target, looks)
    assert state(target) == (NEXT,)
    opened(target).upsert(rows({NEXT[0]: NEXT[2]}, NEXT[1], 10))
    assert state(target) == (NEXT,)
    assert leaks(target) == []
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_zombie_of_a_write_that_a_restore_undid(
    tables: Tables, tmp_path: Path, version: int
) -> None:
    """It was under way; the restore alone tells of it, not a rollback."""
    target = tmp_path / "trial"
    case = prepared(tables(version), tmp_path, OPERATIONS["upsert"])
    copied(case.path, target)
    engine = WatchingEngine(1)
    crash(target, case.operation, case.decisions[0], "before", engine)
    newest = opened(target).timeline().writes()[-1].requested
    (undone,) = opened(target).restore(newest).undone
    assert not any(i.action == "rollback" for i in opened(target).timeline().instants)
    old = state(target)
    for _ in range(2):
        _wake(engine.attempts, target, looks=2)
        assert any(undone in name for name in _data(target)), "they left nothing"
        assert state(target) == old
        if old[-1] != NEXT:
            check_next_write(target, old, "the next write removes it")
            old = plus_next(old)
    for ts in (10, 11):
        opened(target).upsert(rows({NEXT[0]: NEXT[2]}, NEXT[1], ts))
    age_temporaries(target)
    check_archives(target, old, "later archiving does")
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_that_comes_while_the_rollback_runs(
    tables: Tables, tmp_path: Path, version: int
) -> None:
    """The task looked before the rollback took the inflight file away, and put after it listed."""
    target = copied(tables(version), tmp_path / "trial")
    case = prepared(tables(version), tmp_path, OPERATIONS["upsert"])
    engine = WatchingEngine(1)
    crash(target, case.operation, case.decisions[0], "before", engine)
    pending = LocalStorage(str(target), durable=False)
    woken: list[str] = []

    class Interleaved(Delegating):
        def delete(self, path: str) -> bool:
            if path.endswith(".inflight"):
                for attempt in engine.attempts:
                    evolve(attempt, step=evolve(attempt.step, storage=pending)).run()
                woken.append(path)
            return super().delete(path)

    assert opened(target, Interleaved).rollback()
    assert len(woken) == 1
    assert leaks(target) == []
    assert state(target) == case.old
    COUNT.trials += 1
