"""Tables to be clustered, what is done to them, and what has to hold: for the trials beside this module.

No row changes, so that the state is the same before, between and after; what is asked is whether it is
really the same for both readers, whether anything is left, and whether everybody can go on.
"""

from __future__ import annotations

import random
from pathlib import Path

import crash_trials
import merge_on_read
import metadata_tables
from attrs import frozen
from crash_leaks import leaks
from crash_trials import (
    NEXT,
    Operation,
    State,
    age_temporaries,
    opened,
    plus_next,
    state,
)
from hoodoo.model.commit import Operation as Kind
from hoodoo.model.instant import State as Stage
from hoodoo.table.table import Table
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.storage.local import LocalStorage
from merge_on_read import with_options
from metadata_tables import check_reads

# Copy on write and merge on read in both versions, and with a metadata table with a record index.
KINDS = ("v6-on-write", "v6-on-read", "v9-on-write", "v9-on-read", "keys-on-write", "keys-on-read")
NAMES = ("schedule", "run", "cluster", "cancel", "inline", "plan_inline", "rollback")
# What the action finds: a table, one with a plan, one that has been clustered.
_BEFORE = {"run": "planned", "cancel": "planned", "rollback": "clustered"}
CHANGING = ("inline", "plan_inline")
_LOGS = {"hoodoo.clustering.with.log.files": "true"}
# One at a time, so that the n-th operation is the same in each trial.
_AFTER_WRITES = {
    **_LOGS,
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.clustering.plan.strategy.sort.columns": "v",
    "hoodie.clean.parallelism": "1",
}


def build(path: Path, kind: str, what: str = "plain") -> Path:
    """Two partitions, in each of them two file groups, and log files where there are such."""
    version, merged = int(kind[1]) if kind[0] == "v" else 9, kind.endswith("on-read")
    if kind[0] == "k":
        metadata_tables.build(path, kind.removeprefix("keys-"))
    elif merged:
        merge_on_read.build(path, version, "simple")
    else:
        crash_trials.build(path, version)
    opened(path).bulk_insert(rows_of(kind)({11: "a", 12: "b"}, "more", 2))
    if what == "planned":
        assert schedule(opened(path))
    if what == "clustered":
        assert len(cluster(opened(path)).files) == 2
    return path


def rows_of(kind: str) -> Maker:
    return merge_on_read.rows if kind in ("v6-on-read", "v9-on-read") else crash_trials.rows


def schedule(table: Table) -> str | None:
    return table.schedule_clustering(columns=["v", "id"], options=_LOGS)


def cluster(table: Table) -> object:
    return table.cluster("size", "linear", columns=["v", "id"], options=_LOGS)


def run(table: Table) -> object:
    (waiting,) = table.clusterings()
    return table.run_clustering(waiting.instant)


def _cancel(table: Table) -> object:
    (waiting,) = table.clusterings()
    return table.cancel_clustering(waiting.instant)


def _rollback(table: Table) -> object:
    return table.rollback(table.timeline().writes()[-1].requested)


def operation(kind: str, name: str) -> Operation:
    found: dict[str, Operation] = {
        "schedule": schedule,
        "run": run,
        "cluster": cluster,
        "cancel": _cancel,
        "rollback": _rollback,
        "inline": _after_a_write(kind, "hoodie.clustering.inline"),
        "plan_inline": _after_a_write(kind, "hoodie.clustering.schedule.inline"),
    }
    return found[name]


def _after_a_write(kind: str, how: str) -> Operation:
    def write(table: Table) -> object:
        options = {**_AFTER_WRITES, how: "true"}
        return with_options(table, options).upsert(rows_of(kind)({1: "a", 21: "b"}, "new", 3))

    return write


@frozen
class Tables:
    """Made once, to be copied."""

    below: Path

    def __call__(self, kind: str, name: str) -> Path:
        what = _BEFORE.get(name, "plain")
        target = self.below / f"{kind}-{what}"
        return target if target.exists() else build(target, kind, what)


def done(path: Path, before: Path, name: str) -> bool:
    """Whether the action has been done, all of it."""
    table = opened(path)
    plans, earlier = table.clusterings(), opened(before).timeline()
    new = set(table.timeline().completed()) - set(earlier.completed())
    if name in ("schedule", "plan_inline"):
        return len(plans) == 1 and plans[0].state == "requested"
    if name in ("run", "cluster", "inline"):
        return not plans and any(_is_clustering(path, i.requested) for i in new)
    return not plans and any(i.action == "rollback" for i in new)


def _is_clustering(path: Path, instant: str) -> bool:
    timeline = opened(path).timeline()
    found = timeline.find(instant)
    if found is None or found.action != "replacecommit":
        return False
    return timeline.metadata(LocalStorage(str(path)), found).operation is Kind.CLUSTER


def check(path: Path, allowed: set[State], chance: random.Random, where: str) -> State:
    """Both readers see one of ``allowed``; then one of those comes who may come next. Answers what was seen."""
    found = check_reads(path, allowed, where)
    age_temporaries(path)
    order = list(_NEXT)
    chance.shuffle(order)
    order = sorted(order[:2], key=lambda name: name == "write")
    expected = found
    for name in order if chance.random() < 0.5 else ["write"]:
        expected = _NEXT[name](path, expected, f"{where}, then {order}: {name}")
    expected = _settled(path, expected, where)
    check_whole(path, expected, where, once_more=chance.random() < 0.3)
    return found


def _write(path: Path, expected: State, where: str) -> State:
    """It needs no manual step, and undoes what somebody had begun; a plan may stay."""
    crash_trials.write_next(opened(path))
    after = expected if NEXT in expected else plus_next(expected)
    assert state(path) == after, where
    assert leaks(path, services=True) == [], where
    assert all(plan.state == "requested" for plan in opened(path).clusterings()), where
    return after


def _heal(path: Path, expected: State, where: str) -> State:
    opened(path).rollback()
    assert state(path) == expected, where
    return expected


def _again(path: Path, expected: State, where: str) -> State:
    """Whatever waits is run, be it half done, and a clustering is planned again."""
    cluster(opened(path))
    assert state(path) == expected, where
    assert opened(path).clusterings() == (), where
    return expected


def _cancelled(path: Path, expected: State, where: str) -> State:
    for plan in opened(path).clusterings():
        opened(path).cancel_clustering(plan.instant)
    assert state(path) == expected, where
    return expected


_NEXT = {"write": _write, "heal": _heal, "again": _again, "cancel": _cancelled}


def _settled(path: Path, expected: State, where: str) -> State:
    """A plan that stayed can be run. With it, or without it, whatever row can be written."""
    for plan in opened(path).clusterings():
        assert plan.state == "requested", where
        assert opened(path).run_clustering(plan.instant).files, where
        assert state(path) == expected, where
    region = {key: region for key, _, region in expected}
    opened(path).upsert(crash_trials.rows(region, "last", 20))
    after = tuple((key, "last", region[key]) for key in sorted(region))
    assert state(path) == after, where
    return after


def check_whole(path: Path, expected: State, where: str, once_more: bool = True) -> None:
    assert opened(path).clusterings() == (), where
    assert all(i.state is Stage.COMPLETED for i in opened(path).timeline().instants), where
    assert leaks(path) == [], where
    report = opened(path).verify()
    assert report.ok, f"{where}: {[str(f) for f in report.findings]}"
    if "record_index" in opened(path).config.metadata_partitions:
        metadata_tables.check_whole(path, where)
    if once_more:
        cluster(opened(path))
        assert state(path) == expected, f"{where}: clustered once more"
