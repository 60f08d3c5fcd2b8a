"""Writers that go on while a compaction is planned or runs: no row is lost, none is there twice.

Two processes are played by one: what the other does comes in at a storage operation, or between two
steps of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import field, frozen
from crash_leaks import leaks
from crash_trials import COUNT, VERSIONS, State, copied, next_number, opened, ours, state
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.engine import Stream
from hoodoo.storage.api import Storage
from hoodoo.testing.stores import Crash, Delegating
from hoodoo.timeline.plans import pending_compactions, read_plan
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage
from merge_on_read import INDEXES, check_compacts, logs, rows, run_planned, with_options

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]
Act = Callable[[], object]
# One update in each partition, and a new key.
CHANGE = {1: "a", 3: "b", 7: "a"}
NO_REPEATS = {"hoodie.write.num.retries.on.conflict.failures": "0"}


@frozen
class Interrupted(LocalEngine):
    """Something else happens once the tasks have ended, before what they made is published."""

    act: Act = field(default=lambda: None, kw_only=True)

    def collect(self, stream: Stream) -> pa.Table:
        found = super().collect(stream)
        self.act()
        return found


class Between(Delegating):
    """``act`` happens once, before (or after) the first operation whose name begins with ``op`` on a
    path that ends with ``suffix``."""

    def __init__(
        self, inner: Storage, suffix: str, act: Act, after: bool = False, op: str = "put"
    ) -> None:
        super().__init__(inner)
        self.suffix, self.act, self.after, self.op = suffix, act, after, op
        self.done = False

    def around(self, op: str, path: str, call: Callable[[], Any]) -> Any:
        if self.done or not op.startswith(self.op) or not path.endswith(self.suffix):
            return call()
        self.done = True
        if self.after:
            answer = call()
            self.act()
            return answer
        self.act()
        return call()


def _change(path: Path, text: str = "new", ts: int = 5) -> None:
    opened(path).upsert(rows(CHANGE, text, ts))


def _changed(base: Path, tmp_path: Path, text: str = "new") -> State:
    """The rows of ``base`` after the change, and no compaction."""
    target = copied(base, tmp_path / "changed")
    _change(target, text)
    return state(target)


def _check(target: Path, expected: State) -> None:
    """Now, after all has been compacted, and after one write more."""
    assert ours(target) == expected
    check_compacts(target, expected, "")
    _change(target, "last", 9)
    assert {row for row in state(target) if row[1] == "last"} == {
        (key, "last", region) for key, region in CHANGE.items()
    }
    assert leaks(target) == []
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_a_write_between_plan_and_run(
    merged: Tables, tmp_path: Path, version: int, index: str
) -> None:
    target = copied(merged(version, index), tmp_path / "trial")
    expected = _changed(target, tmp_path)
    assert opened(target).schedule_compaction()
    _change(target)
    assert ours(target) == expected
    run_planned(opened(target))
    assert state(target) == expected
    assert logs(target), "the write's log files belong to the new slices"
    _check(target, expected)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_a_write_while_a_compaction_runs(
    merged: Tables, tmp_path: Path, version: int, index: str
) -> None:
    target = copied(merged(version, index), tmp_path / "trial")
    expected = _changed(target, tmp_path)
    opened(target).schedule_compaction()
    run_planned(opened(target, engine=Interrupted(1, act=lambda: _change(target))))
    assert state(target) == expected
    assert logs(target)
    _check(target, expected)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("runs", [False, True], ids=["planned", "planned-and-run"])
def test_a_planned_compaction_runs_while_a_write_does(
    merged: Tables, tmp_path: Path, version: int, index: str, runs: bool
) -> None:
    """The write knew of the plan: its names are right whether the compaction has ended or not."""
    target = copied(merged(version, index), tmp_path / "trial")
    expected = _changed(target, tmp_path)
    opened(target).schedule_compaction()
    acts = [lambda: run_planned(opened(target))] if runs else []
    engine = Interrupted(1, act=lambda: [acts.pop()() for _ in acts[:1]])
    opened(target, engine=engine).upsert(rows(CHANGE, "new", 5))
    _check(target, expected)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("what", ["plan", "plan-and-run"])
def test_a_compaction_is_planned_after_a_write_has_read_the_table(
    merged: Tables, tmp_path: Path, version: int, index: str, what: str
) -> None:
    """Before the write's request, so that nobody sees it. From version 8 on the completion time makes
    it right; in version 6 the log files have the old slice's name: the write undoes them, and is
    repeated."""
    target = copied(merged(version, index), tmp_path / "trial")
    expected = _changed(target, tmp_path)

    def act() -> None:
        assert opened(target).schedule_compaction()
        if what == "plan-and-run":
            run_planned(opened(target))

    late = opened(target, lambda s: Between(s, ".deltacommit.requested", act))
    commit = late.upsert(rows(CHANGE, "new", 5))
    undone = [i for i in opened(target).timeline().instants if i.action == "rollback"]
    assert len(undone) == (version == 6)
    assert opened(target).timeline().find(commit.instant)
    _check(target, expected)


@pytest.mark.parametrize("index", INDEXES)
def test_a_write_that_may_not_be_repeated_says_what_overtook_it(
    merged: Tables, tmp_path: Path, index: str
) -> None:
    """Version 6, without repeats: nothing of the write is left."""
    target = copied(merged(6, index), tmp_path / "trial")
    old, expected = state(target), _changed(target, tmp_path)

    def act() -> None:
        assert opened(target).schedule_compaction()

    late = with_options(
        opened(target, lambda s: Between(s, ".deltacommit.requested", act)), NO_REPEATS
    )
    with pytest.raises(CommitConflictError, match=r"compaction \d+ was planned after"):
        late.upsert(rows(CHANGE, "new", 5))
    assert state(target) == old
    _change(target)
    _check(target, expected)


@pytest.mark.parametrize("what", ["plan", "plan-and-run"])
@pytest.mark.parametrize("index", INDEXES)
def test_an_older_version_plans_nothing_under_a_write(
    merged: Tables, tmp_path: Path, index: str, what: str
) -> None:
    """Version 6, a write under way (its request is there) or dead: refused, and nothing is left."""
    target = copied(merged(6, index), tmp_path / "trial")
    expected = _changed(target, tmp_path)
    refused: list[str] = []

    def act() -> None:
        table = opened(target)
        with pytest.raises(CommitConflictError, match="is in progress") as error:
            table.schedule_compaction() if what == "plan" else table.compact()
        refused.append(str(error.value))

    number = next_number(target)
    opened(target, lambda s: Between(s, number, act)).upsert(rows(CHANGE, "new", 5))
    assert refused
    assert not any(i.action == "compaction" for i in opened(target).timeline().instants)
    _check(target, expected)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_a_compaction_is_planned_between_decision_and_completion(
    merged: Tables, tmp_path: Path, version: int, index: str
) -> None:
    """The write has its number, and is about to put its completed file: who plans puts it."""
    target = copied(merged(version, index), tmp_path / "trial")
    expected = _changed(target, tmp_path)
    planned: list[str] = []

    def act() -> None:
        planned.append(str(opened(target).schedule_compaction()))

    late = opened(target, lambda s: Between(s, ".deltacommit", act))
    commit = late.upsert(rows(CHANGE, "new", 5))
    timeline = opened(target).timeline()
    (instant,) = pending_compactions(timeline)
    assert [instant.requested] == planned
    names = {log for s in read_plan(Snapshot(LocalStorage(str(target)), timeline), instant).slices
             for log in s.log_files}  # fmt: skip
    assert set(commit.files) & {log.path for log in names} == {
        path for path in commit.files if ".log." in path
    }
    run_planned(opened(target))
    assert logs(target) == ()
    _check(target, expected)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_a_write_between_listing_and_plan(
    merged: Tables, tmp_path: Path, version: int, index: str
) -> None:
    """The plan would lack its log files: it is rebuilt."""
    target = copied(merged(version, index), tmp_path / "trial")
    expected = _changed(target, tmp_path)

    def wrapped(inner: Storage) -> Storage:
        return Between(inner, "b", lambda: _change(target), after=True, op="list")

    assert opened(target, wrapped).schedule_compaction()
    timeline = opened(target).timeline()
    (instant,) = pending_compactions(timeline)
    slices = read_plan(Snapshot(LocalStorage(str(target)), timeline), instant).slices
    planned = {log for slice_ in slices for log in slice_.log_files}
    assert planned == set(logs(target)), "the compaction was planned without the write"
    run_planned(opened(target))
    assert logs(target) == ()
    _check(target, expected)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_a_compaction_while_a_write_waits_to_be_published(
    merged: Tables, tmp_path: Path, version: int, index: str
) -> None:
    """Its files are there, its completion time is not taken yet: in version 6 nothing is planned then."""
    target = copied(merged(version, index), tmp_path / "trial")
    expected = _changed(target, tmp_path)
    times: list[int] = []

    def compact() -> None:
        times.append(1)
        if len(times) != 2:  # the second collect is that of the stats
            return
        if version == 6:
            with pytest.raises(CommitConflictError, match="is in progress"):
                opened(target).compact()
        else:
            opened(target).compact()

    opened(target, engine=Interrupted(1, act=compact)).upsert(rows(CHANGE, "new", 5))
    assert len(times) >= 2
    _check(target, expected)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_a_scheduler_dies_before_it_looks_for_writes(
    merged: Tables, tmp_path: Path, version: int, index: str
) -> None:
    """Its plan stands, without the log files of a write that ended before it: who runs the plan takes
    them in."""
    target = copied(merged(version, index), tmp_path / "trial")
    expected = _changed(target, tmp_path)

    def die() -> None:
        raise Crash("the scheduler ended here")

    def wrapped(inner: Storage) -> Storage:
        dying = Between(inner, ".compaction.requested", die, after=True)
        return Between(dying, ".compaction.requested", lambda: _change(target))

    with pytest.raises(Crash):
        opened(target, wrapped).schedule_compaction()
    assert ours(target) == expected
    run_planned(opened(target))
    assert state(target) == expected
    _check(target, expected)


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("when", ["before-the-run", "during-the-run"])
def test_a_completion_that_lands_late(
    merged: Tables, tmp_path: Path, index: str, when: str
) -> None:
    """Version 9, a writer that takes no numbers: it has its completion time, then is held up; a
    compaction with a later instant is planned, and runs, before the file lands."""
    target = copied(merged(9, index), tmp_path / "trial")
    expected = _changed(target, tmp_path)
    commit = opened(target).upsert(rows(CHANGE, "new", 5))
    (file,) = (target / ".hoodie" / "timeline").glob(f"{commit.instant}_*.deltacommit")
    data = file.read_bytes()
    file.unlink()
    _plan_after(target, file.stem.partition("_")[2])
    if when == "before-the-run":
        file.write_bytes(data)
    else:
        engine = Interrupted(1, act=lambda: file.write_bytes(data))
        with pytest.raises(CommitConflictError, match="Run it again"):
            run_planned(opened(target, engine=engine))
    assert ours(target) == expected
    run_planned(opened(target))
    assert logs(target) == ()
    assert state(target) == expected
    _check(target, expected)


def _plan_after(path: Path, time: str) -> None:
    """Times are taken from the clock, which may stand still for a write and a plan."""
    while str(instant := opened(path).schedule_compaction()) <= time:
        (path / ".hoodie" / "timeline" / f"{instant}.compaction.requested").unlink()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_two_run_the_same_compaction(
    merged: Tables, tmp_path: Path, version: int, index: str
) -> None:
    """One of them publishes; the other one finds that out, and takes no file of the first away."""
    target = copied(merged(version, index), tmp_path / "trial")
    old = state(target)
    opened(target).schedule_compaction()
    engine = Interrupted(1, act=lambda: run_planned(opened(target)))
    run_planned(opened(target, engine=engine))
    assert state(target) == old
    assert logs(target) == ()
    assert leaks(target) == []
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("what", ["insert_overwrite", "delete_partitions"])
@pytest.mark.parametrize("when", ["planned", "running"])
def test_file_groups_are_replaced_under_a_compaction(
    merged: Tables, tmp_path: Path, version: int, what: str, when: str
) -> None:
    """What a compaction makes of a replaced group is not seen."""
    target = copied(merged(version, "bucket"), tmp_path / "trial")

    def replace(path: Path = target) -> None:
        if what == "insert_overwrite":
            opened(path).insert_overwrite(rows({8: "a"}, "new", 1))
        else:
            opened(path).delete_partitions("a")

    replace(copied(target, tmp_path / "replaced"))
    expected = state(tmp_path / "replaced")
    opened(target).schedule_compaction()
    if when == "planned":
        replace()
        run_planned(opened(target))
    else:
        run_planned(opened(target, engine=Interrupted(1, act=replace)))
    assert state(target) == expected
    check_compacts(target, expected, when)
    assert leaks(target) == []
    COUNT.trials += 1
