"""Clustering by turns: what one side plans the other one runs, gives up or finishes, and both go on."""

from __future__ import annotations

import copy

import mor
import pytest
from both import Both, travel
from clustered import (
    COW,
    KINDS,
    LOGS,
    MOR,
    SORT,
    SORTS,
    check,
    completed,
    files,
    filled,
    hoodoo_appends,
    hoodoo_plans,
    hoodoo_runs,
    made,
    pending,
    plan_record,
    rows,
    seen,
    sorted_by,
    spark_plans,
    spark_rolls_back,
    spark_runs,
    write_on,
)
from hoodoo.errors import CommitConflictError, PendingClusteringError
from hoodoo.model.commit import Operation
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage
from hoodoo.timeline import properties
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage
from spark_hudi import HudiError

kinds = pytest.mark.parametrize(("version", "kind"), KINDS)
by = pytest.mark.parametrize("by", ["hoodoo", "spark"])
HALF = pytest.mark.parametrize(("version", "kind"), [(9, COW), (6, MOR)])
OTHER_HALF = pytest.mark.parametrize(("version", "kind"), [(6, COW), (9, MOR)])
RUNS = [
    (9, COW, "size", "linear"),
    (6, COW, "key_range", "zorder"),
    (9, MOR, "commit_time", "hilbert"),
    (6, MOR, "overlap", "linear"),
    (9, COW, "size", "combine"),
    (9, COW, "overlap", "hilbert"),
    (6, MOR, "key_range", "linear"),
    (9, MOR, "size", "zorder"),
]
ORDERS = [
    (9, COW, "linear"),
    (6, COW, "zorder"),
    (9, MOR, "hilbert"),
    (6, MOR, "combine"),
    (9, MOR, "linear"),
    (9, COW, "combine"),
]
FIRST = ["n", "name"]


def planned(both: Both, by: str) -> str:
    if by == "hoodoo":
        return hoodoo_plans(both, options=LOGS)
    return spark_plans(both, {}, order=",".join(FIRST))


def run(both: Both, by: str, instant: str) -> None:
    (hoodoo_runs if by == "hoodoo" else spark_runs)(both, instant)


def the_other(by: str) -> str:
    return "spark" if by == "hoodoo" else "hoodoo"


def meanwhile(both: Both) -> None:
    """Both sides add rows: nothing of the plan is touched."""
    hoodoo_appends(both, rows(range(400, 406), 3, "hoodoo"))
    both.spark_upsert(rows(range(410, 416), 3, "spark"))


def look_back(both: Both, metadata: bool = False) -> None:
    """As of each write that there was."""
    for instant in mor.instants(both):
        if metadata:
            travel(both, instant)
        else:
            mor.check_travel(both, instant)


# --- planned by one, run by the other -----------------------------------------------------------------
@pytest.mark.parametrize(("version", "kind", "plan", "order"), RUNS)
def test_spark_runs_hoodoos(both: Both, version: int, kind: str, plan: str, order: str) -> None:
    made(both, version, kind)
    filled(both)
    both.hoodoo_upsert(rows([0, 1], 3, "again"))  # a log file in each partition, if it may be
    check(both, "before")
    then = seen(both)
    instant = hoodoo_plans(both, plan, order)
    (waiting,) = pending(both).values()
    assert waiting.strategy == SORTS
    assert len(waiting.groups) == 2 and all(len(g.slices) > 1 for g in waiting.groups)
    check(both, "planned by Hoodoo")
    meanwhile(both)
    check(both, "written on while it is planned")
    spark_runs(both, instant)
    assert pending(both) == {}
    check(both, "run by Spark")
    done = completed(both, instant)
    assert done.operation is Operation.CLUSTER
    gone = {(path, file_id) for path, ids in done.replaced.items() for file_id in ids}
    assert gone == waiting.file_groups
    if order == "linear":
        for stat in done.stats:
            assert sorted_by(both, stat.path, FIRST), stat.path
    keys = then.column("_hoodie_record_key").to_pylist()
    now = {row["_hoodie_record_key"]: row for row in seen(both).to_pylist()}
    assert [now[key] for key in keys] == then.to_pylist(), "meta columns"
    look_back(both)
    write_on(both, 5)
    check(both, "both write on")
    assert both.hoodoo().verify().ok


