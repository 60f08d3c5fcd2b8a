"""Random histories: pyiceberg, deltalake and polars see the rows of the table after each action,
and those of each snapshot that is listed."""

from __future__ import annotations

from pathlib import Path

import pytest
from open_histories import History


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(12))
def test_readers_see_what_the_table_has(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path / "t", seed)
    history.run(8)
    assert history.compared > 20
