"""Where hoodoo-history is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hoodoo
import pyarrow as pa

CODE = """
import sys, pyarrow as pa, hoodoo
from hoodoo.errors import PluginError

def refused(act):
    try:
        act()
    except PluginError as error:
        assert "pip install hoodoo-history" in str(error), error
    else:
        raise AssertionError("not refused")

table = hoodoo.open(sys.argv[1])
assert table.read(["id"], as_of=sys.argv[2]).to_pylist() == [{"id": 1}]
assert table.read(mode="read_optimized").count() == 2
refused(lambda: table.incremental("earliest"))
refused(lambda: table.changes(since="earliest"))
refused(lambda: table.query("changes", since="earliest"))
refused(lambda: table.upsert(pa.table({"id": [4]})))
assert table.timeline().pending() == () and table.read().count() == 2
"""


def test_snapshots_are_read_and_no_log_of_changes_is_left_out(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = hoodoo.create(
        path, pa.schema([("id", pa.int64())]), record_key="id",
        options={"hoodie.table.cdc.enabled": "true"},
    )  # fmt: skip
    first = table.upsert(pa.table({"id": [1]}))
    table.upsert(pa.table({"id": [2]}))
    done = subprocess.run(
        [sys.executable, "-c", CODE, path, first.instant],
        env={**os.environ, "HOODOO_DISABLE": "history"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