@pytest.mark.parametrize(("version", "kind", "order"), ORDERS)
def test_hoodoo_runs_sparks(both: Both, version: int, kind: str, order: str) -> None:
    made(both, version, kind)
    filled(both)
    both.spark_upsert(rows([0, 1], 3, "again"))
    check(both, "before")
    then = seen(both)
    sorts = order != "combine"
    how = {"order": ",".join(FIRST), "order_strategy": order} if sorts else {}
    instant = spark_plans(both, {}, **how)
    (waiting,) = pending(both).values()
    assert waiting.params.get(SORT) == (",".join(FIRST) if sorts else None)
    check(both, "planned by Spark")
    meanwhile(both)
    check(both, "written on while it is planned")
    hoodoo_runs(both, instant)
    assert pending(both) == {}
    check(both, "run by Hoodoo")
    done = completed(both, instant)
    gone = {(path, file_id) for path, ids in done.replaced.items() for file_id in ids}
    assert gone == waiting.file_groups and len(done.stats) == len(waiting.groups)
    keys = then.column("_hoodie_record_key").to_pylist()
    now = {row["_hoodie_record_key"]: row for row in seen(both).to_pylist()}
    assert [now[key] for key in keys] == then.to_pylist(), "meta columns"
    look_back(both)
    write_on(both, 5)
    check(both, "both write on")
    assert both.hoodoo().verify().ok


@by
@pytest.mark.parametrize("version", [9, 6])
def test_log_files_in_the_plan(both: Both, version: int, by: str) -> None:
    made(both, version, MOR)
    filled(both)
    both.hoodoo_upsert(rows(range(12), 3, "again"))
    both.spark_upsert(rows(range(6, 18), 4, "spark"))
    both.hoodoo_delete(rows([3, 8], 5, ""))
    both.spark_delete(rows([4, 9], 5, ""))
    check(both, "before")
    instant = planned(both, by)
    (waiting,) = pending(both).values()
    assert any(s.log_files for group in waiting.groups for s in group.slices)
    check(both, "planned")
    meanwhile(both)
    run(both, the_other(by), instant)
    check(both, "run by the other")
    planned_ids = {file_id for _path, file_id in waiting.file_groups}
    assert not planned_ids & {s.file_id for s in both.hoodoo().file_slices()}
    look_back(both)
    write_on(both, 6)
    check(both, "both write on")
    both.hoodoo().compact()
    check(both, "compacted")


@pytest.mark.parametrize(("by", "kind"), [("hoodoo", COW), ("hoodoo", MOR), ("spark", MOR)])
def test_with_a_metadata_table(both: Both, kind: str, by: str) -> None:
    """Files, ranges and the places of the keys are those of the new files."""
    made(both, 9, kind, metadata=True)
    filled(both)
    check(both, "before", metadata=True)
    instant = planned(both, by)
    meanwhile(both)
    check(both, "planned", metadata=True)
    run(both, the_other(by), instant)
    check(both, "run by the other", metadata=True)
    write_on(both, 5)
    check(both, "both write on", metadata=True)
    again = both.hoodoo().cluster(columns=FIRST, options=LOGS)
    assert again.instant
    check(both, "planned and run by Hoodoo", metadata=True)
    write_on(both, 7)  # Spark plans for partitions that changed since the last plan, Hoodoo's too
    spark_runs(both, spark_plans(both, {}, order="d"))
    check(both, "planned and run by Spark", metadata=True)
    write_on(both, 9)
    check(both, "both write on again", metadata=True)


