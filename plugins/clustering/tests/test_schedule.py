"""Plans of clusterings: which partitions, which groups, what is said of them, and what is owed."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import define, evolve, field, frozen
from hoodoo.errors import PluginError
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.participants.listing import build
from hoodoo.timeline import codec, properties, timeline
from hoodoo.timeline.layouts import LAYOUTS
from hoodoo.timeline.plans import PLANNER, clustered_groups
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_clustering.changed import last_plan
from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.options import SORT_COLUMNS
from hoodoo_clustering.plan import LEFT_OUT, ClusteringPlan, read_clustering
from hoodoo_clustering.schedule import Scope, make_plan
from hoodoo_clustering.settings import ClusteringSettings
from hoodoo_clustering.strategies.filters import NoFilter, RecentDays
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_standard.storage.local import LocalStorage

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data")) / "tables"
CONFIG = TableConfig(
    {"hoodie.table.name": "t", "hoodie.table.version": "9", "hoodie.timeline.layout.version": "2"}
)
SCHEMA = pa.schema([("n", pa.int64()), ("day", pa.date32()), ("name", pa.string())])
NOW = datetime(2024, 1, 10, 12, tzinfo=timezone.utc)
STRATEGY = "linear"
MIB = 1 << 20


@frozen
class Pairs:
    """Two and two, as they come."""

    bounds_of: tuple[str, ...] = ()

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        pairs = [tuple(candidates[n : n + 2]) for n in range(0, len(candidates), 2)]
        return [ClusteringGroup(pair) for pair in pairs]

    def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
        return groups


@define
class Made:
    """A table of version 9 whose commits are written by hand."""

    storage: LocalStorage
    slices: list[FileSlice] = field(factory=list)
    schema: pa.Schema = SCHEMA

    def instant(
        self, action: str, number: int, content: bytes, completed: int | None = None
    ) -> None:
        state = State.REQUESTED if completed is None else State.COMPLETED
        done = None if completed is None else at(completed)
        name = LAYOUTS[2].file_name(Instant(at(number), action, state, done))
        self.storage.put(f"{CONFIG.timeline_path}/{name}", content)

    def commit(
        self, number: int, *paths: str, completed: int | None = None,
        operation: Operation = Operation.INSERT,
    ) -> None:  # fmt: skip
        action = "replacecommit" if operation is Operation.CLUSTER else "commit"
        stats = tuple(WriteStat(path, "f", f"{path}/f") for path in paths)
        content = LAYOUTS[2].encode_commit(CommitMetadata(operation, stats), action)
        self.instant(action, number, content, completed or number)

    def add(self, path: str, *sizes: int, at_: int = 1, logs: int = 0) -> None:
        for size in sizes:
            file_id = f"f{len(self.slices):02d}"
            base = BaseFile(path, file_id, at(at_), "0-0-0", size=size) if size else None
            found = tuple(LogFile(path, file_id, at(at_), n + 1, "0", size=7) for n in range(logs))
            self.slices.append(FileSlice(path, file_id, at(at_), base, found))

    def rows(self, path: str, rows: list[dict[str, Any]]) -> None:
        self.add(path, 1)
        base = self.slices[-1].base_file
        assert base is not None
        where = Path(self.storage.root.removeprefix("file://")) / base.path
        where.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), where)

    def scope(self) -> Scope:
        loaded = timeline.load(self.storage, CONFIG)
        busy = clustered_groups(Snapshot(self.storage, loaded))
        return Scope(self.storage, loaded, ParquetFormat(), self.schema, tuple(self.slices), busy)

    def plan(self, planner: Any = None, orders: bool | None = None, **given: Any) -> Any:
        params = given.pop("params", {})
        scope = evolve(self.scope(), only=given.pop("only", NoFilter()))
        settings = ClusteringSettings(**given)
        used = Pairs() if planner is None else planner
        return make_plan(scope, used, "pairs", STRATEGY, params, settings, NOW, orders)

    def request(self, number: int, plan: ClusteringPlan) -> None:
        self.instant("clustering", number, plan.encode(self.storage.root))


def at(number: int) -> str:
    return f"202401010000{number:05d}"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(LocalStorage(str(tmp_path)))


def ids(plan: ClusteringPlan | None) -> list[list[str]]:
    groups = plan.groups if plan is not None else ()
    return [[s.file_id for s in group.slices] for group in groups]


# --- groups ---------------------------------------------------------------------------------------
def test_a_plan_names_what_it_goes_by(made: Made) -> None:
    made.add("a", 10, 20, 20, 40)
    params = {"hoodie.clustering.plan.strategy.target.file.max.bytes": "50"}
    plan = made.plan(params=params, target=50)
    assert ids(plan) == [["f00", "f01"]]  # 60 bytes become two files again
    assert [group.outputs for group in plan.groups] == [1]
    extra = {
        PLANNER: "pairs",
        LEFT_OUT: "2 file slices left alone: a rewrite would not make fewer files, and would not change the order of rows.",
    }
    assert (plan.strategy, plan.params, plan.extra) == (STRATEGY, params, extra)
    assert plan.keeps_meta


def test_nothing_to_cluster(made: Made) -> None:
    assert made.plan() is None
    made.add("a", 500 * MIB)
    assert made.plan() is None


def test_partitions_in_the_order_that_is_asked_for(made: Made) -> None:
    for path in ("b", "a", "c"):
        made.add(path, 1, 1)
    assert ids(made.plan()) == [["f02", "f03"], ["f00", "f01"], ["f04", "f05"]]
    assert ids(made.plan(latest_first=True)) == [["f04", "f05"], ["f00", "f01"], ["f02", "f03"]]
    assert ids(made.plan(selected=("b",))) == [["f00", "f01"]]


def test_what_is_stored_of_a_plan(made: Made) -> None:
    """Hudi's record: the target size among the parameters of the strategy, and versions."""
    made.add("a", 10, 20)
    params = {"hoodie.clustering.plan.strategy.target.file.max.bytes": "50"}
    record = codec.decode(made.plan(params=params, target=50).encode("file:/t"), "plan")
    plan = record["clusteringPlan"]
    assert (record["operationType"], record["version"], plan["version"]) == ("CLUSTER", 1, 1)
    assert plan["strategy"] == {
        "strategyClassName": STRATEGY,
        "strategyParams": params,
        "version": 1,
    }
    assert plan["preserveHoodieMetadata"] and plan["extraMetadata"][PLANNER] == "pairs"
    (group,) = plan["inputGroups"]
    assert [s["fileId"] for s in group["slices"]] == ["f00", "f01"]
    assert group["metrics"]["TOTAL_IO_MB"] >= 0 and group["numOutputFileGroups"] == 1


