"""Actions beside each other: every pair of :data:`action_pairs.ACTIONS`, with a switch, or a death, at any step.

The default run draws a few pairs, and one step of each. HOODOO_TRIALS=more takes all pairs, and of each action eight
steps, spread over all of them; all: every step, which takes many hours. At each of these the other action goes to its
end; or the first one dies there; or the other one goes on to a step that is drawn, where it may die, and the first goes
to its end. So schedules have at most three switches: all of one, and a sample of those with more.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from action_pairs import KINDS, PAIRS, PairTrial, kind_of, scenario
from effort import ALL, MORE
from hoodoo.actions.rollback.recovery import recover
from hoodoo.model.instant import Instant, State
from hoodoo.testing.stores import MUTATING, Crash, GatedStorage
from hoodoo.timeline import properties
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import load
from hoodoo_metadata.life.kept_by import first_commit_not_indexed
from memory_store import MemoryStorage, Objects
from schedules import Step
from tables import COW_RECORDS, MOR6, MOR9, MOR_RECORDS, Kind, rows
from trials import COUNT, SEED, Act, Scenario
from world import MAIN, World, opened, rows_of

Made = Callable[[Kind], Objects]
# A writer, and what it is about to do when it stops: the end of a path, and the operation.
Stop = tuple[str, str, str]


@pytest.mark.sampled(13)
@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_pairs(made: Made, still: World, tmp_path: Path, pair: tuple[str, str]) -> None:
    seed = random.Random(f"{SEED} {pair}")
    kind = kind_of(pair, seed.choice(KINDS))
    trial = PairTrial(scenario(pair), kind, made(kind), still, tmp_path)
    tried = trial.every(100_000 if ALL else 8, seed) if MORE else trial.drawn(seed)
    for _answers in tried:
        COUNT.schedules += 1


def stopping(trial: PairTrial, stops: list[Stop]) -> Mapping[str, object]:
    """Each writer in turn goes on until it is about to do this; then all go on to their ends."""
    left = list(stops)

    def choose(waiting: Mapping[str, Step]) -> str:
        while left:
            name, op, end = left[0]
            step = waiting.get(name)
            if step is not None and not (step.op == op and step.path.endswith(end)):
                return name
            assert step is not None, f"{name} ended before {op} {end}"
            left.pop(0)
        return min(waiting)

    return trial.chosen(choose)


def test_restore_beside_a_writer_that_undoes_itself(
    made: Made, still: World, tmp_path: Path
) -> None:
    """The restore ends while a writer is about to begin the rollback of what the restore has undone, too."""
    acts = {
        "B": lambda t: t.restore(t.timeline().writes()[0].requested),
        "W": lambda t: t.upsert(rows({1: "a"}, "W", 9)),
    }
    trial = PairTrial(Scenario(acts), MOR9, made(MOR9), still, tmp_path)
    stopping(
        trial,
        [
            ("W", "list", ".hoodie/.hoodoo/ledger"),
            ("W", "put_if_absent", ".deltacommit.inflight"),
            ("B", "put_if_absent", ".restore.inflight"),
            ("W", "put_if_absent", ".rollback.inflight"),
        ],
    )


def test_no_compaction_is_planned_of_log_files_that_a_rollback_deletes(
    made: Made, still: World, tmp_path: Path
) -> None:
    """The rollback has taken the commit away when the compaction lists, and ends before the plan is
    put. (In later versions a log file without a commit is in no plan.)"""
    trial = PairTrial(scenario(("rollback", "compaction")), MOR6, made(MOR6), still, tmp_path)
    # The rollback is about to delete the log file; the compaction has listed, and reads commits.
    answers = stopping(trial, [("A", "delete", "-120000008"), ("B", "get", "7.deltacommit")])
    assert all(not isinstance(answer, BaseException) for answer in answers.values()), answers


def test_a_compaction_ends_when_a_restore_is_about_to_undo_its_plan(
    made: Made, still: World, tmp_path: Path
) -> None:
    """It is undone as one that is completed. The restore failed, and the next writer finished it."""
    trial = PairTrial(scenario(("compaction", "restore")), MOR9, made(MOR9), still, tmp_path)
    rollback = ".hoodie/.heartbeat/20260329120000601"
    stops = [("A", "head", "300.compaction.inflight"), ("B", "put_if_absent", rollback)]
    answers = stopping(trial, stops)
    assert all(not isinstance(answer, BaseException) for answer in answers.values()), answers


def test_what_is_inflight_without_a_plan_is_taken_back(
    made: Made, still: World, tmp_path: Path
) -> None:
    """Its process slept while another one ended the action: it is nobody's, and nobody could finish it."""
    trial = PairTrial(Scenario({}), MOR9, made(MOR9), still, tmp_path)
    store = trial.store()
    timeline = load(store, properties.load(store))
    before = rows_of(opened(store))
    for number, action in enumerate(("rollback", "restore", "compaction", "clustering", "clean")):
        left = Instant(f"2026032912000090{number}", action, State.INFLIGHT)
        store.put(timeline.path(left), b"")
    recover(store, timeline.config)
    assert load(store, timeline.config).pending() == ()
    opened(store).upsert(rows({99: "b"}, "next", 9))
    assert rows_of(opened(store)) == tuple(sorted((*before, (99, "next", "b"))))


