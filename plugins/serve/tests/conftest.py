from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import hoodoo
import pytest
from served_rows import SCHEMA, rows


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., hoodoo.Table]:
    """A table merged on read, with so many deltacommits whose writers compacted nothing."""

    def make(name: str = "table", deltas: int = 6, **options: str) -> hoodoo.Table:
        path = str(tmp_path / name)
        table = hoodoo.create(
            path, SCHEMA, name="t", record_key="id", ordering="ts", table_type="MERGE_ON_READ"
        )
        for ts in range(deltas):
            table.upsert(rows(range(5), ts))
        return table

    return make
