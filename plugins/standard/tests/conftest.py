"""Fixtures: real tables written by Spark."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``golden(name)``: the directory of a real table, unzipped once; skips if there are none."""
    beside = Path(__file__).resolve().parents[3] / "tests/golden/data"
    root = Path(os.environ.get("HOODOO_GOLDEN", beside)) / "tables"
    unzipped: dict[str, Path] = {}

    def table(name: str) -> Path:
        if not root.is_dir():
            pytest.skip(f"no real tables in {root}: set HOODOO_GOLDEN")
        if name not in unzipped:
            target = tmp_path_factory.mktemp(name)
            with zipfile.ZipFile(root / f"{name}.zip") as packed:
                packed.extractall(
                    target, [n for n in packed.namelist() if not n.startswith("__MACOSX")]
                )
            unzipped[name] = next(target.glob("*/.hoodie")).parent
        return unzipped[name]

    return table
