"""Speculative copies on two hosts, and originals that lose and finish after the publish."""

from __future__ import annotations

import json
from pathlib import Path

import hoodoo_gates
import pytest
from effort import MORE
from hoodoo.testing.distributions import fake_distribution
from spark_cluster import submit, two_hosts

pytestmark = [pytest.mark.spark, pytest.mark.trial]

JOB = Path(__file__).with_name("spark_speculation_job.py")
# The last writes as the second does, and more can go wrong there.
TRIALS = ["upsert", *(["bulk_insert"] if MORE else []), "of_two_minds"]
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "100ms",
    # Tasks that are alone in their stage get a copy after this time.
    "spark.speculation.task.duration.threshold": "2s",
    # Spark leaves the loser's worker process alive, as it does where it has lost the executor.
    "spark.python.task.killTimeout": "1h",
}


def test_losers_that_finish_after_the_publish(tmp_path: Path) -> None:
    here = Path(__file__).parent
    plugins = fake_distribution(
        tmp_path / "plugins", "hoodoo-gates", entry_points={"gates": "hoodoo_gates"}
    )
    path = f"{plugins}:{here}"
    assert Path(hoodoo_gates.__file__).parent == here
    with two_hosts(tmp_path, path) as master:
        out = submit(tmp_path, master, JOB, str(tmp_path), *TRIALS, conf=SPECULATION, path=path)
    trials = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert [trial["name"] for trial in trials] == TRIALS
    for trial in trials:
        name = trial["name"]
        at_publish, later, named = trial["files"]
        assert trial["attempts"] > len(named), f"{name}: no second attempt"
        assert at_publish == named, f"{name}: an extra file at the publish"
        assert later == named, f"{name}: the loser left a file"
        assert trial["rows"][0] == trial["rows"][1], f"{name}: readers see the loser"
        assert (trial["count"], trial["last"]) == (4, 12), name
