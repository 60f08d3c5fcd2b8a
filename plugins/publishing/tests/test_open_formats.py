"""A table as Delta Lake and Iceberg readers see it: each commit, and what follows."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    HoodooError,
    HoodooWarning,
    SchemaError,
    UnsupportedTableError,
)
from hoodoo.model.config import TableConfig
from hoodoo.testing.stores import Delegating
from hoodoo_publishing.delta.log import DeltaLog
from hoodoo_publishing.iceberg import manifests
from hoodoo_publishing.iceberg.metadata import IcebergMetadata
from hoodoo_publishing.iceberg.partitions import Spec
from hoodoo_publishing.participant import check as check_shown
from open_readers import SCHEMA, check, delta, iceberg, row, snapshots, some_rows, texts
from pyiceberg.expressions import EqualTo
from pyiceberg.table import StaticTable

BOTH = {"hoodoo.open.formats": "iceberg,delta"}
MERGE = {**BOTH, "hoodoo.open.read.optimized": "true", "hoodie.compact.inline": "false"}


def made(path: Path, **named: Any) -> hoodoo.Table:
    options = {**BOTH, **named.pop("options", {})}
    chosen = {"record_key": "id", "partition_by": "place", **named}
    return hoodoo.create(str(path), SCHEMA, options=options, **chosen)


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("version", [6, 9])
def test_each_commit_is_a_version(tmp_path: Path, version: int) -> None:
    table = made(tmp_path / "t", table_version=version)
    path = str(tmp_path / "t")
    commits = [
        table.upsert(some_rows(range(30), 1)),
        table.upsert(some_rows(range(20, 50), 2)),
        table.delete([1, 2, 3]),
        table.cluster(order="linear", columns=["id"]),
        table.upsert(some_rows(range(5), 3)),
        table.insert_overwrite(some_rows([0, 3], 4)),
        table.delete_partitions("c/d"),
    ]
    names = SCHEMA.names
    listed = snapshots(path)
    assert len(listed) == len(commits)
    for number, commit in enumerate(commits):
        right = texts(table.read(as_of=commit.instant).to_arrow(), names)
        assert texts(delta(path, number), names) == right, commit
        assert texts(iceberg(path, listed[number].snapshot_id), names) == right, commit
    assert listed[3].summary.operation.value == "replace"
    assert DeltaTable(path).transaction_version("hoodoo") > 0
    assert table.verify().ok


def test_bounds_lose_no_row(tmp_path: Path) -> None:
    """NaN, nulls, long texts, milliseconds, dates before 1970."""
    table, path = made(tmp_path / "t"), str(tmp_path / "t")
    table.upsert(some_rows(range(30), 7))
    table.upsert(some_rows(range(30, 40), 99))
    right = {row["id"] for row in table.read().to_arrow().to_pylist() if row["n"] > 0}
    for where in ("n > 0", "at > '1969-12-31T23:59:59.999050+00:00'", "day > '1970-01-01'"):
        assert set(iceberg(path, row_filter=where)["id"].to_pylist()) == right, where
    found = DeltaTable(path).to_pyarrow_table(filters=[("n", ">", 0)])
    assert set(found["id"].to_pylist()) == right
    assert iceberg(path, row_filter="place = 'c/d'").num_rows == 13
    exact = row(0, 99)["long"]
    assert iceberg(path, row_filter=EqualTo("long", exact)).num_rows == 10


def test_filters_of_a_dataset_lose_no_row(tmp_path: Path) -> None:
    """The package deltalake takes a bound that the log lacks for null: filters of columns of
    fractions, flags and decimals, and of columns that came later, had no rows."""
    path = str(tmp_path / "t")
    schema = pa.schema(
        [("id", pa.int64()), ("fare", pa.float64()), ("paid", pa.bool_()), ("no", pa.int64()),
         ("cost", pa.decimal128(9, 2)), ("seats", pa.int32()), ("text", pa.string())]
    )  # fmt: skip
    highest = "\U0010ffff" * 40  # no text of 32 characters is above it

    def rows(first: int, **more: Any) -> list[dict[str, Any]]:
        return [
            {"id": n, "fare": n / 2, "paid": n % 2 == 0, "no": None, "cost": Decimal(n) / 4,
             "seats": n, "text": highest if n == 7 else f"t{n}", **more}
            for n in range(first, first + 3)
        ]  # fmt: skip

    def compare() -> None:
        every = table.read().to_arrow()
        for name in every.schema.names:
            for value in {*every[name].to_pylist(), None}:
                scalar = pa.scalar(value, every.schema.field(name).type)
                asked = pc.field(name).is_null() if value is None else pc.field(name) == scalar
                rows = every.filter(asked).num_rows
                assert dataset(path).to_table(filter=asked).num_rows == rows, (name, value)

    def dataset(path: str) -> Any:
        return DeltaTable(path).to_pyarrow_dataset()

    options = {"hoodoo.open.formats": "delta", "hoodie.parquet.small.file.limit": "0"}
    table = hoodoo.create(path, schema, record_key="id", options=options)
    table.upsert(rows(0))
    compare()
    # As it was published before, by a version without the property.
    log = tmp_path / "t" / "_delta_log" / f"{0:020d}.json"
    log.write_text(log.read_text().replace("delta.dataSkippingStatsColumns", "other"))
    table = hoodoo.open(path)
    table.upsert(rows(3))
    compare()
    table.upsert(rows(6))
    compare()
    table.alter(add={"late": "int"}, widen={"seats": "double"})
    compare()
    table.upsert(rows(9, late=4))
    compare()
    table.cluster()
    compare()


def test_nothing_else_writes_the_delta_table(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(some_rows(range(5), 1))
    with pytest.raises(Exception, match="hoodoo-managed"):
        write_deltalake(str(tmp_path / "t"), some_rows([1], 2), mode="append")


@pytest.mark.parametrize("encoded", ["false", "true"])
def test_paths_of_the_log_are_uris(tmp_path: Path, encoded: str) -> None:
    """By the protocol of Delta Lake: decoded once, they are paths below the table, as those that
    the package deltalake writes. So a folder ``é%2520`` is ``%C3%A9%252520`` there."""
    places = ["50%", "%41", "é%20", "a#b", "a?b", "a+b", "it's", "x=1&y"]
    rows = [{**row(number, 1), "place": place} for number, place in enumerate(places)]
    option = {"hoodie.datasource.write.partitionpath.urlencode": encoded}
    table, path = made(tmp_path / "t", options=option), tmp_path / "t"
    table.upsert(rows)
    for line in (path / "_delta_log/00000000000000000000.json").read_text("utf-8").splitlines():
        if add := json.loads(line).get("add"):
            assert (path / unquote(add["path"])).is_file(), add["path"]
    own = pa.table({"id": range(len(places)), "place": places})
    write_deltalake(tmp_path / "own", own, partition_by=["place"])
    each = DeltaTable(tmp_path / "own").get_add_actions()
    assert each.num_rows == len(places)
    for added in pa.table(each)["path"].to_pylist():
        assert (tmp_path / "own" / unquote(added)).is_file(), added
    assert sorted(delta(str(path))["place"].to_pylist()) == sorted(places)
    query = QueryBuilder().register("t", DeltaTable(path)).execute("SELECT place FROM t")
    assert sorted(pa.table(query.read_all())["place"].to_pylist()) == sorted(places)
    if encoded == "true":  # pyiceberg cuts a path at # and at ?
        assert sorted(iceberg(str(path))["place"].to_pylist()) == sorted(places)


def test_an_undone_commit_is_taken_back(tmp_path: Path) -> None:
    table, path = made(tmp_path / "t"), str(tmp_path / "t")
    table.upsert(some_rows(range(5), 1))
    point = table.savepoint()
    undone = table.upsert(some_rows(range(3, 9), 2))
    table.rollback(undone.instant)
    check(table)
    assert len(snapshots(path)) == 2
    table.upsert(some_rows(range(3, 9), 3))
    table.restore(getattr(point, "instant", point))
    check(table)


def test_the_only_commit_is_taken_back(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.rollback(table.upsert(some_rows(range(5), 1)).instant)
    check(table)
    table.upsert(some_rows(range(3), 2))
    check(table)


def test_a_compaction_brings_rows(tmp_path: Path) -> None:
    table = made(tmp_path / "t", table_type="MERGE_ON_READ", options=MERGE)
    table.upsert(some_rows(range(5), 1))
    table.upsert(some_rows(range(5), 2))
    table.compact()
    check(table)
    last = max((tmp_path / "t/_delta_log").glob("*.json")).read_text()
    changes = [json.loads(line) for line in last.splitlines()]
    assert all(a["add"]["dataChange"] for a in changes if "add" in a)
    assert snapshots(str(tmp_path / "t"))[-1].summary.operation.value == "overwrite"


def test_a_clean_goes_on_where_the_metadata_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path / "t")
    for value in range(1, 5):
        table.upsert(some_rows(range(6), value))

    def failing(*given: Any) -> int:
        raise EOFError("cut short")

    monkeypatch.setattr(IcebergMetadata, "expire", failing)
    with pytest.warns(HoodooWarning, match="cut short"):
        assert table.clean(commits_retained=1).instant
    assert not [i for i in table.timeline().pending() if i.action == "clean"]


def test_snapshots_of_cleaned_files_are_not_listed(tmp_path: Path) -> None:
    table, path = made(tmp_path / "t"), str(tmp_path / "t")
    for value in range(1, 6):
        table.upsert(some_rows(range(6), value))
    assert len(snapshots(path)) == 5
    assert table.clean(commits_retained=1).instant
    check(table)
    assert len(snapshots(path)) < 5


def test_a_clean_sweeps_what_dead_processes_left(tmp_path: Path) -> None:
    table, path = made(tmp_path / "t"), tmp_path / "t"
    for value in range(1, 4):
        table.upsert(some_rows(range(6), value))
    stray = [path / "metadata" / name for name in ("0a1b-new0.avro", "snap-5-1-0a1b.avro")]
    fresh = path / "metadata/0c1d-new0.avro"
    for file in (*stray, fresh):
        file.write_bytes(b"")
    long_ago = time.time() - 86_400
    for file in (path / "metadata").iterdir():
        if file != fresh:
            os.utime(file, (long_ago, long_ago))
    assert table.clean(commits_retained=1).instant
    assert not any(file.exists() for file in stray) and fresh.exists()
    check(table)
    assert all(iceberg(str(path), s.snapshot_id).num_rows for s in snapshots(str(path)))


PARTED = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("n", pa.int32()), ("day", pa.date32())]
)


def parted_rows(numbers: Any) -> pa.Table:
    """Four values of each column; the first is null."""
    cities = [None, "a b", "c/d", "é%20"]
    days = [None, *(dt.date(1969 + year, 12, 31) for year in (0, 1, 2))]
    each = [(number, number % 4) for number in numbers]
    made = [{"id": n, "city": cities[k], "n": k - 2 or None, "day": days[k]} for n, k in each]
    return pa.Table.from_pylist(made, schema=PARTED)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("hive_style", ["true", "false"])
@pytest.mark.parametrize("columns", ["city", "n", "day", ["city", "day"]])
def test_readers_of_iceberg_prune_partitions(tmp_path: Path, columns: Any, hive_style: str) -> None:
    options = {**BOTH, "hoodie.datasource.write.hive_style_partitioning": hive_style}
    path = str(tmp_path / "t")
    table = hoodoo.create(path, PARTED, record_key="id", partition_by=columns, options=options)
    table.upsert(parted_rows(range(16)))
    table.upsert(parted_rows(range(8, 24)))
    table.delete([3, 4])
    table.delete_partitions(table.file_slices()[0].partition_path)
    found = StaticTable.from_metadata(path)
    names = [columns] if isinstance(columns, str) else columns
    assert [field.name for field in found.spec().fields] == names
    right = table.read().to_arrow().select(PARTED.names)
    assert texts(iceberg(path), PARTED.names) == texts(right, PARTED.names)
    for snapshot in found.metadata.snapshots:
        instant = snapshot.summary.additional_properties["hoodoo.instant"]
        then = texts(table.read(as_of=instant).to_arrow(), PARTED.names)
        assert texts(iceberg(path, snapshot.snapshot_id), PARTED.names) == then
    where = {"city": "city = 'c/d'", "n": "n = -1", "day": "day is null"}
    for name, text in where.items():
        plans = list(found.scan(row_filter=text).plan_files())
        rows = found.scan(row_filter=text).to_arrow()
        value = {"city": "c/d", "n": -1, "day": None}[name]
        assert texts(rows, PARTED.names) == texts(
            pa.Table.from_pylist(
                [one for one in right.to_pylist() if one[name] == value], schema=PARTED
            ),
            PARTED.names,
        )
        if name in names:
            assert len(plans) <= 1
    assert table.verify().ok


def test_a_file_of_several_values_is_in_no_partition(tmp_path: Path) -> None:
    """Days of a time; and a spec that comes later leaves older snapshots as they are."""
    schema = pa.schema([("id", pa.int64()), ("at", pa.int64())])
    options = {
        **BOTH,
        "hoodie.datasource.write.keygenerator.class": (
            "org.apache.hudi.keygen.TimestampBasedKeyGenerator"
        ),
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd",
    }
    path = str(tmp_path / "t")
    table = hoodoo.create(path, schema, record_key="id", partition_by="at", options=options)
    day = 86_400_000
    table.upsert([{"id": 1, "at": day}, {"id": 2, "at": day + 1}, {"id": 3, "at": 2 * day}])
    files = {
        tuple(plan.file.partition[n] for n in range(len(plan.file.partition)))
        for plan in StaticTable.from_metadata(path).scan().plan_files()
    }
    assert files == {(), (2 * day,)}
    assert iceberg(path, row_filter=f"at = {day + 1}")["id"].to_pylist() == [2]


def test_a_later_spec_leaves_old_snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "t")
    table = made(tmp_path / "t")
    module = "hoodoo_publishing.iceberg."
    with monkeypatch.context() as patch:
        patch.setattr(module + "metadata.with_spec", lambda *given: Spec())
        commits = [table.upsert(some_rows(range(9), value)) for value in (1, 2)]
    monkeypatch.setattr(module + "snapshots._SMALL", 2)
    commits += [table.upsert(some_rows(range(value), value)) for value in (7, 8, 3)]
    found = StaticTable.from_metadata(path)
    assert [field.name for field in found.spec().fields] == ["place"]
    for commit, snapshot in zip(commits, found.metadata.snapshots, strict=True):
        right = texts(table.read(as_of=commit.instant).to_arrow(), SCHEMA.names)
        assert texts(iceberg(path, snapshot.snapshot_id), SCHEMA.names) == right
    check(table)


@pytest.mark.sampled(1, among="long")
def test_a_long_log_has_checkpoints(tmp_path: Path) -> None:
    table, path = made(tmp_path / "t", partition_by=()), tmp_path / "t"
    for value in range(1, 24):
        table.upsert(some_rows([value % 4], value))
    assert (path / "_delta_log/_last_checkpoint").is_file()
    for old in (path / "_delta_log").glob("*.json"):  # as a cleanup of the log leaves it
        if int(old.stem) < 20:
            old.unlink()
    table.upsert(some_rows([1], 30))
    check(table)


@pytest.mark.sampled(1, among="long")
def test_metadata_follows_the_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small manifests are merged, and what no snapshot and no log names is deleted."""
    module = "hoodoo_publishing.iceberg."
    monkeypatch.setattr(module + "snapshots._SMALL", 5)
    monkeypatch.setattr(module + "metadata._SNAPSHOTS", 6)
    monkeypatch.setattr(module + "store._VERSIONS", 4)
    monkeypatch.setattr("hoodoo_publishing.delta.log._VERSIONS", 10)
    table, path = made(tmp_path / "t", partition_by=()), tmp_path / "t"
    reads, read = [0], manifests.read

    def counted(data: bytes) -> Any:
        reads[0] += 1
        return read(data)

    monkeypatch.setattr(manifests, "read", counted)
    for value in range(1, 45):
        reads[0] = 0
        table.bulk_insert(some_rows([value], value))
        assert reads[0] <= 3, "lists: of the head, and of snapshots that are not listed any more"
    check(table)
    there = {file.name for file in (path / "metadata").iterdir()}
    static = StaticTable.from_metadata(str(path))
    io, log = static.io, static.metadata.metadata_log
    named = {"version-hint.text", "v44.metadata.json", *(e.metadata_file for e in log)}
    for snapshot in static.metadata.snapshots:
        each = [m.manifest_path for m in snapshot.manifests(io)]
        assert len(each) <= 7
        named |= {snapshot.manifest_list, *each}
    assert there == {name.rpartition("/")[2] for name in named}
    assert (len(static.metadata.snapshots), len(log)) == (6, 4)
    assert len(list((path / "_delta_log").glob("*.json"))) == 24
    assert static.current_snapshot().summary["total-records"] == "44"
    for version in (20, 30, 43):
        assert delta(str(path), version).num_rows == version + 1
    for step in (lambda: table.upsert(some_rows([1, 2, 50], 3)), lambda: table.cluster()):
        step()
        check(table)
    assert table.verify().ok


