"""Keys that are made when rows are written, by tasks that fail and run again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])
ROWS = 5000


def _fails_twice(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In the middle of each task, when rows of it have been given already."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for number, batch in enumerate(batches):
        if number == 1 and context.attemptNumber() < 2:
            raise OSError("a worker is lost")
        yield batch


@pytest.mark.parametrize(
    ("operation", "version"),
    [pytest.param("insert", 9, marks=pytest.mark.trial), ("bulk_insert", 6)],
)
@pytest.mark.sampled(2, among="long, on Spark")
def test_tasks_that_run_again_make_the_same_keys(
    spark: Any, tmp_path: Path, operation: str, version: int
) -> None:
    plain = spark.range(0, ROWS, 1, 3).selectExpr("id", "concat('c', id % 2) AS city")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "200")
    try:
        found = {}
        for name, frame in {
            "plain": plain,
            "again": plain.mapInArrow(_fails_twice, "id long, city string"),
        }.items():
            table = hoodoo.create(
                str(tmp_path / name), SCHEMA, name="t", partition_by="city", table_version=version
            )
            commit = getattr(table, operation)(frame)
            assert commit.inserted == ROWS
            rows = table.read(columns=["_hoodie_record_key", "id"]).to_arrow().to_pydict()
            keys = [key.partition("_") for key in rows["_hoodie_record_key"]]
            assert {instant for instant, _, _ in keys} == {commit.instant}
            found[name] = dict(zip((place for _, _, place in keys), rows["id"], strict=True))
            assert sorted(found[name].values()) == list(range(ROWS))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert found["plain"] == found["again"]
    assert {place.partition("_")[0] for place in found["plain"]} == {"0", "1", "2"}
