"""Record positions beside base files of Lance change no read: random histories, each state read by numbers and by keys."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from met_by_number import met_by_number
from position_histories import History

_SEED = os.environ.get("HOODOO_SEED") or "0"


@pytest.mark.parametrize("number", range(3))
def test_histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    history = History.drawn(tmp_path / "t", f"{_SEED} lance {number}", file_format="LANCE")
    met = met_by_number(monkeypatch)
    for _ in range(8):
        history.step()
        history.check()
    assert not (met and all(met)), "reads by keys go by keys"
