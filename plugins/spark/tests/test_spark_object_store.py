"""A cluster in a box: Spark's workers share no folder with each other or the driver, and the table is on an object store."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import hoodoo
import pytest
from hoodoo.table.settings import open_storage
from hoodoo.timeline.heartbeat import FOLDER as HEARTBEATS
from spark_cluster import PATIENCE, submit, submitted, two_hosts

pytestmark = [pytest.mark.spark, pytest.mark.trial]

ROOT = Path(__file__).resolve().parents[3]
JOB = Path(__file__).with_name("spark_object_store_job.py")
LATE = Path(__file__).with_name("spark_late_task_job.py")
sys.path.append(str(ROOT / "plugins/cloud/tests"))


@contextmanager
def server_of(folder: Path) -> Iterator[Any]:
    from servers import SERVERS  # those of hoodoo-cloud

    place = folder / "server"
    place.mkdir()
    with SERVERS["versitygw" if os.environ.get("HOODOO_VERSITYGW") else "moto"](place) as server:
        yield server


def left(folder: Path) -> list[Path]:
    """Temporary files of Hoodoo, of the driver and of both workers."""
    return [
        path for name in ("driver", "own2", "own3") for path in (folder / name).rglob("*")
        if path.is_file() and any("hoodoo" in part for part in path.relative_to(folder).parts)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_flights_land_and_are_corrected_while_a_worker_is_killed(tmp_path: Path, kind: str) -> None:
    with server_of(tmp_path) as server, two_hosts(tmp_path, apart=True) as url:
        uri = f"{server.bucket(f'b-{uuid4().hex}')}/flights"
        out = submit(
            tmp_path, url, JOB, uri, json.dumps(server.options), kind, own=tmp_path / "driver"
        )
    found = json.loads(out.strip().splitlines()[-1])
    assert found["workers"] == ["127.0.0.2", "127.0.0.3"]
    assert found["same"] == [True, True]
    assert found["rows"] > 3000
    assert found["findings"] == []
    assert left(tmp_path) == []


def test_a_file_that_lands_after_the_rollback(tmp_path: Path) -> None:
    """A worker has sent a file, and it is on its way while the driver is killed and others roll back: nobody sees it, and the
    next write takes it away."""
    from shaping import Request, Trouble, line_to

    go, there, held = threading.Event(), threading.Event(), list[str]()

    def rule(request: Request) -> Trouble | None:
        if held or request.method != "PUT" or ".parquet" not in request.target:
            return None
        if "/.hoodie/" in request.target:
            return None
        held.append(request.target)
        there.set()
        return Trouble(until=go)

    with (
        server_of(tmp_path) as server,
        two_hosts(tmp_path, apart=True) as url,
        line_to(server.port) as line,
    ):
        line.rule = rule
        bucket = f"b-{uuid4().hex}"
        uri = f"{server.bucket(bucket)}/late"
        far = {**server.through(line.port), "hoodoo.cloud.timeout": str(PATIENCE)}
        with submitted(
            tmp_path, url, LATE, uri, json.dumps(server.options), "first", json.dumps(far),
            own=tmp_path / "driver",
        ) as driver:  # fmt: skip
            assert there.wait(PATIENCE), (tmp_path / "submit.log").read_text()[-4000:]
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
        store = open_storage(uri, server.options)
        for beat in store.list(HEARTBEATS):  # it is taken for dead at once
            store.delete(beat.path)
        table: Any = hoodoo.open(uri, server.options)
        assert len(table.rollback()) == 1
        path = held[0].partition(f"/{bucket}/late/")[2].partition("?")[0]
        assert store.head(path) is None
        go.set()
        end = time.monotonic() + PATIENCE
        while store.head(path) is None:
            assert time.monotonic() < end, line.arrived
            time.sleep(0.1)
        assert {row["text"] for row in table.read().to_arrow().to_pylist()} == {"first"}
        out = submit(
            tmp_path, url, LATE, uri, json.dumps(server.options), "next", own=tmp_path / "driver"
        )
        assert store.head(path) is None, "the late file is there still"
    found = json.loads(out.strip().splitlines()[-1])
    assert found == {"same": {"spark": True, "arrow": True}, "findings": []}
    assert left(tmp_path) == []