def test_no_more_groups_than_allowed_and_what_is_cut_is_owed(made: Made) -> None:
    made.add("a", 1, 1)
    made.add("b", 1, 1, 1, 1)
    made.add("c", 1, 1)
    plan = made.plan(groups=2)
    assert ids(plan) == [["f00", "f01"], ["f02", "f03"]]
    assert plan.missing == ("b", "c")


def test_the_planner_says_which_groups_come_first(made: Made) -> None:
    @frozen
    class Backwards(Pairs):
        def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
            return groups[:0:-1]

    made.add("a", 1, 1, 1, 1)
    made.add("b", 1, 1)
    assert ids(made.plan(Backwards())) == [["f04", "f05"], ["f02", "f03"]]


@pytest.mark.parametrize(
    ("sizes", "single", "orders", "expected"),
    [
        ([1], True, False, False),  # one file would become one file
        ([1], True, True, True),  # its rows get another order
        ([1], False, True, False),
        ([90, 90], True, False, False),  # two become two
        ([90, 90], False, True, True),
        ([50, 50], False, False, True),
    ],
)
def test_what_is_not_worth_it(
    made: Made, sizes: list[int], single: bool, orders: bool, expected: bool
) -> None:
    made.add("a", *sizes)
    assert (made.plan(orders=orders, single=single, target=100) is not None) is expected
    params = {SORT_COLUMNS.key: "n"} if orders else {}
    made.schema = pa.schema([])  # there is no such column: no file is opened for it
    assert (made.plan(params=params, single=single, target=100) is not None) is expected


def test_a_slice_with_log_files_is_worth_it(made: Made) -> None:
    made.add("a", 5, logs=2)
    made.add("b", 0, logs=1)
    assert made.plan() is None
    plan = made.plan(with_logs=True)
    assert ids(plan) == [["f00"], ["f01"]]
    assert [group.metrics["TOTAL_LOG_FILES"] for group in plan.groups] == [2.0, 1.0]


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (lambda items: [ClusteringGroup((items[0], items[0]))], "twice"),
        (lambda items: [ClusteringGroup((items[0],)), ClusteringGroup((items[0],))], "twice"),
        (lambda items: [ClusteringGroup(())], "nothing"),
        (lambda items: [ClusteringGroup(tuple(items))], "bytes"),
        (
            lambda items: [ClusteringGroup((evolve(items[0], slice=FileSlice("x", "y", "z")),))],
            "cand",
        ),
    ],
)
def test_a_planner_that_breaks_its_contract(
    made: Made, broken: Callable[[Any], Any], what: str
) -> None:
    @frozen
    class Broken(Pairs):
        def group(self, candidates: Any, sizes: GroupSizes) -> Any:
            return broken(candidates)

    made.add("a", 10, 10)
    with pytest.raises(PluginError, match=what):
        made.plan(Broken(), group=15)


