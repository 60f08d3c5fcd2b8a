"""Random statements of a session, queries and changes, have the answers that DuckDB's own tables have."""

from __future__ import annotations

from pathlib import Path

import pytest
from effort import effort
from session_trial import SessionTrial

STEPS = 25


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(effort(4, 200)))
def test_a_session_agrees_with_duckdb(seed: int, tmp_path: Path) -> None:
    assert SessionTrial(seed, tmp_path).run(STEPS) >= STEPS
