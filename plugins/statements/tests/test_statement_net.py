"""Random statements do to tables of all kinds what DuckDB's do to the same rows, or are refused where they must be."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from statement_trial import TABLE_TYPES, Trial

MORE = (os.environ.get("HOODOO_TRIALS") or "some") != "some"
TRIALS = 100 if MORE else 5


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(TRIALS))
@pytest.mark.parametrize("table_type", TABLE_TYPES if MORE else [None])
def test_statements_agree_with_duckdb(seed: int, tmp_path: Path, table_type: str | None) -> None:
    """``None``: of the type that is drawn."""
    Trial(seed, tmp_path / "t", table_type=table_type).run()
