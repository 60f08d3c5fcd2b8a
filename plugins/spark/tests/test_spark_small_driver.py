"""Keys and their places stay with tasks: a driver that takes small results only writes many of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from effort import ALL
from spark_job import said

JOB = Path(__file__).with_name("small_driver_job.py")
# Their keys alone are a few times as much as the driver takes.
KEYS, MOST = (2_000_000, "8m") if ALL else (200_000, "1m")
# MiB: what a driver has that has written few rows; and what it takes for rows that are small enough for it.
START, SMALL = 170, 200
INDEXES = ("simple", "global_simple", "bloom", "record_index", "growing_record_index", "bucket")
pytestmark = [pytest.mark.spark, pytest.mark.trial]


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", INDEXES)
def test_many_keys(tmp_path: Path, index: str, kind: str) -> None:
    steps = said(JOB, tmp_path, index, kind, KEYS, MOST, seconds=3600)
    print(index, kind, json.dumps(steps))
    assert len(steps) >= 5
    for step in steps:
        assert [step["rows"], step["ts"]] == step["wanted"], step
    assert min(step["mb"] for step in steps) > 0
    assert max(step["mb"] for step in steps) < START + SMALL, "memory of the driver grows with keys"
