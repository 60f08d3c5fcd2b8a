"""A file that is on its way to the store while its writer is taken for dead, and lands after others have rolled back."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import hoodoo
import pytest
from hoodoo.errors import HoodooError
from hoodoo.table.settings import open_storage
from hoodoo.timeline.heartbeat import FOLDER as HEARTBEATS
from servers import Server
from shaping import Request, Trouble, line_to
from small_tables import created, rows, texts

PATIENCE = 300.0  # seconds
OLD, WHOLE = {1: "a", 2: "a"}, {1: "late", 2: "a"}
WRITER = """
import json, sys
import hoodoo
from small_tables import rows
hoodoo.open(sys.argv[1], json.loads(sys.argv[2])).upsert(rows({1: "late"}, 2))
"""


@pytest.mark.trial
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("dies", [False, True], ids=["lives on", "dies"])
def test_a_file_that_lands_after_the_rollback(server: Server, kind: str, dies: bool) -> None:
    """Nobody sees it; its writer takes it away where it lives on, else the next write does."""
    name = f"b-{uuid4().hex}"
    uri = f"{server.bucket(name)}/t"
    created(uri, server.options, kind).upsert(rows(OLD, 1))
    store = open_storage(uri, server.options)
    go, there, held = threading.Event(), threading.Event(), list[str]()

    def rule(request: Request) -> Trouble | None:
        wanted = ".parquet" in request.target or ".log." in request.target
        if held or request.method != "PUT" or not wanted or "/.hoodie/" in request.target:
            return None
        held.append(request.target.partition(f"/{name}/t/")[2].partition("?")[0])
        there.set()
        return Trouble(until=go)

    with line_to(server.port) as line, ThreadPoolExecutor(1) as pool:
        line.rule = rule
        far = {**server.through(line.port), "hoodoo.cloud.timeout": f"{PATIENCE:g}"}
        if dies:
            process = subprocess.Popen(
                [sys.executable, "-c", WRITER, uri, json.dumps(far)], cwd=Path(__file__).parent
            )
            assert there.wait(PATIENCE)
            process.kill()
            process.wait()
        else:
            table = hoodoo.open(uri, far)
            running = pool.submit(table.upsert, rows({1: "late"}, 2))
            assert there.wait(PATIENCE)
        for beat in store.list(HEARTBEATS):  # it is taken for dead at once
            store.delete(beat.path)
        (path,) = held
        assert len(hoodoo.open(uri, server.options).rollback()) == 1
        assert store.head(path) is None
        go.set()
        if dies:
            _until(lambda: store.head(path) is not None)
            found = OLD
        else:
            error = running.exception(PATIENCE)
            assert error is None or isinstance(error, HoodooError), error
            assert store.head(path) is None, "it did not take its file away"
            found = OLD if error else WHOLE
        assert line.arrived == ["200"]
    again = hoodoo.open(uri, server.options)
    assert texts(again) == found
    again.upsert(rows({4: "next"}, 3))
    assert store.head(path) is None, "the next write left it there"
    assert texts(hoodoo.open(uri, server.options)) == {**found, 4: "next"}
    assert not again.verify().findings


def _until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < end
        time.sleep(0.1)
