"""The Spark engine: the driver reads the files, Spark computes and writes."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from folders import config, fed, put
from hoodoo_ingest.hookspecs.source import Around
from hoodoo_ingest.sources.kafka import KEYS, Topic

pytestmark = pytest.mark.spark


@pytest.mark.sampled(1, among="long")
def test_files_by_spark(tmp_path: Path, spark: Any) -> None:
    how: dict[str, Any] = {
        "run": {"engine": "spark"},
        "spark": {"spark.sql.shuffle.partitions": 2},
        "transform": {"sql": "SELECT id, upper(city) AS city FROM source WHERE id > 0"},
    }
    put(tmp_path, "1.jsonl", [{"id": n, "city": "oslo"} for n in range(3)])
    fed(config(tmp_path, **how))
    put(tmp_path, "2.jsonl", [{"id": 2, "city": "rome"}])
    (done,) = fed(config(tmp_path, **how))
    assert done.commit.updated == 1 and fed(config(tmp_path, **how)) == []
    rows = hoodoo.open(str(tmp_path / "t")).read(columns=["id", "city"]).to_pylist()
    assert {row["id"]: row["city"] for row in rows} == {1: "OSLO", 2: "ROME"}


@pytest.mark.sampled(1, among="long")
def test_moments_of_messages(spark: Any) -> None:
    """Numbers are in the unit of the schema, texts are ISO, at any depth; others are bad rows."""
    at = pa.timestamp("ms", "UTC")
    inner = pa.struct([("day", pa.date32()), ("more", pa.map_(pa.string(), at))])
    fields = [("id", pa.int64()), ("at", at), ("us", pa.timestamp("us", "UTC")), ("in", inner),
              ("list", pa.list_(at))]  # fmt: skip
    ms, text = 1_700_000_000_000, "2023-11-14T22:13:20Z"
    rows: list[dict[str, Any]] = [
        {"id": 1, "at": ms, "us": ms * 1000, "list": [ms, text, None],
         "in": {"day": 19675, "more": {"x": ms}}},
        {"id": 2, "at": text, "us": text, "list": [], "in": {"day": "2023-11-14", "more": {}}},
        {"id": 3},
        {"id": 4, "at": "x"},
        {"id": 5, "list": ["x"]},
        {"id": 6, "in": {"more": {"x": True}}},
        {"id": None},
    ]  # fmt: skip
    messages = [(None, json.dumps(row).encode(), "t", 0, n, None) for n, row in enumerate(rows)]
    kinds = (
        "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
    )
    given = {key: what.default for key, what in KEYS.items()} | {"topic": "t"}
    around = Around(schema=pa.schema(fields), bad_rows=9, keys=("id",))
    arrived = Topic(given, around)._objects(spark.createDataFrame(messages, kinds))
    found = {row["id"]: row for row in arrived.rows.toArrow().to_pylist()}
    moment = datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)
    assert found.keys() == {1, 2, 3}
    for one in (found[1], found[2]):
        assert one["at"] == one["us"] == moment and one["in"]["day"] == moment.date()
    assert found[1]["list"] == [moment, moment, None] and dict(found[1]["in"]["more"]) == {
        "x": moment
    }
    assert found[3] == {"id": 3, "at": None, "us": None, "in": None, "list": None}
    assert arrived.bad is not None and arrived.close is not None
    errors = arrived.bad["error"].to_pylist()
    assert [text.split()[0] for text in errors] == ["at", "list", "in", "its"]
    arrived.close()
