"""Hudi's other classes of clustering: one file in and one out, files that are put together unsorted, several."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import field, frozen
from hoodoo.errors import ConfigError, HoodooError
from hoodoo.table.table import Table
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_clustering.hookspecs.partition_filter import TablePartition
from hoodoo_clustering.plan import ClusteringPlan, pending_clusterings
from hoodoo_rows.testing.tables import Maker

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.int64())])
PLAN = "hoodie.clustering.plan.strategy.class"
JAVA = "org.apache.hudi.client.clustering."
TARGET = "hoodie.clustering.plan.strategy.target.file.max.bytes"
LOOKBACK = "hoodie.clustering.plan.strategy.daybased.lookback.partitions"
KINDS = [(9, "COPY_ON_WRITE"), (6, "COPY_ON_WRITE"), (9, "MERGE_ON_READ"), (6, "MERGE_ON_READ")]


def filled(path: Path, files: int = 3, **more: Any) -> Table:
    table = hoodoo.create(str(path), SCHEMA, record_key="id", **more)
    for n in range(files):
        table.append(rows(range(n * 500, n * 500 + 500)))
    return table


rows = Maker(SCHEMA, "x", x=lambda n: n * 37 % 1009)


def seen(table: Table) -> list[Any]:
    columns = ["_hoodie_commit_time", "_hoodie_commit_seqno", *table.schema.names]
    return table.read(columns=columns).to_arrow().sort_by("id").to_pylist()


def files(table: Table) -> dict[str, str]:
    return {s.file_id: s.base_file.path for s in table.file_slices() if s.base_file}


def planned(table: Table) -> ClusteringPlan:
    ((_instant, plan),) = pending_clusterings(Snapshot(table.handle.storage, table.timeline()))
    return plan


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_one_file_in_and_one_out(tmp_path: Path, version: int, kind: str) -> None:
    table = filled(tmp_path, table_version=version, table_type=kind)
    table.upsert(rows(range(0, 1500, 7), 5))
    before, old = seen(table), files(table)
    options = {
        PLAN: f"{JAVA}plan.strategy.SparkSingleFileSortPlanStrategy", TARGET: "2000",
        "hoodie.clustering.plan.strategy.small.file.limit": str(1 << 30),
        "hoodie.clustering.plan.strategy.sort.columns": "x",
        "hoodoo.clustering.with.log.files": "true",
    }  # fmt: skip
    instant = table.schedule_clustering(options=options)
    assert instant is not None
    plan = planned(table)
    assert plan.strategy == f"{JAVA}run.strategy.SparkSingleFileSortExecutionStrategy"
    assert [(len(group.slices), group.outputs) for group in plan.groups] == [(1, 1)] * 3
    done = table.run_clustering(instant)
    assert len(done.files) == len(old) == 3 and not set(files(table)) & set(old)
    for path in done.files:
        values = pq.read_table(tmp_path / path, partitioning=None)["x"].to_pylist()
        assert values == sorted(values)
    assert seen(table) == before == seen(hoodoo.open(str(tmp_path)))
    assert table.verify().ok
    assert table.schedule_clustering(options=options) is None  # laid out already


def test_several_slices_do_not_become_one_file(tmp_path: Path) -> None:
    table = filled(tmp_path)
    before = seen(table)
    with pytest.raises(ConfigError, match="has 3 file slices"):
        table.cluster("size", "single_file", columns="x")
    assert table.clusterings() == () and seen(table) == before


def test_files_are_put_together_without_sorting(tmp_path: Path) -> None:
    """Whatever columns are named to sort by, and whatever columns files have."""
    table = filled(tmp_path, 2)
    later = rows(range(2000, 2100)).append_column("later", pa.array(["z"] * 100))
    table.append(later, add_columns=True)
    before = seen(table)
    options = {PLAN: f"{JAVA}plan.strategy.SparkStreamCopyClusteringPlanStrategy"}
    instant = table.schedule_clustering(options=options, columns="x")
    assert instant is not None
    assert planned(table).strategy == f"{JAVA}run.strategy.SparkSortAndSizeExecutionStrategy"
    assert table.clusterings()[0].params.keys() == {TARGET}
    table.run_clustering(instant)
    assert len(files(table)) == 1 and seen(table) == before


def test_one_small_file_is_left_alone(tmp_path: Path) -> None:
    options = {PLAN: f"{JAVA}plan.strategy.FlinkSkipSingleFileClusteringPlanStrategy"}
    table = filled(tmp_path, 1)
    assert table.schedule_clustering(options=options) is None
    assert table.schedule_clustering(options=options, columns="x") is not None


@frozen
class Seen:
    """Takes the partitions with the most files, and notes what it was shown."""

    shown: list[TablePartition] = field(factory=list)

    def wanted(
        self, partitions: Sequence[TablePartition], now: datetime
    ) -> Sequence[TablePartition]:
        self.shown[:] = partitions
        most = max(len(one.slices) for one in partitions)
        return [one for one in partitions if len(one.slices) == most]


def test_a_filter_of_partitions_sees_all_of_them(tmp_path: Path) -> None:
    schema = pa.schema([*SCHEMA, ("p", pa.string())])
    table = hoodoo.create(str(tmp_path), schema, record_key="id", partition_by="p")
    for n, path in enumerate("abbc"):
        table.append(rows([n, n + 10]).append_column("p", pa.array([path] * 2)))
    only = Seen()
    done = table.cluster(columns="x", partitions=only)
    assert [(one.path, len(one.slices)) for one in only.shown] == [("a", 1), ("b", 2), ("c", 1)]
    assert all(one.changed and one.size > 0 for one in only.shown)
    assert only.shown[2].newest == table.timeline().writes()[3].requested
    assert [path.split("/")[0] for path in done.files] == ["b"]
    mode = {"hoodie.clustering.plan.partition.filter.mode": "RECENT_DAYS"}
    table = hoodoo.open(str(tmp_path), {**mode, LOOKBACK: "1"})
    assert table.cluster(columns="id").files[0].startswith("c/")
    with pytest.raises(HoodooError, match="partition_filter"):
        hoodoo.open(str(tmp_path), {next(iter(mode)): "SOMETIMES"}).cluster(columns="id")


@pytest.mark.parametrize(
    ("lookback", "skip", "day"), [("2", "0", "4"), ("4", "0", "4"), ("2", "1", "3")]
)
def test_a_plan_of_few_groups_takes_the_most_recent_day(
    tmp_path: Path, lookback: str, skip: str, day: str
) -> None:
    schema = pa.schema([*SCHEMA, ("p", pa.string())])
    options = {
        "hoodie.clustering.plan.partition.filter.mode": "RECENT_DAYS",
        "hoodie.clustering.plan.strategy.max.num.groups": "1",
        LOOKBACK: lookback,
        "hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions": skip,
    }
    table = hoodoo.create(str(tmp_path), schema, record_key="id", partition_by="p", options=options)
    for n, path in enumerate("12341234"):
        table.append(rows([n, n + 10]).append_column("p", pa.array([path] * 2)))
    done = table.cluster(columns="x")
    assert {file.split("/")[0] for file in done.files} == {day}


@pytest.mark.parametrize("order", ["linear", "hilbert"])
@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_fields_of_structs_order_rows(tmp_path: Path, version: int, kind: str, order: str) -> None:
    place = pa.struct([("city", pa.string()), ("at", pa.struct([("lat", pa.float64())]))])
    schema = pa.schema([("id", pa.int64()), ("place", place)])
    table = hoodoo.create(
        str(tmp_path), schema, record_key="id", table_version=version, table_type=kind
    )
    for n in range(3):
        ids = list(range(n * 200, n * 200 + 200))
        places = [
            None
            if i % 19 == 0
            else {"city": f"c{i * 7 % 50:02d}", "at": {"lat": float(i * 37 % 101)}}
            for i in ids
        ]
        table.append(pa.table([ids, places], schema=schema))
    before = seen(table)
    columns = ["place.at.lat"] if order == "linear" else ["place.at.lat", "place.city"]
    done = table.cluster("overlap", order, columns=columns)
    assert len(done.files) == 1 and seen(table) == before
    found = pq.read_table(tmp_path / done.files[0], partitioning=None)["place"].to_pylist()
    lats = [one["at"]["lat"] if one and one["at"] else -1.0 for one in found]
    if order == "linear":
        assert lats == sorted(lats)
    said = table.timeline().metadata(table.handle.storage, table.timeline().writes()[-1]).extra
    assert said["hoodoo.clustering.order"] == f"{order}({', '.join(columns)})"
    assert table.verify().ok
    with pytest.raises(ConfigError, match="no such column"):
        table.cluster(columns="place.nowhere")


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize(("count", "each"), [(3, 20_000), (20, 2_000)])
def test_as_many_files_come_out_as_were_planned(
    tmp_path: Path, count: int, each: int, kind: str
) -> None:
    """Within one; rows that take more room in their new order come into more files, not into larger ones."""
    table = hoodoo.create(str(tmp_path), SCHEMA, record_key="id", table_type=kind)
    rng = np.random.default_rng(7)
    for n in range(count):
        ids = np.arange(n * each, (n + 1) * each)
        table.append(pa.table([ids, rng.integers(0, 1 << 40, each)], schema=SCHEMA))
    if kind == "MERGE_ON_READ":
        table.upsert(rows(range(0, count * each, 3), 5))
    total = sum(one.base_file.size for one in table.file_slices() if one.base_file)
    for target, columns in ((total // 6, "x"), (total // 4, None), (total // 9, "id")):
        options = {
            "hoodoo.clustering.with.log.files": "true",
            "hoodie.clustering.plan.strategy.small.file.limit": str(1 << 30),
        }
        instant = table.schedule_clustering(
            columns=columns, target_file_size=target, options=options
        )
        assert instant is not None
        (group,) = planned(table).groups
        done = table.run_clustering(instant)
        sizes = [(tmp_path / path).stat().st_size for path in done.files]
        assert len(sizes) >= group.outputs - 1 and max(sizes) <= 1.1 * target
        if sum(sizes) <= group.outputs * target:
            assert len(sizes) <= group.outputs + 1, (target, columns)


def test_classes_that_run_other_programs_are_refused(tmp_path: Path) -> None:
    """Hudi's is a frame for classes that have each file made by another program: nothing of it is planned."""
    table = filled(tmp_path / "t")
    name = f"{JAVA}run.strategy.SparkExternalFileClusteringExecutionStrategy"
    options = {"hoodie.clustering.execution.strategy.class": name}
    with pytest.raises(HoodooError, match="SparkExternalFile"):
        table.schedule_clustering(columns="x", options=options)
    assert not table.clusterings()
    assert table.cluster(columns="x").files