@pytest.mark.sampled(1, among="long")
def test_snapshots_of_archived_commits_stay(tmp_path: Path) -> None:
    """Also where an action before the active timeline, such as indexing, is not archived."""
    quiet = {"hoodie.clean.automatic": "false", "hoodie.metadata.enable": "true"}
    few = {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4"}
    few["hoodie.clean.commits.retained"] = "1"
    table = made(tmp_path / "t", options={**quiet, **few})
    for value in range(12):
        table.upsert(some_rows(range(3), value))
    assert len(table.timeline().writes()) < 6 and len(snapshots(str(tmp_path / "t"))) == 12
    check(table)


def test_other_spellings_of_a_place_are_no_copy(tmp_path: Path) -> None:
    from hoodoo.testing.stores import Delegating

    class Spelt(Delegating):
        root = "s3a://bucket/t"

    table = made(tmp_path / "t")
    table.handle.storage = Spelt(table.handle.storage)
    table.upsert(some_rows(range(5), 1))
    Spelt.root = "s3://bucket/t"
    table.upsert(some_rows(range(3), 2))
    newest = json.loads((tmp_path / "t/metadata/v2.metadata.json").read_text())
    assert [s["summary"]["added-data-files"] for s in newest["snapshots"]] == ["3", "3"]
    assert all(s["manifest-list"].startswith("s3a://bucket/t/") for s in newest["snapshots"])


def test_formats_are_switched_on_and_off(tmp_path: Path) -> None:
    table, path = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id"), str(tmp_path / "t")
    table.upsert(some_rows(range(5), 1))
    assert len(table.publish("iceberg,delta", keep=True)) == 2
    hoodoo.open(path).upsert(some_rows(range(3), 2))
    check(table)
    table.publish(["Delta"], keep=True)
    table.upsert(some_rows(range(3), 3))
    assert texts(delta(path), SCHEMA.names) == texts(table.read().to_arrow(), SCHEMA.names)
    assert len(snapshots(path)) == 2
    assert table.publish("", keep=True) == ()
    table.upsert(some_rows(range(3), 4))
    assert DeltaTable(path).version() == 2 and "hoodoo.open.formats" not in table.config.properties
    table.alter(rename={"place": "where"})
    with pytest.raises(HoodooError, match="has another name in older files"):
        table.publish("delta", keep=True)
    assert "hoodoo.open.formats" not in hoodoo.open(path).config.properties


def test_a_clean_waits_for_what_readers_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path / "t", options={"hoodie.clean.automatic": "false"})
    for value in range(1, 4):
        table.upsert(some_rows(range(6), value))
    with monkeypatch.context() as patch:

        def failing(*given: Any) -> Any:
            raise OSError("no space")

        patch.setattr(IcebergMetadata, "publish", failing)
        for value in (4, 5):
            with pytest.warns(HoodooWarning, match="no space"):
                table.upsert(some_rows(range(6), value))
        with pytest.raises(CommitConflictError, match="readers of iceberg need.*no space"):
            table.clean(commits_retained=1)
        assert iceberg(str(tmp_path / "t")).num_rows == 6
    assert table.clean(commits_retained=1).files
    check(table)


