"""A cluster in a box: Spark's workers share no folder with each other or the driver, and the table is on an object store."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from spark_cluster import submit, two_hosts

pytestmark = [pytest.mark.spark, pytest.mark.trial]

ROOT = Path(__file__).resolve().parents[2]
JOB = Path(__file__).with_name("spark_object_store_job.py")
sys.path.append(str(ROOT / "plugins/cloud/tests"))


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_flights_land_and_are_corrected_while_a_worker_is_killed(tmp_path: Path, kind: str) -> None:
    from servers import SERVERS  # those of hoodoo-cloud

    folder = tmp_path / "server"
    folder.mkdir()
    started = SERVERS["versitygw" if os.environ.get("HOODOO_VERSITYGW") else "moto"]
    with started(folder) as server, two_hosts(tmp_path, apart=True) as url:
        uri = f"{server.bucket(f'b-{uuid4().hex}')}/flights"
        out = submit(
            tmp_path, url, JOB, uri, json.dumps(server.options), kind, own=tmp_path / "driver"
        )
    found = json.loads(out.strip().splitlines()[-1])
    assert found["workers"] == ["127.0.0.2", "127.0.0.3"]
    assert found["same"] == [True, True]
    assert found["rows"] > 3000
    assert found["findings"] == []
    left = [
        path for name in ("driver", "own2", "own3") for path in (tmp_path / name).rglob("*")
        if "hoodoo" in path.name and path.is_file()
    ]  # fmt: skip
    assert left == [], "temporary files"
