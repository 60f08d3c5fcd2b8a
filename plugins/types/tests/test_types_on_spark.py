"""Vectors and blobs as DataFrames have them, in and out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import SchemaError
from hoodoo.model.schema import logical
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
ROWS = (
    "SELECT id, array(float(id), 1f) AS emb, array(1y, 2y) AS i, named_struct("
    "'type', 'INLINE', 'data', binary('x'), 'reference', null) AS b FROM range(10)"
)


@pytest.fixture(scope="module")
def spark() -> Any:
    return (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )


def test_frames_bring_and_get_them(tmp_path: Path, spark: Any) -> None:
    table = hoodoo.create(
        tmp_path / "t",
        "id bigint, emb VECTOR(2), i VECTOR(2, INT8), b BLOB",
        record_key="id",
        table_type="MERGE_ON_READ",
    )
    frame = spark.sql(ROWS)
    table.upsert(frame)
    table.upsert(frame.where("id < 3"))
    wanted = {
        n: {
            "id": n,
            "emb": [float(n), 1.0],
            "i": [1, 2],
            "b": {"type": "INLINE", "data": b"x", "reference": None},
        }
        for n in range(10)
    }
    assert {row["id"]: row for row in table.read().to_pylist()} == wanted
    found = table.read().to_spark(spark)
    assert {row["id"]: row.asDict(recursive=True) for row in found.collect()} == wanted
    loaded = spark.read.format("hoodoo").load(str(tmp_path / "t"))
    assert {row["id"]: row["emb"] for row in loaded.collect()} == {
        n: row["emb"] for n, row in wanted.items()
    }
    said = {field.name: field.metadata.get("hudi_type") for field in found.schema}
    assert said == {"id": None, "emb": "VECTOR(2)", "i": "VECTOR(2, INT8)", "b": "BLOB"}
    again = hoodoo.create(tmp_path / "again", found.schema, record_key="id")
    assert logical.text_of(again.schema.field("i").type) == "VECTOR(2, INT8)"


@pytest.mark.parametrize("array", ["array(1f)", "array(float('nan'), 1f)"])
def test_bad_vectors_of_frames_are_refused(tmp_path: Path, spark: Any, array: str) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, emb VECTOR(2)", record_key="id")
    with pytest.raises(SchemaError, match="column emb"):
        table.upsert(spark.sql(f"SELECT 1L AS id, {array} AS emb"))
    assert table.read().count() == 0
