"""A stream that goes on for long, in a driver of its own: nothing gathers in its temporary folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from effort import ALL
from many_batches_job import KEYS, WAYS

pytestmark = [pytest.mark.spark, pytest.mark.trial]

JOB = Path(__file__).with_name("many_batches_job.py")
BATCHES = 1000 if ALL else 300


def run(home: Path, way: str, batches: int) -> dict[str, Any]:
    """What the job tells at its end."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}
    done = subprocess.run(
        [sys.executable, str(JOB), str(home), way, str(batches)],
        cwd=home,
        env={**kept, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=7200,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("way", WAYS)
def test_nothing_gathers(tmp_path: Path, way: str) -> None:
    """The times of the first and the last hundred batches are printed: other work on the machine makes them differ, too."""
    found = run(tmp_path, way, BATCHES)
    first, last = found["hundreds"][0], found["hundreds"][-1]
    print(
        f"{way}: {found['batches']} batches, the last hundred {last['seconds'] / first['seconds']:.2f} x the first"
    )
    print(json.dumps(found))
    assert found["rows"] == KEYS
    assert last["files"] <= first["files"] and last["bytes"] <= first["bytes"] + (64 << 10)
    assert found["instants"] <= 60, "the timeline is not archived"
    assert last["memory"] < first["memory"] + 100