def test_a_planner_that_chooses_what_it_was_not_given(made: Made) -> None:
    @frozen
    class Doubling(Pairs):
        def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
            return [*groups, *groups]

    made.add("a", 1, 1)
    with pytest.raises(PluginError, match="pairs.*twice"):
        made.plan(Doubling())


# --- metrics --------------------------------------------------------------------------------------
def test_numbers_are_metrics_and_the_rest_is_extra(made: Made) -> None:
    made.rows("a", [{"n": 5, "day": date(2024, 1, 1), "name": "x"}, {"n": 7, "name": "y"}])
    made.rows("a", [{"n": -2, "day": date(2023, 1, 1), "name": None}])
    (group,) = made.plan(params={SORT_COLUMNS.key: "n, day,name"}).groups
    assert group.metrics == {
        "TOTAL_LOG_FILES": 0.0, "TOTAL_LOG_FILES_SIZE": 0.0, "TOTAL_IO_READ_MB": 0.0,
        "TOTAL_IO_WRITE_MB": 0.0, "TOTAL_IO_MB": 0.0,
        "hoodoo.rows": 3.0, "hoodoo.min.n": -2.0, "hoodoo.max.n": 7.0,
    }  # fmt: skip
    # Of `name` nothing is said: a file without a value has no ends.
    assert group.extra == {"hoodoo.min.day": "2023-01-01", "hoodoo.max.day": "2024-01-01"}


def test_megabytes_are_cut_as_hudi_cuts_them(made: Made) -> None:
    made.add("a", 3 * MIB - 1, MIB + 2, logs=1)
    made.add("a", 0, logs=1)
    (group, *_) = made.plan(AllOf(), with_logs=True).groups
    # Hudi takes its own size of a new file where there is no base file: 120 MiB.
    assert group.metrics == {
        "TOTAL_LOG_FILES": 3.0, "TOTAL_LOG_FILES_SIZE": 21.0, "TOTAL_IO_READ_MB": 4.0,
        "TOTAL_IO_WRITE_MB": 124.0, "TOTAL_IO_MB": 128.0,
    }  # fmt: skip


@frozen
class AllOf(Pairs):
    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        return [ClusteringGroup(tuple(candidates))]


def test_eight_files_of_half_the_target_are_to_become_four(made: Made) -> None:
    made.add("a", *[512] * 8)
    (group,) = made.plan(AllOf(), small=600, target=1024).groups
    assert (len(group.slices), group.outputs) == (8, 4)


def test_the_planner_sees_the_bounds_that_it_wants(made: Made) -> None:
    seen: list[Any] = []

    @frozen
    class Looks(Pairs):
        bounds_of: tuple[str, ...] = ("n",)

        def group(self, candidates: Any, sizes: GroupSizes) -> Any:
            seen.extend((dict(item.bounds), item.rows) for item in candidates)
            return super().group(candidates, sizes)

    made.rows("a", [{"n": 5}, {"n": 7}])
    made.rows("a", [{"n": 1}])
    plan = made.plan(Looks())
    assert seen == [({"n": (5, 7)}, 2), ({"n": (1, 1)}, 1)]
    # Nobody sorts by it: nothing is said of it.
    assert "hoodoo.min.n" not in plan.groups[0].metrics


# --- since the last plan --------------------------------------------------------------------------
def three(made: Made) -> None:
    for path in ("a", "b", "c"):
        made.add(path, 1, 1)
    made.commit(1, "a", "b", "c")


def test_only_what_changed_since_the_last_plan(made: Made) -> None:
    three(made)
    plan = made.plan(selected=("a",))
    assert plan.missing == ("b", "c")  # not looked at
    made.request(2, evolve(plan, missing=()))
    assert made.plan() is None  # pending for a; nothing else changed
    made.add("b", 1, 1, at_=3)
    made.commit(3, "b")
    assert ids(made.plan(AllOf())) == [["f02", "f03", "f06", "f07"]]
    assert len(made.plan(incremental=False).groups) == 3


