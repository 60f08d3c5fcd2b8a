"""Random histories of upserts, deletes, services and changes of columns by hand, against a
dictionary: rows now, with filters, as of earlier instants and since them. 10 histories, with
``HOODOO_TRIALS=more`` 400."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from effort import effort
from evolved_trial import Trial

SEED = int(os.environ.get("HOODOO_SEED") or "1")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(effort(10, 400)))
def test_columns_by_hand(tmp_path: Path, number: int) -> None:
    Trial.of(SEED * 1000 + number, tmp_path / "t").live(14)
