"""A table that Spark Hudi bootstrapped (METADATA_ONLY) is refused: its base files lack the columns of its rows, which would
be read as columns that came later, all null, and stored so by the next write."""

from __future__ import annotations

import tarfile
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import UnsupportedTableError

ARCHIVE = Path(__file__).resolve().parent / "data/bootstrap/metadata_only.tar.xz"
REFUSED = "METADATA_ONLY"


@pytest.fixture
def table(tmp_path: Path) -> hoodoo.Table:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return hoodoo.open(str(tmp_path / "metadata_only"))


def test_reads_are_refused(table: hoodoo.Table) -> None:
    """When they are planned: other libraries read base files by themselves."""
    assert table.schema.names == ["id", "a", "ts"]
    for wanted in ({}, {"mode": "read_optimized"}, {"where": "id = 'a'"}, {"columns": ["a"]}):
        with pytest.raises(UnsupportedTableError, match=REFUSED):
            table.read(**wanted)


def test_writes_are_refused(table: hoodoo.Table, tmp_path: Path) -> None:
    (base,) = (tmp_path / "metadata_only").glob("*.parquet")
    before = base.read_bytes()
    row = pa.table({"id": ["a"], "a": pa.array([9], pa.int32()), "ts": [5]})
    for write in (table.upsert, table.delete):
        with pytest.raises(UnsupportedTableError, match=REFUSED):
            write(row)
    assert [*(tmp_path / "metadata_only").glob("*.parquet")] == [base]
    assert base.read_bytes() == before
    assert not [i for i in table.timeline().pending() if i.requested > "1"]
