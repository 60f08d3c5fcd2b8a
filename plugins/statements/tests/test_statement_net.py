"""Random statements do to tables of all kinds what DuckDB's do to the same rows, or are refused where they must be."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from statement_trial import Trial

TRIALS = 100 if os.environ.get("HOODOO_TRIALS") == "more" else 5


@pytest.mark.parametrize("seed", range(TRIALS))
def test_statements_agree_with_duckdb(seed: int, tmp_path: Path) -> None:
    Trial(seed, tmp_path / "t").run()