def test_what_is_owed_is_looked_at(made: Made) -> None:
    three(made)
    first = made.plan(groups=1)
    made.request(2, first)
    second = made.plan(groups=1)
    assert (ids(second), second.missing) == ([["f02", "f03"]], ("c",))
    made.request(3, second)
    third = made.plan(only=RecentDays(skip=1))
    assert third is None  # c is the newest, which is left out
    fourth = made.plan()
    assert (ids(fourth), fourth.missing) == ([["f04", "f05"]], ())


def test_a_write_that_was_under_way_counts_when_it_completes(made: Made) -> None:
    three(made)
    made.request(5, evolve(made.plan(), missing=()))
    made.add("b", 1, 1, at_=4)
    assert made.plan() is None
    made.commit(4, "b", completed=6)
    assert ids(made.plan()) == [["f06", "f07"]]


def test_a_completed_clustering_is_the_last_plan_too(made: Made) -> None:
    three(made)
    made.request(5, evolve(made.plan(), missing=("c",)))
    made.commit(5, "a", completed=7, operation=Operation.CLUSTER)
    loaded = timeline.load(made.storage, CONFIG)
    found = last_plan(Snapshot(made.storage, loaded))
    assert found is not None and found[0].requested == at(5)
    assert ids(made.plan()) == [["f04", "f05"]]  # a has changed by the clustering alone


@pytest.mark.parametrize("gone", [True, False])
def test_a_plan_that_is_unknown_means_everywhere(made: Made, gone: bool) -> None:
    three(made)
    if not gone:
        made.instant("clustering", 5, made.plan().encode(made.storage.root))
        made.storage.put(f"{CONFIG.timeline_path}/{at(5)}.clustering.requested", b"")
    made.commit(5, "a", completed=7, operation=Operation.CLUSTER)
    assert len(made.plan().groups) == 3


def test_plans_by_other_parameters_are_not_the_last(made: Made) -> None:
    three(made)
    made.request(2, evolve(made.plan(), groups=(), missing=()))
    assert made.plan() is None
    assert len(made.plan(params={SORT_COLUMNS.key: "nobody"}).groups) == 3
    scope = made.scope()
    settings = ClusteringSettings()
    other = make_plan(scope, Pairs(), "other", STRATEGY, {}, settings, NOW)
    assert other is not None and len(other.groups) == 3
    assert make_plan(scope, Pairs(), "pairs", "another", {}, settings, NOW) is not None


# --- beside Hudi ----------------------------------------------------------------------------------
@pytest.mark.skipif(not GOLDEN.exists(), reason="no golden tables: set HOODOO_GOLDEN")
@pytest.mark.parametrize(
    "name",
    ["cow_v9_txns_nonpart_meta", "cow_v9_txns_complex_nometa", "mor_avro_v9_txns_simple_nometa"],
)
def test_the_plan_that_hudi_made(name: str, tmp_path: Path) -> None:
    """The same slices in the same order, metrics and number of files; but for groups of one file, which
    Hudi rewrites though nothing is sorted."""
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
        archive.extractall(tmp_path)
    (home,) = (p.parent for p in tmp_path.glob("*/.hoodie") if "__MACOSX" not in str(p))
    storage = LocalStorage(str(home))
    loaded = timeline.load(storage, properties.load(storage))
    (file,) = home.glob(".hoodie/timeline/*.clustering.requested")
    instant = Instant(file.name.split(".")[0], "clustering", State.REQUESTED)
    theirs = read_clustering(Snapshot(storage, loaded), instant)
    before = max(i.requested for i in loaded.writes() if i.requested < instant.requested)
    slices = build(Snapshot(storage, loaded), before).slices

    @frozen
    class Largest(Pairs):
        def group(self, candidates: Sequence[Clusterable], sizes: GroupSizes) -> Any:
            return [ClusteringGroup(tuple(sorted(candidates, key=lambda item: -item.size)))]

    scope = Scope(storage, loaded.as_of(before), ParquetFormat(), SCHEMA, slices)
    settings = ClusteringSettings(incremental=False)
    ours = make_plan(scope, Largest(), "size", theirs.strategy, theirs.params, settings, NOW)
    assert ours is not None
    kept = [group for group in theirs.groups if len(group.slices) > 1]
    assert ids(ours) == [[s.file_id for s in group.slices] for group in kept]
    assert [g.metrics for g in ours.groups] == [g.metrics for g in kept]
    assert [g.outputs for g in ours.groups] == [g.outputs for g in kept]
    assert (ours.params, ours.missing) == (theirs.params, theirs.missing)