def test_columns_come_and_grow(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(some_rows(range(5), 1))
    table.alter(add={"more": "string"})
    check(table)
    table.alter(widen={"n": "bigint"})
    check(table)
    table.upsert(some_rows(range(3, 8), 2, table.schema))
    check(table)
    ids = json.loads(
        max((tmp_path / "t/metadata").glob("v*.json"), key=lambda f: f.stat().st_mtime).read_text()
    )
    newest = ids["schemas"][-1]["fields"]
    assert [f["id"] for f in newest[:-1]] == [f["id"] for f in ids["schemas"][0]["fields"]]


@pytest.mark.parametrize("late", [False, True])
def test_a_wider_column_is_undone(tmp_path: Path, late: bool) -> None:
    """``late``: the formats have not shown the column as it was before."""
    table = made(tmp_path / "t", options={"hoodoo.open.formats": "" if late else "iceberg,delta"})
    table.upsert(some_rows(range(5), 1))
    point = table.savepoint()
    table.alter(widen={"n": "bigint"})
    table.upsert(some_rows(range(3, 8), 2, table.schema))
    table.publish("iceberg,delta", keep=True)
    table.restore(getattr(point, "instant", point))
    assert table.schema.field("n").type == pa.int32()
    check(table)
    table.alter(widen={"n": "bigint"})
    table.upsert(some_rows(range(3, 8), 2, table.schema))
    check(table)


def test_a_file_that_came_back_while_its_column_was_wider(tmp_path: Path) -> None:
    """Its bounds are those of the narrower type, to which an undone widening goes back."""
    table = made(tmp_path / "t")
    table.upsert(some_rows(range(5), 1))
    point = table.savepoint()
    table.alter(widen={"n": "bigint"})
    taken = table.upsert(some_rows(range(3, 8), 2, table.schema))
    table.rollback(taken.instant)
    table.restore(getattr(point, "instant", point))
    assert table.schema.field("n").type == pa.int32()
    check(table)
    shown = StaticTable.from_metadata(str(tmp_path / "t"))
    number = shown.schema().find_field("n").field_id
    files = [task.file for task in shown.scan().plan_files()]
    assert {len(file.lower_bounds[number]) for file in files} == {4}


def test_a_writer_without_the_plugin_is_caught_up_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoodoo_publishing.participant import Publisher

    table = made(tmp_path / "t")
    table.upsert(some_rows(range(5), 1))
    with monkeypatch.context() as patch:
        patch.setattr(Publisher, "after_action", lambda *given: ())
        table.upsert(some_rows(range(3, 8), 2))
        table.delete([0])
        table.upsert(some_rows([11], 3))
    assert len(table.publish()) == 6
    check(table)
    assert len(snapshots(str(tmp_path / "t"))) == 4
    assert table.publish() == ()


def test_a_table_without_the_option_is_published_by_hand(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    with pytest.raises(ConfigError, match="names no format"):
        table.publish()
    for value in (1, 2):
        table.upsert(some_rows(range(5), value))
    assert len(table.publish("delta, iceberg")) == 2
    check(table)


def test_a_failure_here_is_none_of_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path / "t")
    table.upsert(some_rows(range(5), 1))
    with monkeypatch.context() as patch:

        def failing(*given: Any) -> Any:
            raise OSError("no space")

        patch.setattr(DeltaLog, "publish", failing)
        with pytest.warns(HoodooWarning, match="no space"):
            assert table.upsert(some_rows(range(9), 2)).instant
    table.upsert(some_rows([1], 3))
    check(table)


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="delta or iceberg"):
        made(tmp_path / "a", options={"hoodoo.open.formats": "orc"})
    with pytest.raises(ConfigError, match=r"hoodoo\.open\.read\.optimized=true"):
        made(tmp_path / "b", table_type="MERGE_ON_READ")
    with pytest.raises(SchemaError, match="Delta Lake has no type"):
        hoodoo.create(
            str(tmp_path / "c"), pa.schema([("id", pa.int64()), ("t", pa.time64("us"))]),
            record_key="id", options=BOTH,
        )  # fmt: skip
    assert not any((tmp_path / name / ".hoodie").exists() for name in "abc")
    for form in ("LANCE", "arrow", "ORC"):  # of plugins
        with pytest.raises(UnsupportedTableError, match=f"its base files are {form.upper()}"):
            check_shown(TableConfig({"hoodie.table.base.file.format": form}), [DeltaLog()])
    check_shown(TableConfig({}), [DeltaLog()])


