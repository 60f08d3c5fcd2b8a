"""Consistent hashing by turns: what one side makes, splits, merges or plans the other one writes on, and runs."""

from __future__ import annotations

import pyarrow as pa
import pytest
from both import Both
from clustered import call, pending
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_hashing import stored
from hoodoo_hashing.stored import PathRing
from hoodoo_rows.testing.tables import Maker
from model import Model

SCHEMA = pa.schema(
    [("id", pa.string()), ("region", pa.string()), ("ts", pa.int64()), ("v", pa.string())]
)
_CLIENT = "org.apache.hudi.client.clustering."
UPDATES = "hoodie.clustering.updates.strategy"
SPARK = {
    "hoodie.clustering.plan.strategy.class": (
        f"{_CLIENT}plan.strategy.SparkConsistentBucketClusteringPlanStrategy"
    ),
    "hoodie.clustering.execution.strategy.class": (
        f"{_CLIENT}run.strategy.SparkConsistentBucketClusteringExecutionStrategy"
    ),
    UPDATES: f"{_CLIENT}update.strategy.SparkConsistentBucketDuplicateUpdateStrategy",
}
INDEX = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "4",
    "hoodie.bucket.index.min.num.buckets": "2",
    "hoodie.bucket.index.max.num.buckets": "16",
}
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
SPLIT = {
    "hoodie.bucket.index.split.threshold": "0.00000001",
    "hoodie.bucket.index.merge.threshold": "0",
}
MERGE = {
    "hoodie.bucket.index.split.threshold": "9",
    "hoodie.bucket.index.merge.threshold": "0.2",
}
by = pytest.mark.parametrize("by", ["hoodoo", "spark"])
versions = pytest.mark.parametrize("version", [9, 6])

rows = Maker(
    SCHEMA, "ts", "word", id=str, region=("us", "eu", "eu"), v=lambda i, word: f"{word}{i}"
).dicts


def made(both: Both, by: str, version: int) -> None:
    """A table with rows, made by one side."""
    more = {k.replace(".", "__"): v for k, v in {**QUIET, **INDEX, **SPARK}.items()}
    both.setup(
        Model(("id",), "ts"), SCHEMA, version, "BUCKET", False, ("region",),
        table_type="MERGE_ON_READ", **more,
    )  # fmt: skip
    both.opened = {"options": {**QUIET, **INDEX}}
    if by == "hoodoo":
        both.create({k: v for k, v in INDEX.items() if k != "hoodie.index.type"})
        both.hoodoo_upsert(rows(range(60), 1, "a"))
    else:
        both.spark_upsert(rows(range(60), 1, "a"))


def ring(both: Both, path: str) -> PathRing:
    opened = both.hoodoo()
    found = stored.load(Snapshot(opened.handle.storage, opened.timeline()), path)
    assert found is not None
    return found


def plans(both: Both, by: str, options: dict[str, str]) -> str:
    if by == "hoodoo":
        instant = both.hoodoo().schedule_clustering(options=options)
        assert instant is not None
        return instant
    before = set(pending(both))
    call(both, "run_clustering", options, op="schedule")
    (instant,) = set(pending(both)) - before
    return instant


def runs(both: Both, by: str, instant: str) -> None:
    if by == "hoodoo":
        assert both.hoodoo().run_clustering(instant).instant == instant
        return
    answer = call(both, "run_clustering", op="execute", instants=instant)
    assert [row["state"] for row in answer] == ["COMPLETED"], answer


def other(by: str) -> str:
    return "spark" if by == "hoodoo" else "hoodoo"


def write_on(both: Both, ts: int, deletes: bool = True) -> None:
    """Both sides change rows of before and of each other, add some, and delete some. (``deletes``: of log files that were
    written beside a resize Spark takes those of one version in the order of their tokens; what is deleted without an
    ordering value may come first, and come back.)"""
    both.spark_upsert(rows([*range(5, 25), *range(100 + ts, 105 + ts)], ts, "spark"))
    both.hoodoo_upsert(rows([*range(15, 35), *range(100 + ts, 110 + ts)], ts + 1, "hoodoo"))
    both.spark_upsert(rows([*range(20, 40), *range(108 + ts, 112 + ts)], ts + 2, "again"))
    if deletes:
        both.spark_delete(rows([20, 36], ts + 3, ""))
        both.hoodoo_delete(rows([21, 37], ts + 3, ""))


