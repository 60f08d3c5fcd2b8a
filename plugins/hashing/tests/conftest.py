from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hashed_rows import OPTIONS, SCHEMA


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., hoodoo.Table]:
    """A table whose buckets are split and merged."""

    def make(name: str = "table", version: int = 9, **given: Any) -> hoodoo.Table:
        options = {**OPTIONS, **given.pop("options", {})}
        chosen = {"record_key": "id", "partition_by": "region", "ordering": "ts", **given}
        return hoodoo.create(
            str(tmp_path / name), SCHEMA, name="t", table_type="MERGE_ON_READ", index="bucket",
            table_version=version, options=options, **chosen,
        )  # fmt: skip

    return make
