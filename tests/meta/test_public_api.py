"""The public names of the project, as programs use them: each is called as its page shows it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo_rows.testing.tables import Tuples

SCHEMA = pa.schema(
    [("ride", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int32())]
)
KINDS = [("COPY_ON_WRITE", 6), ("MERGE_ON_READ", 9)]

rows = Tuples(SCHEMA)


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0][0].lower()}-{kind[1]}")
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hoodoo.Table:
    kind, version = request.param
    return hoodoo.create(
        str(tmp_path / "t"), SCHEMA, name="rides", record_key="ride", partition_by=("city",), ordering=("ts",),
        table_type=kind, table_version=version, key_generator=None, index=None, options=None,
    )  # fmt: skip


def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    found = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in found}


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (hoodoo.open, {"options": None}),
        (hoodoo.create, {"name": None, "record_key": None, "partition_by": (), "ordering": ()}),
        (hoodoo.create, {"key_generator": None, "index": None, "options": None}),
        (hoodoo.Table.read, {"columns": None, "where": None, "as_of": None, "mode": "snapshot"}),
        (hoodoo.Table.incremental, {"until": None}),
        (hoodoo.Table.changes, {"until": None}),
        (hoodoo.Table.create_index, {"kind": "secondary", "expression": None}),
        (hoodoo.Table.compare_indexes, {"since": None}),
        (hoodoo.Table.rewrite_keys, {"virtual": True}),
        (hoodoo.Table.savepoint, {"instant": None}),
    ],
)
def test_arguments_have_their_defaults(
    function: Callable[..., Any], wanted: dict[str, Any]
) -> None:
    assert wanted.items() <= parameters(function).items()


def test_writes_and_reads(table: hoodoo.Table) -> None:
    first = table.upsert(rows((1, "oslo", 1.0, 1), (2, "rome", 2.0, 1)))
    table.insert(rows((3, "oslo", 1.0, 1)))
    table.bulk_insert(rows((4, "oslo", 1.0, 1)))
    table.delete(rows((4, "oslo", 1.0, 1)))
    commit = table.upsert(rows((1, "oslo", 5.0, 2), (5, "rome", 5.0, 2)))
    assert (commit.inserted, commit.updated, commit.deleted) == (1, 1, 0)
    assert commit.instant and commit.action and commit.operation == "upsert" and commit.files

    now = datetime.now(timezone.utc)
    scan = table.read(columns=None, where=None, as_of=None, mode="snapshot")
    assert sorted(scan.to_arrow().column("ride").to_pylist()) == [1, 2, 3, 5]
    assert table.read(mode="read_optimized").to_arrow().num_rows
    for where in (pc.field("city") == "oslo", "city = 'oslo'"):
        assert sorted(r["ride"] for r in table.read(["ride"], where=where).to_pylist()) == [1, 3]
    for point in (first.instant, now, now.isoformat()):
        assert table.read(as_of=point).to_arrow().num_rows in (2, 4)
    assert pa.table(scan).num_rows == sum(b.num_rows for b in scan.to_batches()) == 4
    assert next(iter(scan)).schema == SCHEMA
    assert scan.count() == 4 and scan.limit(2).to_arrow().num_rows == 2
    assert len(scan.head(1)) == 1 and len(scan.to_pandas()) == len(scan.to_polars()) == 4
    assert scan.to_dataset().count_rows() == 4
    assert hoodoo.scan_polars(table).collect().height == 4
    assert hoodoo.scan_polars(table.path).collect().height == 4
    changed = table.incremental(first.instant, until=None).to_arrow()
    assert sorted(changed.column("ride").to_pylist()) == [1, 3, 5]
    assert table.changes(since=first.instant).to_arrow().num_rows
    assert table.config.name == "rides" and table.timeline().writes() and table.file_slices()
    assert table.locate([1]).column_names == ["record_key", "partition_path", "file_id", "instant"]
    assert table.verify() is not None


def test_services(table: hoodoo.Table) -> None:
    table.upsert(rows((1, "oslo", 1.0, 1), (2, "rome", 2.0, 1)))
    table.upsert(rows((1, "oslo", 3.0, 2)))
    if table.config.table_type == "MERGE_ON_READ":
        assert table.run_compact(table.schedule_compact()).instant
        table.upsert(rows((1, "oslo", 4.0, 3)))
        table.compact()
        table.run("compaction")
    planned = table.schedule_cluster(order="linear", columns=["fare"])
    assert table.run_cluster(planned).instant
    table.cluster(plan="overlap", order="hilbert", columns=["ride", "ts"], target_file_size=1 << 20)
    table.clean()
    planned = table.schedule_clean()
    assert planned is None or table.run_clean(planned)
    kept = table.savepoint()
    later = table.upsert(rows((2, "rome", 9.0, 9)))
    table.rollback(later.instant)
    table.upsert(rows((2, "rome", 9.0, 9)))
    planned = table.schedule_restore(kept)
    table.run_restore(planned)
    table.upsert(rows((2, "rome", 9.0, 9)))
    table.restore(kept)
    assert (
        table.rebuild_index("files") and table.compare_indexes("simple", "bloom", since=None).same
    )
    assert table.rewrite({"hoodie.parquet.compression.codec": "gzip"}).done
    table.rewrite_keys(virtual=True)
    assert table.read().count() == 2
    table.insert_overwrite(rows((1, "oslo", 1.0, 1)))
    table.insert_overwrite_table(rows((1, "oslo", 1.0, 1)))
    assert table.delete_partitions(["oslo"]).operation == "delete_partition"


def test_statements(table: hoodoo.Table) -> None:
    table.upsert(rows((1, "oslo", 1.0, 1), (2, "rome", 2.0, 1), (3, "rome", 2.0, 1)))
    table.delete(where=pc.field("ride") == 3)
    table.delete(where="ride = 3")
    assert table.update({"fare": "fare * 2"}, where="city = 'oslo'").updated == 1
    source = rows((1, "oslo", 9.0, 9), (9, "rome", 9.0, 9))
    done = (
        table.merge(source, on="ride")
        .when_matched_delete(condition="target.fare > 100")
        .when_matched_update(set="all", condition=None)
        .when_not_matched_insert(values="all", condition=None)
        .when_not_matched_by_source_delete(condition=None)
        .execute()
    )
    assert (done.inserted, done.updated, done.deleted) == (1, 1, 1)
    table.merge(source, on="target.ride = source.ride").when_matched_update(
        set={"fare": "source.fare"}
    ).execute()
    hoodoo.sql(
        "MERGE INTO t USING s ON t.ride = s.ride WHEN MATCHED THEN UPDATE SET *",
        tables={"t": table, "s": source}, spark=None,
    )  # fmt: skip
    table.alter(add={"tip": "double"}, widen={"ts": "bigint"})
    assert table.schema.field("ts").type == pa.int64() and "tip" in table.schema.names


def test_indexes_are_made_listed_and_dropped(table: hoodoo.Table) -> None:
    table.upsert(rows((1, "oslo", 1.0, 1), (2, "rome", 2.0, 1)))
    made = table.create_index("record_index", ["ride"], kind="record_index")
    assert (made.name, made.kind, made.columns, made.ready) == (
        "record_index", "record_index", ("ride",), True
    )  # fmt: skip
    table.create_index("bloom_filters", kind="bloom_filters")
    assert {"record_index", "bloom_filters"} <= {index.name for index in table.indexes()}
    table.drop_index("bloom_filters")
    assert "bloom_filters" not in {index.name for index in table.indexes()}


def test_hudis_own_names_do(tmp_path: Path) -> None:
    options = {
        "hoodie.datasource.write.recordkey.field": "ride",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.precombine.field": "ts",
    }
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, options=options)
    assert tuple(table.config.record_key_fields) == ("ride",)
    assert tuple(table.config.ordering_fields) == ("ts",)
    made = hoodoo.create(str(tmp_path / "r"), SCHEMA, record_key="ride", index="record_index")
    assert "record_index" in {index.name for index in made.indexes()}
