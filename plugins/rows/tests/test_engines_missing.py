"""Methods of a read whose engine is not installed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import EngineError
from hoodoo_rows.read import scan


def test_without_spark_the_distribution_to_install_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What answers is whichever plugin is there: here, none."""
    table = hoodoo.create(str(tmp_path / "t"), pa.schema([("id", pa.int64())]), record_key="id")
    nothing = SimpleNamespace(implementations=lambda hook: [])
    monkeypatch.setattr(scan, "kernel", lambda: nothing)
    with pytest.raises(EngineError, match="hoodoo-spark"):
        table.read().to_spark()
