"""What a read pays for to know that no file is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.participants import lost
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("v", pa.int64())])

rows = Maker(SCHEMA, "v", "city", city="a")


def test_each_commit_is_read_once_and_no_more_than_so_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city")
    for value in range(9):
        table.upsert(rows([1], value))
    monkeypatch.setattr(lost, "MOST_COMMITS", 4)
    seen: list[str] = []
    real = lost._read

    def counted(snapshot: Any, instant: Any) -> Any:
        seen.append(instant.requested)
        return real(snapshot, instant)

    monkeypatch.setattr(lost, "_read", counted)
    table = hoodoo.open(table.path)
    for _ in range(3):
        assert table.read().count() == 1
    writes = [w.requested for w in table.timeline().writes()]
    assert sorted(seen) == writes[-4:]
    table.upsert(rows([1], 10))
    table.read().count()
    assert len(seen) == len(set(seen)) == 5
