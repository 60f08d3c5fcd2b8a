"""Spark Hudi reads what statements leave, and columns altered by hand; in both kinds of table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from both import Spark

SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("n", pa.int32())]
)
NAMES = [*SCHEMA.names, "tip"]


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [9, 6])
def test_statements_are_read(spark: Spark, tmp_path: Path, kind: str, version: int) -> None:
    path = tmp_path / "t"
    table = hoodoo.create(
        str(path),
        SCHEMA,
        record_key="id",
        partition_by="city",
        table_type=kind,
        table_version=version,
    )
    table.upsert([{"id": i, "city": "ab"[i % 2], "fare": float(i), "n": i} for i in range(20)])
    table.update({"fare": "fare + 1", "city": "'c'"}, where="id in (3, 4)")
    source = [{"id": 5, "fare": 50.0}, {"id": 6, "fare": -1.0}, {"id": 30, "fare": 30.0}]
    (
        table.merge(source, on="id")
        .when_matched_delete("source.fare < 0")
        .when_matched_update({"fare": "source.fare"})
        .when_not_matched_insert({"id": "source.id", "city": "'d'"})
        .execute()
    )
    table.alter(add={"tip": "double"}, widen={"n": "bigint"})
    table.update({"tip": "fare / 2"}, where="fare > 5")
    assert _rows(spark.read(path)) == _rows(table.read(NAMES).to_arrow())
    assert len(_rows(spark.read(path))) == 20


def _rows(found: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in found.select(NAMES).to_pylist())