def test_only_the_partitions_that_spark_selected(both: Both) -> None:
    made(both, 9, COW)
    filled(both)
    before = files(both)
    instant = spark_plans(both, {}, order="d", selected_partitions="eu")
    hoodoo_runs(both, instant)
    check(both, "run by Hoodoo")
    now = files(both)
    assert [f for f in now if f.startswith("us/")] == [f for f in before if f.startswith("us/")]
    assert [sorted_by(both, f, ["d"]) for f in now if f.startswith("eu/")] == [True]


def test_each_side_honours_the_others_target(both: Both) -> None:
    """Spark takes the size of files from its own options, whatever the plan says."""
    made(both, 9, COW)
    filled(both)
    instant = hoodoo_plans(both, target_file_size=1 << 20)
    assert all(group.outputs == 1 for group in pending(both)[instant].groups)
    spark_runs(both, instant, {"hoodie.clustering.plan.strategy.target.file.max.bytes": "1048576"})
    assert len(files(both)) == 2
    check(both, "run by Spark")


# --- Hudi's other classes -----------------------------------------------------------------------------
CLASSES = {"single_file": "SparkSingleFileSort", "copy": "SparkStreamCopyClustering"}
CLIENT = "org.apache.hudi.client.clustering."


def of_class(name: str) -> dict[str, str]:
    return {
        "hoodie.clustering.plan.strategy.class": f"{CLIENT}plan.strategy.{CLASSES[name]}PlanStrategy",
        "hoodie.clustering.execution.strategy.class": (
            f"{CLIENT}run.strategy.{CLASSES[name]}ExecutionStrategy"
        ),
    }


@by
@pytest.mark.parametrize(("version", "kind"), [(9, COW), (6, COW), (9, MOR)])
@pytest.mark.parametrize("name", list(CLASSES))
def test_plan_classes(both: Both, version: int, kind: str, name: str, by: str) -> None:
    """``by``: who plans; the other one runs it."""
    made(both, version, kind)
    filled(both)
    check(both, "before")
    before, then = files(both), seen(both)
    if by == "hoodoo":
        columns = {"columns": FIRST} if name == "single_file" else {}
        instant = both.hoodoo().schedule_clustering(name, **columns)
        assert instant is not None
    else:
        how = {"order": ",".join(FIRST)} if name == "single_file" else {}
        instant = spark_plans(both, of_class(name), **how)
    (waiting,) = pending(both).values()
    planned_as = of_class(name)["hoodie.clustering.execution.strategy.class"]
    assert waiting.strategy == (SORTS if (name, by) == ("copy", "hoodoo") else planned_as)
    meanwhile(both)
    if by == "hoodoo":
        spark_runs(both, instant, of_class(name) if name == "single_file" else {})
    else:
        hoodoo_runs(both, instant)
    check(both, "run by the other")
    done = completed(both, instant)
    if name == "single_file":
        assert len(done.stats) == len(before)
        assert all(sorted_by(both, stat.path, FIRST) for stat in done.stats)
    else:
        assert len(done.stats) < len(before)
    keys = then.column("_hoodie_record_key").to_pylist()
    now = {row["_hoodie_record_key"]: row for row in seen(both).to_pylist()}
    assert [now[key] for key in keys] == then.to_pylist(), "meta columns"
    write_on(both, 5)
    check(both, "both write on")
    assert both.hoodoo().verify().ok


# --- beside writers -----------------------------------------------------------------------------------
@by
@HALF
def test_updates_of_what_is_planned_are_rejected(
    both: Both, version: int, kind: str, by: str
) -> None:
    made(both, version, kind)
    filled(both)
    instant = planned(both, by)
    then = copy.deepcopy(both.model.rows)
    with pytest.raises(HudiError, match=r"pending clustering|Not allowed to update"):
        both.spark_upsert(rows([1, 2], 9, "spark"))
    both.model.rows = copy.deepcopy(then)
    with pytest.raises(PendingClusteringError, match=instant):
        both.hoodoo_upsert(rows([1, 2], 9, "hoodoo"))
    both.model.rows = copy.deepcopy(then)
    check(both, "both were rejected")
    meanwhile(both)
    run(both, the_other(by), instant)
    write_on(both, 5)
    check(both, "run, and written on")


