"""The same on Spark: frames of reads, the data source, writes and services in tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest

pytestmark = pytest.mark.spark
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("city", pa.string()),
        ("fare", pa.float64()),
        ("seats", pa.int32()),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
    ]
)


def found(frame: Any) -> dict[int, dict[str, Any]]:
    return {row["id"]: row.asDict(recursive=True) for row in frame.collect()}


@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.sampled(2, among="long, on Spark")
def test_columns_by_hand(tmp_path: Path, spark: Any, kind: str) -> None:
    path = str(tmp_path / "t")
    table = hoodoo.create(
        path, SCHEMA, record_key="id", partition_by="city", table_type=kind, engine="spark"
    )
    first = {"city": "oslo", "seats": 2, "s": {"x": 1, "y": "q"}}
    table.upsert([{"id": n, "fare": float(n), **first} for n in range(4)])
    last = table.upsert([{"id": 1, "fare": 1.5, **first}])
    table.alter(rename={"fare": "price", "s.x": "z"}, drop="seats")
    new = {"city": "oslo", "price": 9.0, "s": {"z": 2, "y": "r"}}
    frame = spark.createDataFrame(
        [{"id": 2, **new}], "id bigint, city string, price double, s struct<z:int,y:string>"
    )
    table.upsert(frame)
    wanted = {0: 0.0, 1: 1.5, 2: 9.0, 3: 3.0}
    for _service in ("none", "compact", "cluster"):
        rows = found(table.read().to_spark(spark))
        assert {k: r["price"] for k, r in rows.items()} == wanted
        assert rows[3] == {"id": 3, "city": "oslo", "price": 3.0, "s": {"z": 1, "y": "q"}}
        rows = found(spark.read.format("hoodoo").load(path).where("price = 3.0 and s.z = 1"))
        assert list(rows) == [3]
        rows = found(spark.read.format("hoodoo").option("as_of", last.instant).load(path))
        assert rows[2] == {"id": 2, "fare": 2.0, **first}
        assert found(table.incremental(since=last.instant).to_spark(spark))[2] == {"id": 2, **new}
        images = table.changes(since=last.instant).to_spark(spark).collect()
        assert [(r["before"]["price"], r["after"]["price"]) for r in images] == [(2.0, 9.0)]
        assert (
            hoodoo.sql("SELECT sum(price) AS n FROM t", {"t": table}, spark=spark).collect()[0].n
            == 13.5
        )
        if _service == "none" and kind == "mor":
            table.compact()
        elif _service == "compact":
            table.cluster()
    table.update({"price": "price + 1"}, where="s.z = 2")
    assert table.read(["price"], where="id = 2").to_pylist() == [{"price": 10.0}]
