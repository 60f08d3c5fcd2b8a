"""Rows on disk between two steps, and what is said when there is no room for them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hoodoo.engine.spill import Spill
from hoodoo.errors import EngineError

SCHEMA = pa.schema([("a", pa.int64())])
BATCH = pa.record_batch([pa.array(range(100_000))], schema=SCHEMA)


def test_rows_come_back() -> None:
    spill = Spill()
    spill.write(0, SCHEMA, iter([BATCH, BATCH.slice(0, 3)]))
    assert [b.num_rows for b in spill.read(0)] == [100_000, 3]


def test_a_full_disk_is_an_error_with_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    spill = Spill()
    monkeypatch.setattr(Spill, "path", lambda self, number: "/dev/full")
    with pytest.raises(EngineError, match="No space left") as caught:
        spill.write(0, SCHEMA, iter([BATCH] * 3))
    assert "TMPDIR" in caught.value.fix


def test_errors_of_upstream_are_not_the_disks() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield BATCH
        raise OSError("upstream")

    with pytest.raises(OSError, match="upstream"):
        Spill().write(0, SCHEMA, broken())
