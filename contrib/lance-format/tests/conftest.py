"""Tables that Spark Hudi wrote."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[3]


@pytest.fixture
def golden(tmp_path: Path) -> Callable[[str], Path]:
    """``golden(name)``: the golden table of this name, unpacked."""
    home = Path(os.environ.get("HOODOO_GOLDEN") or REPO / "tests/golden/data")

    def unpacked(name: str) -> Path:
        with zipfile.ZipFile(home / "tables" / f"{name}.zip") as archive:
            archive.extractall(tmp_path / name)
        (found,) = (p for p in (tmp_path / name).iterdir() if p.is_dir())
        return found

    return unpacked
