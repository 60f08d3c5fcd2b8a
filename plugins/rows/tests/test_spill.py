"""Rows on disk between two steps, and what is said when there is no room for them."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hoodoo.errors import EngineError
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_rows.engine.spill import Spill

SCHEMA = pa.schema([("a", pa.int64())])
BATCH = pa.record_batch([pa.array(range(100_000))], schema=SCHEMA)


def test_rows_come_back() -> None:
    spill = Spill()
    spill.write(SCHEMA, 0, iter([BATCH, BATCH.slice(0, 3)]))
    assert [b.num_rows for b in spill.read(0)] == [100_000, 3]


def test_complete_files_have_no_name(tmp_path: Path) -> None:
    """Neither a killed process nor an error that somebody holds leaves one; the last of very many keep theirs."""
    storage = DirectoryStorage(str(tmp_path))
    spill = Spill(storage)
    for number in range(70):
        spill.write(SCHEMA, number, iter([BATCH.slice(0, number)]))
    named = [p for p in Path(storage.scratch()).rglob("*") if p.is_file()]
    assert len(named) == 70 - 64
    assert [sum(b.num_rows for b in spill.read(n)) for n in (0, 5, 69)] == [0, 5, 69]
    kept = next(spill.read(5))
    del spill
    gc.collect()
    assert not [p for p in Path(storage.scratch()).rglob("*") if p.is_file()]
    assert kept.num_rows == 5  # what was read lives on
    assert kept.column(0).to_pylist() == list(range(5))


def test_a_full_disk_is_an_error_with_a_fix() -> None:
    spill = Spill()
    os.symlink("/dev/full", spill.path(0))  # a file that fails is removed: the link, and no more
    with pytest.raises(EngineError, match="No space left") as caught:
        spill.write(SCHEMA, 0, iter([BATCH] * 3))
    assert os.path.exists("/dev/full") and not os.path.lexists(spill.path(0))
    assert "TMPDIR" in caught.value.fix


def test_errors_of_upstream_are_not_the_disks() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield BATCH
        raise OSError("upstream")

    with pytest.raises(OSError, match="upstream"):
        Spill().write(SCHEMA, 0, broken())
