"""A stream that goes on for long, in a driver of its own: nothing gathers in its temporary folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from effort import ALL
from many_batches_job import KEYS, WAYS
from spark_job import said

pytestmark = [pytest.mark.spark, pytest.mark.trial]

JOB = Path(__file__).with_name("many_batches_job.py")
BATCHES = 1000 if ALL else 300


@pytest.mark.parametrize("way", WAYS)
def test_nothing_gathers(tmp_path: Path, way: str) -> None:
    """The times of the first and the last hundred batches are printed: other work on the machine makes them differ, too."""
    found = said(JOB, tmp_path, way, BATCHES, seconds=7200)[-1]
    first, last = found["hundreds"][0], found["hundreds"][-1]
    print(
        f"{way}: {found['batches']} batches, the last hundred {last['seconds'] / first['seconds']:.2f} x the first"
    )
    print(json.dumps(found))
    assert found["rows"] == KEYS
    assert last["files"] <= first["files"] and last["bytes"] <= first["bytes"] + (64 << 10)
    assert found["instants"] <= 60, "the timeline is not archived"
    assert last["memory"] < first["memory"] + 100
