"""Columns that were renamed, dropped and moved by one of the two, by Hudi's internal schema: the other reads and
writes on, and changes more of them."""

from __future__ import annotations

from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from both import Both

ON_READ = {
    "hoodie.schema.on.read.enable": "true",
    "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true",
    # Spark's vectorized reader refuses files in which fields of structs have other names.
    "spark.sql.parquet.enableVectorizedReader": "false",
}
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("a", pa.string()),
        ("p", pa.string()),
        ("n", pa.int32()),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("ts", pa.int64()),
    ]
)


def own(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith("_hoodie")}


def agreed(both: Both, name: str) -> list[dict[str, Any]]:
    """The rows, which both read alike; by Spark in its own order of columns, with the partition's last."""
    sql = both.spark.worker.sql
    sql(f"REFRESH TABLE {name}")
    theirs = [own(row) for row in sql(f"SELECT * FROM {name} ORDER BY id")]
    ours = sorted(both.hoodoo().read().to_pylist(), key=lambda row: int(row["id"]))
    assert ours == theirs
    return ours


@pytest.fixture
def on_read(both: Both) -> Any:
    both.spark.worker.set(ON_READ)
    yield both
    both.spark.worker.unset(list(ON_READ))


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_hoodoo_begins(on_read: Both, kind: str) -> None:
    name, sql = f"ours_{kind}", on_read.spark.worker.sql
    table = hoodoo.create(
        str(on_read.path), SCHEMA, name=name, record_key="id", partition_by="p", ordering="ts",
        table_type=kind,
    )  # fmt: skip
    first = {"a": "x", "p": "u", "n": 1, "s": {"x": 1, "y": "q"}, "ts": 1}
    table.upsert([{"id": n, **first} for n in range(4)])
    table.upsert([{"id": 1, **first, "a": "x1", "s": None, "ts": 2}])
    table.alter(rename={"a": "b", "s.x": "z"}, drop=["n"], add={"w": "double"}, reorder=["id", "w"])
    table.upsert([{"id": 2, "b": "x2", "p": "u", "w": 0.5, "s": {"z": 2, "y": "r"}, "ts": 3}])
    sql(f"CREATE TABLE {name} USING hudi LOCATION '{on_read.path}'")
    found = agreed(on_read, name)
    assert [(r["b"], r["s"]) for r in found] == [
        ("x", {"z": 1, "y": "q"}), ("x1", None), ("x2", {"z": 2, "y": "r"}), ("x", {"z": 1, "y": "q"}),
    ]  # fmt: skip
    assert sql(f"SELECT id FROM {name} WHERE b = 'x1' OR s.z = 2 ORDER BY id") == [
        {"id": 1},
        {"id": 2},
    ]
    sql(f"UPDATE {name} SET b = 'spark' WHERE id = 3")
    assert agreed(on_read, name)[3]["b"] == "spark"
    sql(f"ALTER TABLE {name} RENAME COLUMN b TO c")
    assert [r["c"] for r in agreed(on_read, name)] == ["x", "x1", "x2", "spark"]
    on_read.hoodoo().upsert([{"id": 0, "c": "again", "p": "u", "w": 1.5, "s": None, "ts": 9}])
    if kind == "mor":
        on_read.hoodoo().compact()
    on_read.hoodoo().cluster()
    assert [r["c"] for r in agreed(on_read, name)] == ["again", "x1", "x2", "spark"]


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_spark_begins(on_read: Both, kind: str) -> None:
    name, sql = f"theirs_{kind}", on_read.spark.worker.sql
    sql(
        f"CREATE TABLE {name} (id BIGINT, a STRING, n INT, s STRUCT<x: INT, y: STRING>, ts BIGINT, "
        f"p STRING) USING hudi TBLPROPERTIES (type = '{kind}', primaryKey = 'id', "
        f"preCombineField = 'ts') PARTITIONED BY (p) LOCATION '{on_read.path}'"
    )
    sql(
        f"INSERT INTO {name} VALUES (1, 'a1', 1, named_struct('x', 1, 'y', 'q'), 1, 'u'), "
        "(2, 'a2', 2, null, 1, 'u')"
    )
    sql(f"UPDATE {name} SET a = 'a2b' WHERE id = 2")
    first = on_read.hoodoo().timeline().writes()[-1].requested
    for change in (
        "RENAME COLUMN a TO b", "RENAME COLUMN s.x TO z", "ALTER COLUMN n TYPE BIGINT",
        "ADD COLUMNS (w DOUBLE AFTER b)", "DROP COLUMN n",
    ):  # fmt: skip
        sql(f"ALTER TABLE {name} {change}")
        agreed(on_read, name)
    was = sorted(on_read.hoodoo().read(as_of=first).to_pylist(), key=lambda r: int(r["id"]))
    assert [(r["a"], r["n"]) for r in was] == [("a1", 1), ("a2b", 2)]
    sql(f"INSERT INTO {name} SELECT 3, 'b3', 0.5, named_struct('z', 3, 'y', 'q'), 1, 'u'")
    assert [r["b"] for r in agreed(on_read, name)] == ["a1", "a2b", "b3"]
    table = on_read.hoodoo()
    table.upsert([{"id": 1, "b": "hoodoo", "p": "u", "ts": 5, "w": 0.25, "s": {"z": 7, "y": "h"}}])
    table.alter(rename={"b": "c", "s.z": "zz"}, drop="w")
    assert [(r["c"], r["s"]) for r in agreed(on_read, name)] == [
        ("hoodoo", {"zz": 7, "y": "h"}), ("a2b", None), ("b3", {"zz": 3, "y": "q"}),
    ]  # fmt: skip
    if kind == "mor":
        table.compact()
        assert [r["c"] for r in agreed(on_read, name)] == ["hoodoo", "a2b", "b3"]
