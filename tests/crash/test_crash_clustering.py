"""A process that ends, or a store that fails, at any operation of a clustering: planned, run, planned and run,
given up, after a write, and taken back. No row changes, nothing is left, and everybody can go on.
"""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from attrs import evolve, field, frozen
from clustered_tables import CHANGING, KINDS, NAMES, Tables, check, done, operation, run
from crash_leaks import leaks
from crash_runs import READING, chosen, crashes_again, crashes_of, fails, reads
from crash_trials import (
    COUNT,
    SEED,
    Prepared,
    age_temporaries,
    copied,
    crash,
    opened,
    plain,
    plus_next,
    prepared,
    state,
    write_next,
)
from effort import MORE, effort
from hoodoo.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConfigError,
    HoodooError,
)
from hoodoo.hookspecs.engine import Step, Stream, Task
from hoodoo.table.table import Table
from hoodoo.testing.stores import MUTATING
from hoodoo_clustering.rewrite_group import RewriteGroups
from hoodoo_standard.engine.local import LocalEngine, LocalStream
from hoodoo_standard.storage.local import LocalStorage
from table_life import check_archives
from test_zombies import StaleStorage

pytestmark = pytest.mark.sampled(6, among="crashes")

# So many operations of an action in one run, other ones in each; or all, before, after and torn.
SAMPLED = effort(1, 8)
ERRORS = effort(1, 4)
RECOVERIES = effort(1, 4)
CASES = [(name, kind) for name in NAMES for kind in KINDS]


def some(what: str) -> list[tuple[str, str]]:
    """Each action on one kind of table, another one of another test; or all."""
    if MORE:
        return CASES
    first = ("crash", "again", "mutating", "reading").index(what)
    return [c for n, c in enumerate(CASES) if (n // len(KINDS) + n + first) % 4 == 0]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables(tmp_path_factory.mktemp("clustered"))


_CASES: dict[tuple[str, str], Prepared] = {}


def _prepared(made: Tables, kind: str, name: str, tmp_path: Path) -> Prepared:
    """Once in a run; all tests of it work on the same table."""
    if (kind, name) not in _CASES:
        base, what = made(kind, name), operation(kind, name)
        case = prepared(base, tmp_path, what, changes_rows=name in CHANGING)
        assert done(tmp_path / "whole", base, name)
        assert not done(base, base, name)
        _CASES[kind, name] = case
    return _CASES[kind, name]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_crash(made: Tables, tmp_path: Path, local_temporaries: Path, name: str, kind: str) -> None:
    case = _prepared(made, kind, name, tmp_path)
    chance = random.Random(f"{SEED} {name} {kind}")
    for target, where in crashes_of(case, tmp_path, chance, SAMPLED):
        check(target, {case.old, case.new}, chance, where)
        COUNT.trials += 1


@pytest.mark.parametrize(("name", "kind"), some("again"))
def test_crash_while_it_is_recovered(
    made: Tables, tmp_path: Path, local_temporaries: Path, name: str, kind: str
) -> None:
    """Stop at operation j of the same call once more, of a run, or of the next write, after a crash at k."""
    case = _prepared(made, kind, name, tmp_path)
    chance = random.Random(f"{SEED} {name} {kind} again")

    def again(table: Table) -> None:
        with suppress(HoodooError, ValueError):  # it has been done
            case.operation(table)

    def resumed(table: Table) -> None:
        for plan in table.clusterings():
            with suppress(ConfigError):  # somebody was about to give it up
                table.run_clustering(plan.instant)

    others = [resumed, lambda t: t.rollback(), write_next]
    # Once more, a rollback would be one of the write before.
    recoveries = others if name == "rollback" else [again, *others]
    for target, recover, where in crashes_again(case, tmp_path, chance, RECOVERIES, recoveries):
        allowed = {case.old, case.new}
        if recover is write_next:
            allowed |= {plus_next(found) for found in allowed}
        check(target, allowed, chance, where)
        COUNT.trials += 1


@pytest.mark.parametrize(("name", "kind"), some("mutating"))
def test_error_at_mutating_operations(
    made: Tables, tmp_path: Path, local_temporaries: Path, name: str, kind: str
) -> None:
    """A store that fails once or for good, and whose answer was lost or not."""
    case = _prepared(made, kind, name, tmp_path)
    chance = random.Random(f"{SEED} {name} {kind} error")
    for at in chosen(case.steps, chance, ERRORS):
        once, after = chance.choice([True, False]), chance.choice([True, False])
        where = f"once {once}, after {after}, {at}: {case.mutations[at - 1]}, seed {SEED}"
        _error(case, name, tmp_path / "trial", at, chance, where,
               once=once, after=after, ops=MUTATING)  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), some("reading"))
def test_error_at_reading_operations(
    made: Tables, tmp_path: Path, local_temporaries: Path, name: str, kind: str
) -> None:
    """A failing read is never taken for "there is nothing"."""
    case = _prepared(made, kind, name, tmp_path)
    chance = random.Random(f"{SEED} {name} {kind} read")
    found = reads(case, tmp_path)
    for at in chosen(len(found), chance, ERRORS):
        where = f"read {at}: {found[at - 1]}, seed {SEED}"
        _error(case, name, tmp_path / "trial", at, chance, where, ops=READING)