@pytest.mark.parametrize("kind", [COW_RECORDS, MOR_RECORDS], ids=str)
def test_a_pending_savepoint_hides_no_row(
    made: Made, still: World, tmp_path: Path, kind: Kind
) -> None:
    """It has the requested time of the write that it keeps; that is completed, in the metadata table, too."""
    store = PairTrial(Scenario({}), kind, made(kind), still, tmp_path).store()
    before = rows_of(opened(store))
    timeline = load(store, properties.load(store))
    saved = Instant(timeline.writes()[-1].requested, "savepoint", State.INFLIGHT)
    store.put(timeline.path(saved), b"")
    assert rows_of(opened(store)) == before


@pytest.mark.parametrize("look", ["list", "put_if_absent"])
def test_a_build_that_dies_wiped_what_another_one_is_about_to_list(
    made: Made, still: World, tmp_path: Path, look: str
) -> None:
    """It dies with its marks put and nothing committed, while the other one looks at the marks for the last time, or
    after that."""
    trial = PairTrial(
        scenario(("rebuild_index",) * 2), COW_RECORDS, made(COW_RECORDS), still, tmp_path
    )
    last = {"list": ".hoodie/metadata/.hoodie/timeline", "put_if_absent": properties.BACKUP}[look]
    ends, steps = trial.steps("B"), trial.steps("A")
    listed = max(n for n, step in enumerate(ends) if (step.op, step.path) == (look, last))
    begun = max(n for n, step in enumerate(steps) if step.op == "put_file_if_absent")
    trial.pair([("B", listed), ("A", begun + 1)], ("A", begun))


def _ends_behind(store: MemoryStorage, act: Act, suffix: str, skip: int) -> None:
    """``act`` in a process that ends at the change after the one of a path with this end, ``skip`` of them passed over."""
    count = [skip + 1]

    def gate(op: str, path: str) -> None:
        if count[0] <= 0 and op in MUTATING:
            count[0] = -1
            raise Crash(path)
        count[0] -= op == "put" and path.endswith(suffix)

    with pytest.raises(Crash):
        act(opened(GatedStorage(store, gate)))
    assert count[0] == -1


def unkept(store: MemoryStorage) -> list[str]:
    """Partitions of the metadata table that are ready, and that lack a commit."""
    config = properties.load(store)
    timeline = load(store, config)
    ready = [p for p in config.metadata_partitions if p in ("record_index", "secondary_index_by_v")]
    return [p for p in ready if first_commit_not_indexed(Snapshot(store, timeline), p) is not None]


@pytest.mark.parametrize("kind", [COW_RECORDS, MOR_RECORDS], ids=str)
def test_what_a_killed_drop_left_is_no_index_of_a_killed_creation(
    made: Made, still: World, tmp_path: Path, kind: Kind
) -> None:
    """Both end right after the properties have changed. A write in between does not keep the index."""
    trial = PairTrial(Scenario({}), kind, made(kind), still, tmp_path)
    store = trial.store()
    opened(store).create_index("by_v", "v")
    still.dead.add(MAIN)
    _ends_behind(store, lambda t: t.drop_index("by_v"), "hoodie.properties", 0)
    opened(store).upsert(rows({1: "a", 3: "b"}, "between", 5))
    assert unkept(store) == []
    # The first change of the properties says where definitions are, the second that the index is being built.
    _ends_behind(store, lambda t: t.create_index("by_v", "v"), "hoodie.properties", 1)
    opened(store).upsert(rows({2: "a"}, "after", 6))
    assert "secondary_index_by_v" in properties.load(store).metadata_partitions
    assert unkept(store) == []
    report = opened(store).verify()
    assert report.ok, [str(finding) for finding in report.findings]
