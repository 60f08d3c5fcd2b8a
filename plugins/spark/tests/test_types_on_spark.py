"""Vectors, variants and blobs as DataFrames have them, in and out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import SchemaError
from hoodoo.model.schema import logical
from pyspark.sql import types

pytestmark = pytest.mark.spark
ROWS = (
    "SELECT id, array(float(id), 1f) AS emb, array(1y, 2y) AS i, named_struct("
    "'type', 'INLINE', 'data', binary('x'), 'reference', null) AS b FROM range(10)"
)


@pytest.mark.sampled(1, among="long")
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


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_variants_of_frames_are_sparks_own(tmp_path: Path, spark: Any, kind: str) -> None:
    text = "'{\"k\": [' || id || ', null]}'"
    frame = spark.sql(f"SELECT id, IF(id % 3 = 0, null, parse_json({text})) AS v FROM range(6)")
    path = str(tmp_path / "t")
    table = hoodoo.create(path, frame.schema, record_key="id", table_type=kind)
    assert logical.text_of(table.schema.field("v").type) == "VARIANT"
    table.upsert(frame)
    table.upsert(frame.where("id < 3"))
    new = frame.selectExpr("id + 10 AS id", "v")
    new.write.format("hoodoo").mode("append").save(path)
    wanted = {n: {"k": [n, None]} if n % 3 else None for n in range(6)}
    wanted |= {n + 10: value for n, value in wanted.items()}
    assert {row["id"]: row["v"] for row in table.read().to_pylist()} == wanted
    for found in (table.read().to_spark(spark), spark.read.format("hoodoo").load(path)):
        assert found.schema["v"].dataType.simpleString() == "variant"
        values = found.selectExpr("id", "variant_get(v, '$.k[0]', 'int') AS k").collect()
        assert {r["id"]: r["k"] for r in values} == {n: v and v["k"][0] for n, v in wanted.items()}


@pytest.mark.parametrize(
    "kind", ["array<variant>", "map<string,variant>", "array<struct<v:variant>>"]
)
def test_variants_within_lists_are_refused(tmp_path: Path, kind: str) -> None:
    variant = types.VariantType()
    made = {
        "array<variant>": types.ArrayType(variant),
        "map<string,variant>": types.MapType(types.StringType(), variant),
        "array<struct<v:variant>>": types.ArrayType(types.StructType().add("v", variant)),
    }
    schema = types.StructType().add("id", types.LongType()).add("v", made[kind])
    with pytest.raises(SchemaError, match="a variant within a list or a map") as raised:
        hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    assert raised.value.fix
    assert not (tmp_path / "t").exists()
