"""Record keys of a real table become virtual on Spark: the driver is killed again and again, and each run goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import HoodooWarning
from hoodoo.model.config import STORED_UNTIL
from hoodoo.model.meta import RECORD_KEY

Golden = Callable[[str], Path]
# Who is dead is known after a few seconds.
BEATS = {
    "hoodie.client.heartbeat.interval_in_ms": "1000",
    "hoodie.client.heartbeat.tolerable.misses": "2",
}
# The storage operation of the driver at which a run ends; one commit for each file group.
ENDS = (2, 5, 9, 14, 20)
JOB = """
import os, signal, sys
import hoodoo
from hoodoo_services import rewrite
from hoodoo_standard.storage.local import LocalStorage

path, ends = sys.argv[1], int(sys.argv[2])
rewrite.GROUPS = 1
done = 0

def counted(name):
    real = getattr(LocalStorage, name)
    def method(self, *args, **kwargs):
        global done
        if "heartbeat" not in str(args[:1]):
            done += 1
            if done == ends:
                os.kill(os.getpid(), signal.SIGKILL)
        return real(self, *args, **kwargs)
    return method

for name in ("put", "put_if_absent", "delete"):
    setattr(LocalStorage, name, counted(name))
hoodoo.open(path, {BEATS!r}, engine="spark").rewrite_keys()
"""


def run(path: Path, ends: int) -> int:
    script = JOB.replace("{BEATS!r}", repr(BEATS))
    job = subprocess.Popen(
        [sys.executable, "-c", script, str(path), str(ends)], start_new_session=True
    )
    try:
        return job.wait(timeout=300)
    finally:
        try:
            os.killpg(job.pid, signal.SIGKILL)  # the driver's Java, where that outlives it
        except ProcessLookupError:
            pass


def seen(path: Path) -> list[str]:
    table = hoodoo.open(str(path))
    return sorted(map(repr, table.read(columns=table.schema.names).to_arrow().to_pylist()))


def keys(path: Path) -> set[str | None]:
    bases = [s.base_file for s in hoodoo.open(str(path)).file_slices() if s.base_file is not None]
    read = [pq.read_table(path / b.path, columns=[RECORD_KEY], partitioning=None) for b in bases]
    return set(pa.concat_tables(read).column(0).to_pylist())


@pytest.mark.spark
@pytest.mark.trial
@pytest.mark.parametrize("name", ["cow_v9_txns_simple_nometa", "mor_avro_v9_txns_complex_nometa"])
def test_killed_and_resumed(golden: Golden, tmp_path: Path, name: str) -> None:
    path = Path(shutil.copytree(golden(name), tmp_path / name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)
        before = seen(path)
        killed = 0
        for ends in ENDS:
            code = run(path, ends)
            killed += code == -signal.SIGKILL
            assert code in (0, -signal.SIGKILL)
            assert seen(path) == before, f"ended at operation {ends}"
            if code == 0:
                break
            time.sleep(3)
        assert killed >= 2
        assert run(path, 0) == 0
        assert seen(path) == before
        assert keys(path) == {None}
        table = hoodoo.open(str(path))
        assert STORED_UNTIL not in table.config.properties
        assert not table.config.populate_meta_fields
        again = table.read(columns=table.schema.names).to_arrow()
        commit = table.upsert(again)
        assert (commit.updated, commit.inserted) == (again.num_rows, 0)
        assert seen(path) == before
        assert table.verify().ok
