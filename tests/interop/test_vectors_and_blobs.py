"""VECTOR and BLOB of Hudi 1.2: Spark Hudi reads those of Hoodoo and writes on, and the reverse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pytest
from both import Spark

COLUMNS = "id BIGINT, emb VECTOR(3), d VECTOR(2, DOUBLE), i VECTOR(2, INT8), more VECTOR(3), b BLOB"
OPTIONS = {
    "hoodie.spark.sql.insert.into.operation": "upsert",
    "hoodie.write.record.merge.custom.implementation.classes": (
        "org.apache.hudi.DefaultSparkRecordMerger"
    ),
}
VALUES = (
    "({n}L, array({v}f, 0.5f, -1f), array(0.25D, {v}D), array(cast({v} as tinyint), -128Y), "
    "array({n}f, 0f, 0f), "
    "named_struct('type', 'INLINE', 'data', cast('blob{v}' as binary), 'reference', null))"
)


def row(n: int, v: int) -> dict[str, Any]:
    return {
        "id": n,
        "emb": [float(v), 0.5, -1.0],
        "d": [0.25, float(v)],
        "i": [v, -128],
        "more": [float(n), 0.0, 0.0],
        "b": {"type": "INLINE", "data": b"blob%d" % v, "reference": None},
    }


def shown(wanted: dict[str, Any]) -> dict[str, Any]:
    """As the worker shows a row: bytes are hex."""
    return {**wanted, "b": {**wanted["b"], "data": wanted["b"]["data"].hex()}}


@pytest.fixture
def sql(spark: Spark) -> Any:
    spark.worker.set(OPTIONS)
    yield spark.worker.sql
    spark.worker.unset(list(OPTIONS))


def agreed(sql: Any, path: Path, name: str, wanted: list[dict[str, Any]]) -> None:
    ours = sorted(hoodoo.open(path).read().to_pylist(), key=lambda one: int(one["id"]))
    assert ours == wanted
    sql(f"REFRESH TABLE {name}")
    found = sql(f"SELECT id, emb, d, i, more, b FROM {name} ORDER BY id")
    assert found == [shown(one) for one in wanted]


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_spark_goes_on_with_a_table_of_hoodoo(sql: Any, tmp_path: Path, kind: str) -> None:
    path, name = tmp_path / "t", f"vectors_ours_{kind}"
    table_type = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}[kind]
    table = hoodoo.create(path, COLUMNS, name=name, record_key="id", table_type=table_type)
    table.upsert([row(n, 1) for n in range(4)])
    table.upsert([row(1, 2)])
    sql(f"CREATE TABLE {name} USING hudi LOCATION '{path}'")
    wanted = [row(0, 1), row(1, 2), row(2, 1), row(3, 1)]
    agreed(sql, path, name, wanted)
    sql(f"INSERT INTO {name} VALUES {VALUES.format(n=2, v=3)}, {VALUES.format(n=4, v=3)}")
    wanted = [row(0, 1), row(1, 2), row(2, 3), row(3, 1), row(4, 3)]
    agreed(sql, path, name, wanted)
    bytes_ = sql(f"SELECT read_blob(b) AS found FROM {name} WHERE id = 1")
    assert bytes_ == [{"found": b"blob2".hex()}]


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_hoodoo_goes_on_with_a_table_of_spark(sql: Any, tmp_path: Path, kind: str) -> None:
    path, name = tmp_path / "t", f"vectors_theirs_{kind}"
    sql(
        f"CREATE TABLE {name} ({COLUMNS}) USING hudi LOCATION '{path}' "
        f"TBLPROPERTIES (primaryKey = 'id', type = '{kind}')"
    )
    both = f"{VALUES.format(n=1, v=1)}, {VALUES.format(n=2, v=1)}"
    sql(f"INSERT INTO {name} VALUES {both}")
    sql(f"INSERT INTO {name} VALUES {VALUES.format(n=2, v=2)}")
    agreed(sql, path, name, [row(1, 1), row(2, 2)])
    table = hoodoo.open(path)
    table.upsert([row(1, 3), row(3, 3)])
    agreed(sql, path, name, [row(1, 3), row(2, 2), row(3, 3)])
    if kind == "mor":
        table.compact()
        agreed(sql, path, name, [row(1, 3), row(2, 2), row(3, 3)])
    nearest = table.search("emb", [3.0, 0.5, -1.0], k=2, columns=["id"])
    assert nearest["id"].to_pylist() == [1, 3]
