"""A bootstrap in tasks of Spark, and reads and writes of such a table there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pytest
from parquet_folders import changed, content, rows_of, source, upserted

pytestmark = pytest.mark.spark


@pytest.mark.sampled(1, among="long")
def test_on_spark(spark: Any, tmp_path: Path) -> None:
    expected = source(tmp_path / "source")
    before = content(tmp_path / "source")
    hoodoo.bootstrap(
        tmp_path / "source", tmp_path / "t", record_key="id", engine="spark", regex="city=oslo"
    )
    table = hoodoo.open(str(tmp_path / "t"))
    assert len(table.timeline().completed()) == 2
    frame = table.read().to_spark(spark)
    assert rows_of(frame.toArrow()) == expected
    found = frame.where("fare > 100 and city = 'oslo'").select("id").collect()
    assert sorted(row.id for row in found) == [101, 102, 103, 104, 105]
    rows = changed([0, 1005, 77])
    table.upsert(spark.createDataFrame(rows, "id bigint, fare double, note string, city string"))
    expected = upserted(expected, [0, 1005, 77])
    assert rows_of(table.read().to_spark(spark).toArrow()) == expected
    assert rows_of(table.read()) == expected
    assert content(tmp_path / "source") == before
