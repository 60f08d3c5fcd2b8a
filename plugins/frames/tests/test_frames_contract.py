"""Functions of hoodoo-frames keep their contract; what needs a library, or this distribution, says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.hookspecs import Registration
from hoodoo_frames.registrations import hoodoo_functions
from hoodoo_rows.testing.contracts.function import FunctionContract

CODE = """
import sys, hoodoo
from hoodoo.errors import HoodooError

def refused(act, *said):
    try:
        act()
    except HoodooError as error:
        assert all(one in str(error) for one in said), error
    else:
        raise AssertionError(f"not refused: {said}")

path, lacking = sys.argv[1:]
table = hoodoo.open(path)
scan = table.read()
assert scan.to_pylist()[0]["id"] == 1 and scan.head(1).num_rows == 1 and scan.count() == 1
if lacking == "frames":
    refused(lambda: hoodoo.scan_polars(path), "hoodoo.scan_polars", "pip install hoodoo-frames")
    refused(scan.to_polars, "Scan.to_polars", "pip install hoodoo-frames")
    for name in ("limit", "to_dataset", "to_duckdb", "to_pandas"):
        refused(getattr(scan, name), f"Scan.{name}", "pip install hoodoo-frames")
else:
    sys.modules["polars"] = None
    refused(lambda: hoodoo.scan_polars(path), "hoodoo.scan_polars", "pip install polars")
    refused(scan.to_polars, "to_polars", "pip install polars")
    assert scan.to_dataset().count_rows() == 1 and scan.limit(1).count() == 1
"""


class TestFunctions(FunctionContract):
    @pytest.fixture
    def registrations(self) -> Sequence[Registration]:
        return list(hoodoo_functions())


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("lacking", ["frames", "libraries"])
def test_what_is_not_installed_is_said(tmp_path: Path, lacking: str) -> None:
    path = str(tmp_path / "t")
    hoodoo.create(path, pa.schema([("id", pa.int64())])).append(pa.table({"id": [1]}))
    done = subprocess.run(
        [sys.executable, "-c", CODE, path, lacking],
        env={**os.environ, "HOODOO_DISABLE": lacking if lacking == "frames" else ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
