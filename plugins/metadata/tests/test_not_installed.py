"""Where hoodoo-metadata is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hoodoo
import pyarrow as pa

CODE = """
import sys, pyarrow as pa, hoodoo
from hoodoo.errors import PluginError, UnsupportedTableError
path = sys.argv[1]
table = hoodoo.open(path)
assert sorted(table.read(["id"]).to_arrow().column("id").to_pylist()) == [1, 2, 3]
import pyarrow.compute as pc
assert table.read(where=pc.field("id") == 2).to_arrow().num_rows == 1
for act in (lambda: table.upsert(pa.table({"id": [4]})), lambda: table.clean(), lambda: table.rebuild_index()):
    try:
        act()
    except (PluginError, UnsupportedTableError) as error:
        assert "hoodoo-metadata" in str(error), error
    else:
        raise AssertionError("not refused")
assert table.timeline().pending() == ()
other = hoodoo.create(path + "_other", pa.schema([("id", pa.int64())]), record_key="id")
other.upsert(pa.table({"id": [1]}))
assert other.read().to_arrow().num_rows == 1
"""


def test_it_is_read_by_listing_and_not_written(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = hoodoo.create(
        path, pa.schema([("id", pa.int64())]), record_key="id",
        options={"hoodie.metadata.enable": "true"},
    )  # fmt: skip
    table.upsert(pa.table({"id": [1, 2, 3]}))
    done = subprocess.run(
        [sys.executable, "-c", CODE, path],
        env={**os.environ, "HOODOO_DISABLE": "metadata"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