@by
@OTHER_HALF
def test_a_writer_that_goes_first(both: Both, version: int, kind: str, by: str) -> None:
    """Who allows updates undoes the plan of the other one; rows are never lost."""
    made(both, version, kind)
    filled(both)
    instant = planned(both, by)
    changed = rows([1, 2, 61], 9, "first")
    if by == "hoodoo":
        both.spark_upsert(changed, **{
            "hoodie.clustering.updates.strategy": (
                "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
            ),
            "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "true",
        })  # fmt: skip
    else:
        both.opened["options"]["hoodie.clustering.updates.strategy"] = "allow"
        both.hoodoo_upsert(changed)
        del both.opened["options"]["hoodie.clustering.updates.strategy"]
    assert instant not in pending(both)
    check(both, "the plan is gone")
    write_on(both, 10)
    check(both, "both write on")
    run(both, by, planned(both, the_other(by)))
    check(both, "planned again")


@HALF
def test_spark_allows_an_update_and_hoodoo_gives_way(both: Both, version: int, kind: str) -> None:
    made(both, version, kind)
    filled(both)
    instant = hoodoo_plans(both)
    both.spark_upsert(rows([1, 2, 61], 9, "first"), **{
        "hoodie.clustering.updates.strategy": (
            "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
        ),
    })  # fmt: skip
    assert instant in pending(both)
    check(both, "written under the plan")
    with pytest.raises(CommitConflictError, match="has been changed since"):
        both.hoodoo().run_clustering(instant)
    assert pending(both) == {}
    write_on(both, 10)
    check(both, "both write on")


# --- half done, given up, taken back ------------------------------------------------------------------
def crash_at_the_end(both: Both, instant: str) -> None:
    """Hoodoo's run dies when its base files are there, before it is published."""
    before = len(mor.base_files(both))
    for at in range(1, 200):
        store = CrashingStorage(LocalStorage(str(both.path)), at)
        try:
            Table(store, properties.load(store), {}, LocalEngine(1)).run_clustering(instant)
        except Crash:
            if len(mor.base_files(both)) > before:
                return
        else:
            break
    pytest.fail("the run was never seen with a base file and without a commit")


def unpublish(both: Both, instant: str) -> None:
    """Spark's run was never published: its base files are there, its commit file is not."""
    (done,) = both.path.glob(f".hoodie/**/{instant}*.replacecommit")
    done.unlink()
    done.with_name(f".{done.name}.crc").unlink(missing_ok=True)


@kinds
def test_spark_finishes_hoodoos(both: Both, version: int, kind: str) -> None:
    made(both, version, kind)
    filled(both)
    instant = hoodoo_plans(both)
    crash_at_the_end(both, instant)
    check(both, "after the crash")
    spark_runs(both, instant)
    assert instant in mor.instants(both)
    check(both, "run again by Spark")
    write_on(both, 5)
    check(both, "both write on")


@HALF
@by
def test_what_spark_runs_is_left_alone(both: Both, version: int, kind: str, by: str) -> None:
    """``by``: whose plan it is. Spark has no heartbeat: nothing but its files says that it is at work. If Hoodoo
    undid its run, or ran the plan itself, the files of both would be published."""
    made(both, version, kind)
    filled(both)
    instant = planned(both, by)
    spark_runs(both, instant)
    there = files(both)
    (done,) = both.path.glob(f".hoodie/**/{instant}*.replacecommit")
    content = done.read_bytes()
    unpublish(both, instant)
    (waiting,) = both.hoodoo().clusterings()
    assert waiting.running
    hoodoo_appends(both, rows([500], 3, "hoodoo"))
    assert not both.hoodoo().cluster(columns="n", partitions="eu", options=LOGS).files
    assert instant in pending(both)
    done.write_bytes(content)  # and now Spark publishes
    assert set(there) < set(files(both))
    check(both, "published by Spark")
    write_on(both, 5)
    check(both, "both write on")


