"""Executors that are killed at any operation of their tasks: no row is lost, none is there twice, no file is left."""

from __future__ import annotations

import json
import os
from pathlib import Path

import hoodoo_killer
import pytest
from effort import effort
from hoodoo.testing.distributions import fake_distribution
from spark_cluster import submit

pytestmark = [pytest.mark.spark, pytest.mark.trial]

JOB = Path(__file__).with_name("killed_executors_job.py")
TRIALS = effort(5, 15)
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF = {
    "spark.task.maxFailures": "20",
    "spark.deploy.maxExecutorRetries": "-1",  # of an application whose executors are killed again and again
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "700m",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
}


def test_executors_are_killed(tmp_path: Path) -> None:
    seed = os.environ["HOODOO_SEED"]
    plugins = fake_distribution(
        tmp_path / "plugins", "hoodoo-killer", entry_points={"killer": "hoodoo_killer"}
    )
    path = f"{plugins}:{Path(hoodoo_killer.__file__).parent}"
    arguments = (str(tmp_path), str(TRIALS), seed)
    out = submit(tmp_path, "local-cluster[2,1,1024]", JOB, *arguments, conf=CONF, path=path)
    trials = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert len({trial["trial"] for trial in trials}) == TRIALS
    assert [trial for trial in trials if trial["wrong"]] == [], f"seed {seed}"
    hit = [trial for trial in trials if trial.get("killed") or trial.get("ended")]
    assert len(hit) > TRIALS // 3