def _error(
    case: Prepared, name: str, target: Path, at: int, chance: random.Random, where: str, **how: object
) -> None:  # fmt: skip
    error = fails(copied(case.path, target), case.operation, at, where, **how)
    if error is None and name not in CHANGING:
        assert done(target, case.path, name), f"{where}: success reported, and it is not done"
    unknown = isinstance(error, CommitUnknownError)
    if error is not None and not unknown and name in ("run", "cluster"):
        assert not done(target, case.path, name), f"{where}: it is done, and {error!r} reported"
    found = check(target, {case.old, case.new}, chance, where)
    if name in CHANGING:
        assert error is not None or found == case.new, f"{where}: success reported"
        assert found == case.old or error is None or unknown, f"{where}: landed, and {error!r}"
    COUNT.trials += 1


# --- tasks that outlive their run ---------------------------------------------------------------------
@frozen
class Rewriting(LocalEngine):
    """Keeps the rewriting step with its input."""

    kept: list[tuple[RewriteGroups, Task, list[pa.RecordBatch]]] = field(factory=list)

    def map(self, stream: Stream, step: Step) -> LocalStream:
        work = plain(step)
        if isinstance(work, RewriteGroups):
            assert isinstance(stream, LocalStream)
            for number, read in enumerate(stream.parts):
                self.kept.append((work, Task(number), list(read())))
        return super().map(stream, step)

    def wake(self, path: Path, looks: int) -> int:
        """Let all tasks run once more; how many ended without noticing. For the first ``looks`` at it their
        instant still stands, and their door is open."""
        ended = 0
        for step, task, batches in self.kept:
            for batch in batches:
                for row in range(batch.num_rows):
                    store = StaleStorage(LocalStorage(str(path), durable=False), looks)
                    with suppress(CommitConflictError):
                        list(evolve(step, storage=store)(iter([batch.slice(row, 1)]), task))
                        ended += 1
        return ended


def _files(path: Path) -> set[str]:
    found = {str(p.relative_to(path)) for p in path.rglob("*.parquet")}
    return {name for name in found if not name.startswith(".hoodie/")}


def _abandoned(made: Tables, kind: str, tmp_path: Path) -> tuple[Prepared, Path, Rewriting]:
    """A run whose driver died before its decision; its tasks live on."""
    case = _prepared(made, kind, "run", tmp_path)
    target = copied(case.path, tmp_path / "trial")
    engine = Rewriting(1)
    crash(target, case.operation, case.decisions[0], "before", engine)
    assert engine.kept and _files(target) > _files(case.path)
    age_temporaries(target)
    return case, target, engine


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("looks", [0, 1], ids=["before-the-put", "after-the-put"])
def test_a_zombie_of_an_undone_run(made: Tables, tmp_path: Path, kind: str, looks: int) -> None:
    """The next write has undone it: it notices, and leaves nothing."""
    case, target, engine = _abandoned(made, kind, tmp_path)
    write_next(opened(target))
    files = _files(target)
    assert engine.wake(target, looks) == 0
    assert _files(target) == files and state(target) == plus_next(case.old)
    write_next(opened(target))  # its marker goes
    assert state(target) == plus_next(case.old) and leaks(target) == []
    COUNT.trials += 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_zombie_that_dies_is_invisible(made: Tables, tmp_path: Path, kind: str) -> None:
    """Its file stays, nobody sees it, and the next write takes it away; later ones are archiving's."""
    case, target, engine = _abandoned(made, kind, tmp_path)
    opened(target).rollback()
    files = _files(target)
    assert engine.wake(target, looks=9) == 2
    assert _files(target) > files and state(target) == case.old
    write_next(opened(target))
    assert state(target) == plus_next(case.old) and leaks(target) == []
    engine.wake(target, looks=9)
    assert state(target) == plus_next(case.old)
    write_next(opened(target))
    if kind.endswith("on-read"):
        opened(target).compact()  # log files keep the commits that wrote them on the timeline
    age_temporaries(target)
    check_archives(target, plus_next(case.old), kind)
    COUNT.trials += 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("looks", [0, 1], ids=["before-the-put", "after-the-put"])
def test_a_zombie_of_an_earlier_run(made: Tables, tmp_path: Path, kind: str, looks: int) -> None:
    """Another run of the same plan has completed: its instant stands, and the files of the first run are
    not among its files. A late task of the second run finds its own file there."""
    case, target, engine = _abandoned(made, kind, tmp_path)
    second = Rewriting(1)
    commit = run(opened(target, engine=second))
    files = _files(target)
    assert set(commit.files) <= files  # type: ignore[attr-defined]
    assert leaks(target) == []
    engine.wake(target, looks)
    second.wake(target, looks)
    assert _files(target) == files and state(target) == case.old
    assert opened(target).verify().ok
    write_next(opened(target))
    engine.wake(target, looks)
    assert state(target) == plus_next(case.old)
    age_temporaries(target)
    write_next(opened(target))
    assert state(target) == plus_next(case.old) and leaks(target) == []
    COUNT.trials += 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_zombie_beside_another_run(made: Tables, tmp_path: Path, kind: str) -> None:
    """It ends while the second run is at work, whose door is open: that run takes its file away."""
    case, target, engine = _abandoned(made, kind, tmp_path)
    woken: list[int] = []

    class CoupledCommit(Rewriting):
        def map(self, stream: Stream, step: Step) -> LocalStream:
            if isinstance(plain(step), RewriteGroups):
                woken.append(engine.wake(target, 0))
            return super().map(stream, step)

    commit = run(opened(target, engine=CoupledCommit(1)))
    assert woken == [2], "they noticed: this proves nothing"
    new = _files(target) - _files(case.path)
    assert new == set(commit.files)  # type: ignore[attr-defined]
    assert state(target) == case.old and leaks(target) == []
    assert opened(target).verify().ok
    COUNT.trials += 1