@kinds
def test_hoodoo_finishes_sparks(both: Both, version: int, kind: str) -> None:
    made(both, version, kind)
    filled(both)
    instant = planned(both, "spark")
    spark_runs(both, instant)
    unpublish(both, instant)
    check(both, "without the commit file")
    hoodoo_runs(both, instant)
    assert instant in mor.instants(both)
    named = {stat.path for stat in completed(both, instant).stats}
    made_then = {str(p.relative_to(both.path)) for p in mor.base_files(both) if instant in p.name}
    assert made_then == named, "files of Spark's run are left"
    check(both, "run again by Hoodoo")
    write_on(both, 5)
    check(both, "both write on")


@HALF
@by
def test_the_next_writer_undoes_what_was_abandoned(
    both: Both, version: int, kind: str, by: str
) -> None:
    """``by``: whose run died. Spark's next write leaves plans alone, begun or not, but rejects updates."""
    made(both, version, kind)
    filled(both)
    instant = planned(both, by)
    if by == "hoodoo":
        crash_at_the_end(both, instant)
        hoodoo_appends(both, rows([500], 3, "hoodoo"))
    else:
        spark_runs(both, instant)
        unpublish(both, instant)
        both.spark_upsert(rows([500], 3, "spark"))
        assert instant in pending(both)
        both.hoodoo().cancel_clustering(instant)
    assert pending(both) == {}
    left = [p for p in mor.base_files(both) if instant in p.name]
    assert left == []
    check(both, "undone")
    write_on(both, 5)
    check(both, "both write on")


@pytest.mark.parametrize("kind", [COW, MOR])
def test_spark_gives_up_hoodoos(both: Both, kind: str) -> None:
    made(both, 9, kind)
    filled(both)
    instant = hoodoo_plans(both)
    spark_rolls_back(both, instant)
    assert pending(both) == {}
    check(both, "given up")
    write_on(both, 5)
    check(both, "both write on")
    run(both, "spark", planned(both, "hoodoo"))
    check(both, "planned again")


@OTHER_HALF
def test_hoodoo_gives_up_sparks(both: Both, version: int, kind: str) -> None:
    made(both, version, kind)
    filled(both)
    instant = planned(both, "spark")
    assert both.hoodoo().cancel_clustering(instant).instant == instant
    check(both, "given up")
    write_on(both, 5)
    check(both, "both write on")
    run(both, "spark", planned(both, "spark"))
    check(both, "planned again")


@pytest.mark.parametrize(
    ("version", "kind", "by"),
    [(9, COW, "hoodoo"), (9, MOR, "hoodoo"), (6, COW, "spark"), (9, MOR, "spark")],
)
def test_a_completed_one_is_taken_back(both: Both, version: int, kind: str, by: str) -> None:
    """``by``: who clustered. The files before are there again."""
    made(both, version, kind)
    filled(both)
    before = files(both)
    instant = planned(both, by)
    run(both, by, instant)
    assert files(both) != before
    if by == "hoodoo":
        spark_rolls_back(both, instant)
        assert instant in pending(both), "Spark does not remove the plan of a completed one"
    else:
        both.hoodoo().rollback(instant)
        assert pending(both) == {}
    assert instant not in mor.instants(both)
    assert files(both) == before
    check(both, "taken back")
    if instant in pending(both):
        both.hoodoo().cancel_clustering(instant)
    write_on(both, 5)
    check(both, "both write on")


# --- cleaned and archived -----------------------------------------------------------------------------
OFTEN = {
    "hoodie.clean.automatic": "true",
    "hoodie.clean.commits.retained": "1",
    "hoodie.archive.automatic": "true",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}