def test_a_column_that_a_format_lacks_is_refused_before_the_commit(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id", options=BOTH)
    table.upsert([{"id": 1}])
    before = table.timeline().writes()
    times = pa.table({"id": [2], "t": pa.array([5], pa.time64("us"))})
    for call in (
        lambda: table.alter(add={"t": "time"}),
        lambda: table.upsert(times, add_columns=True),
    ):
        with pytest.raises(SchemaError, match="Delta Lake has no type for time64"):
            call()
    assert table.timeline().writes() == before
    check(table)
    # The way that the message says; and a column that is there stops no write.
    table.publish("iceberg", keep=True)
    table.upsert(times, add_columns=True)
    table.handle.change_properties({"hoodoo.open.formats": "iceberg,delta"})
    other = hoodoo.open(str(tmp_path / "t"))
    with pytest.warns(HoodooWarning, match="Delta Lake has no type"):
        other.upsert(times)
    assert other.read().count() == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_histories(tmp_path: Path, kind: str, version: int, seed: int) -> None:
    """Random actions; after each, both formats show the table."""
    rng = random.Random(f"{seed} {kind} {version}")
    given = BOTH if kind == "COPY_ON_WRITE" else MERGE
    quiet = {"hoodie.clean.automatic": "false", "hoodie.metadata.enable": str(seed % 2 == 0)}
    table = made(
        tmp_path / "t", table_type=kind, table_version=version, options={**given, **quiet},
        index=rng.choice(["simple", "bloom", "global_simple"]),
    )  # fmt: skip
    commits: list[str] = []
    done: list[str] = []

    def upsert() -> Any:
        return table.upsert(some_rows(rng.sample(range(20), 6), rng.randrange(100), table.schema))

    def rollback() -> None:
        if commits:
            table.rollback(commits[-1])
            commits.clear()

    def widen() -> None:
        if table.schema.field("n").type == pa.int32():
            table.alter(widen={"n": "bigint"})
        elif "more" not in table.schema.names:
            table.alter(add={"more": "string"})

    actions: dict[str, Any] = {
        "upsert": upsert,
        "delete": lambda: table.delete(rng.sample(range(20), 3)),
        "overwrite": lambda: table.insert_overwrite(
            some_rows([rng.randrange(20)], 5, table.schema)
        ),
        "cluster": lambda: table.cluster(order="linear", columns=["id"]),
        "clean": lambda: table.clean(commits_retained=rng.choice([1, 3])),
        "archive": table.archive,
        "rollback": rollback,
        "alter": widen,
    }
    if kind == "MERGE_ON_READ":
        actions["compact"] = table.compact
    for number in range(12):
        name = "upsert" if number < 2 else rng.choice([*actions, "upsert", "upsert"])
        done.append(name)
        found = actions[name]()
        instant = getattr(found, "instant", "")
        if name in ("upsert", "delete", "overwrite") and instant:
            commits.append(instant)
        elif name not in ("clean", "archive", "rollback"):
            commits.clear()
        check(table, done)
    assert table.verify().ok


class Counting(Delegating):
    """Counts operations."""

    counted: Counter[str]

    def around(self, op: str, path: str, call: Any) -> Any:
        self.counted[op] += 1
        return call()


def test_formats_share_one_look_and_the_footers(tmp_path: Path) -> None:
    """Each further format costs its own metadata alone: no listing of the table, no data file."""
    counts = {}
    for formats in ("iceberg", "delta", "iceberg,delta"):
        table = made(tmp_path / formats, options={"hoodoo.open.formats": formats})
        table.upsert(some_rows(range(30), 1))
        store = Counting(table.handle.storage)
        store.counted = counts[formats] = Counter()
        table.handle.storage = store
        table.upsert(some_rows(range(30), 2))
    assert counts["iceberg,delta"]["open"] == counts["iceberg"]["open"] == counts["delta"]["open"]
    more = counts["iceberg,delta"].total() - counts["iceberg"].total()
    assert more <= 6, "list, get and put of the Delta log"
