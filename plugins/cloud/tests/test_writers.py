"""Writers in processes of their own on one table of an object store: nothing acknowledged is lost, or there twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import cloud_writer
import hoodoo
import pytest
from cloud_writer import HOT
from counted import count
from small_tables import created, rows, texts

MORE = os.environ.get("HOODOO_TRIALS") in ("more", "all")
LIMIT = 1200.0  # seconds


@pytest.mark.skipif(not MORE, reason="environments `cloud` and `trials`")
@pytest.mark.parametrize("place", ["server"], indirect=True)
@pytest.mark.parametrize("writers", [2, 8])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_contention(place: tuple[str, dict[str, str]], kind: str, writers: int) -> None:
    writes = 6
    uri, options = place
    created(uri, options, kind).upsert(rows({HOT: "old", 2: "b"}, 1))
    command = [sys.executable, cloud_writer.__file__, uri, json.dumps(options)]
    end = time.monotonic() + LIMIT
    running = [
        subprocess.Popen(
            [*command, str(n), str(writes)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for n in range(writers)
    ]  # fmt: skip
    try:
        done = [writer.communicate(timeout=max(0.1, end - time.monotonic())) for writer in running]
    finally:
        for writer in running:
            writer.kill()
            writer.wait()
    assert [w.returncode for w in running] == [0] * writers, "\n".join(err for _, err in done)
    told = dict(json.loads(line) for out, _ in done for line in out.splitlines())
    assert len(told) == writers * writes
    found = texts(hoodoo.open(uri, options))
    assert found.pop(HOT) in told.values()
    assert found == {2: "b"} | told
    assert not hoodoo.open(uri, options).verify().findings
    count(f"upsert of {writers} writers", writers * writes)