@by
@HALF
def test_cleaned_and_archived_by_the_other(both: Both, version: int, kind: str, by: str) -> None:
    """``by``: who clustered. The files that were replaced go, then the replacecommit."""
    made(both, version, kind)
    filled(both)
    instant = planned(both, by)
    replaced = {path for path in files(both)}
    run(both, by, instant)
    assert not replaced & set(files(both))
    other = dict(both.opened["options"])
    for turn in range(8):
        number = 600 + turn
        if by == "hoodoo":
            both.spark_upsert(rows([number], 3, "spark"), **OFTEN)
        else:
            both.opened["options"] = {**other, **OFTEN}
            both.hoodoo_upsert(rows([number], 3, "hoodoo"))
            both.opened["options"] = other
    there = {str(path.relative_to(both.path)) for path in mor.base_files(both)}
    assert not replaced & there, "what was replaced is still there"
    assert instant not in mor.instants(both), "the replacecommit is still active"
    check(both, "cleaned and archived")
    write_on(both, 5)
    check(both, "both write on")


@OTHER_HALF
def test_what_is_planned_is_neither_cleaned_nor_archived(
    both: Both, version: int, kind: str
) -> None:
    """Spark's services know Hoodoo's plan."""
    made(both, version, kind)
    filled(both)
    instant = hoodoo_plans(both)
    for turn in range(6):
        both.spark_upsert(rows([600 + turn], 3, "spark"), **OFTEN)
    check(both, "cleaned and archived under the plan")
    assert instant in pending(both)
    spark_runs(both, instant)
    check(both, "run by Spark")


# --- bytes ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("version", "kind", "order"),
    [(*some, "linear") for some in KINDS] + [(9, COW, "zorder"), (9, MOR, "combine")],
)
def test_plans_are_alike(both: Both, version: int, kind: str, order: str) -> None:
    """Of the same table and options: all but the path's scheme, parameters and what Hoodoo adds."""
    made(both, version, kind)
    filled(both)
    if kind == MOR:
        both.hoodoo_upsert(rows(range(12), 3, "again"))
    sorts = order != "combine"
    how = {"order": ",".join(FIRST), "order_strategy": order} if sorts else {}
    theirs_at = spark_plans(both, {}, **how)
    theirs, writer = plan_record(both, theirs_at), schema_of(both, theirs_at)
    both.hoodoo().cancel_clustering(theirs_at)
    ours_at = hoodoo_plans(both, "size", order, options=LOGS)
    ours = plan_record(both, ours_at)
    assert schema_of(both, ours_at) == writer
    print(theirs, ours, sep="\n")
    assert comparable(ours) == comparable(theirs)
    their_params = theirs["clusteringPlan"]["strategy"]["strategyParams"]
    our_params = ours["clusteringPlan"]["strategy"]["strategyParams"]
    assert our_params.get(SORT) == their_params.get(SORT)


def schema_of(both: Both, instant: str) -> object:
    import fastavro
    from clustered import plan_file

    with plan_file(both, instant).open("rb") as file:
        return fastavro.reader(file).writer_schema


def comparable(record: dict[str, object]) -> dict[str, object]:
    """Paths of one form; groups and slices in one order; without what only Hoodoo says."""
    plan = copy.deepcopy(record["clusteringPlan"])
    assert isinstance(plan, dict)
    for group in plan["inputGroups"]:
        for piece in group["slices"]:
            piece["dataFilePath"] = _plain(piece["dataFilePath"])
            piece["deltaFilePaths"] = sorted(_plain(path) for path in piece["deltaFilePaths"])
        group["slices"].sort(key=lambda piece: piece["fileId"])
        group["metrics"] = {k: v for k, v in group["metrics"].items() if "hoodoo" not in k}
        extra = group["extraMetadata"] or {}
        group["extraMetadata"] = {k: v for k, v in extra.items() if "hoodoo" not in k}
    plan["inputGroups"].sort(key=lambda group: group["slices"][0]["fileId"])
    plan["strategy"] = {**plan["strategy"], "strategyParams": None}
    plan["extraMetadata"] = {k: v for k, v in plan["extraMetadata"].items() if "hoodoo" not in k}
    return {**record, "clusteringPlan": plan}


def _plain(path: str) -> str:
    return path.removeprefix("file://").removeprefix("file:")