def check(both: Both, where: str) -> None:
    both.check(where)
    opened = both.hoodoo()
    for slice_ in opened.file_slices():
        assert slice_.file_id in ring(both, slice_.partition_path).ring.file_ids, where


@by
@versions
def test_a_life(both: Both, version: int, by: str) -> None:
    """``by``: who makes the table, and plans; the other one runs, then by turns."""
    made(both, by, version)
    check(both, "made")
    write_on(both, 2)
    check(both, "both write on")
    instant = plans(both, by, SPLIT)
    runs(both, other(by), instant)
    assert len(ring(both, "eu").ring) == 8 and ring(both, "eu").seq == 1
    check(both, "split")
    write_on(both, 10)
    check(both, "written on after the split")
    instant = plans(both, other(by), MERGE)
    runs(both, by, instant)
    assert len(ring(both, "eu").ring) == 2 and ring(both, "eu").seq == 2
    check(both, "merged")
    write_on(both, 20)
    check(both, "written on after the merge")
    runs(both, by, plans(both, by, SPLIT))
    check(both, "split by one side alone")
    write_on(both, 30)
    check(both, "written on at last")
    assert both.hoodoo().verify().ok


@by
@versions
def test_writers_beside_a_resize(both: Both, version: int, by: str) -> None:
    """``by``: who plans; both write while it is pending; the other one runs it."""
    made(both, by, version)
    instant = plans(both, by, SPLIT)
    write_on(both, 2, deletes=False)
    check(both, "written on while it is planned")
    runs(both, other(by), instant)
    check(both, "run")
    write_on(both, 10)
    check(both, "written on")
    assert both.hoodoo().verify().ok


@by
def test_given_up(both: Both, by: str) -> None:
    """Writers put rows into file groups that never come to be."""
    made(both, by, 9)
    instant = plans(both, by, SPLIT)
    write_on(both, 2, deletes=False)
    both.hoodoo().cancel_clustering(instant)
    check(both, "given up")
    write_on(both, 10)
    check(both, "written on")
    runs(both, other(by), plans(both, other(by), SPLIT))
    check(both, "planned again")
    write_on(both, 20)
    check(both, "written on at last")


def test_rows_in_the_place_of_others(both: Both) -> None:
    """Spark goes by the rings that Hoodoo rebuilds."""
    made(both, "hoodoo", 9)
    both.hoodoo().delete_partitions("eu")
    both.model.rows = {k: v for k, v in both.model.rows.items() if v["region"] != "eu"}
    check(both, "without a partition")
    write_on(both, 2)
    check(both, "both write on")
    runs(both, "spark", plans(both, "hoodoo", SPLIT))
    check(both, "split")


def test_plans_are_alike(both: Both) -> None:
    """Of the same table and options: the groups, and what they become but for the new file ids."""
    from clustered import plan_record

    made(both, "spark", 9)
    found = []
    for side in ("spark", "hoodoo"):
        instant = plans(both, side, SPLIT)
        plan = plan_record(both, instant)["clusteringPlan"]
        groups = {}
        for group in plan["inputGroups"]:
            extra = {k: v for k, v in group["extraMetadata"].items() if "hoodoo" not in k}
            extra["clustering.group.child.node"] = _without_ids(
                extra["clustering.group.child.node"]
            )
            groups[tuple(s["fileId"] for s in group["slices"])] = (
                group["numOutputFileGroups"],
                extra,
            )
        found.append((plan["strategy"]["strategyClassName"], groups))
        both.hoodoo().cancel_clustering(instant)
    assert found[0] == found[1]


def _without_ids(text: str) -> str:
    import re

    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "id", text)
