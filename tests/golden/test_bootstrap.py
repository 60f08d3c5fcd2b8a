"""Tables that Spark Hudi bootstrapped (METADATA_ONLY): their base files lack the columns of the
rows, which are in files of the source. Without the index of these files reads and writes are
refused: the columns would all be null."""

from __future__ import annotations

import tarfile
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import UnsupportedTableError

DATA = Path(__file__).resolve().parent / "data/bootstrap"
REFUSED = "METADATA_ONLY"


@pytest.fixture
def table(tmp_path: Path) -> hoodoo.Table:
    with tarfile.open(DATA / "metadata_only.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return hoodoo.open(str(tmp_path / "metadata_only"))


def test_reads_without_the_index_are_refused(table: hoodoo.Table) -> None:
    assert table.schema.names == ["id", "a", "ts"]
    for wanted in ({}, {"mode": "read_optimized"}, {"where": "id = 'a'"}, {"columns": ["a"]}):
        with pytest.raises(UnsupportedTableError, match=REFUSED):
            table.read(**wanted).to_arrow()


def test_without_the_property_plans_are_refused(table: hoodoo.Table) -> None:
    """Other libraries read base files by themselves, so that a read is refused before."""
    table.handle.change_properties({"hoodie.bootstrap.base.path": None})
    with pytest.raises(UnsupportedTableError, match=REFUSED):
        hoodoo.open(table.path).read()


def test_writes_without_the_index_are_refused(table: hoodoo.Table, tmp_path: Path) -> None:
    (base,) = (tmp_path / "metadata_only").glob("*.parquet")
    before = base.read_bytes()
    row = pa.table({"id": ["a"], "a": pa.array([9], pa.int32()), "ts": [5]})
    for write in (table.upsert, table.delete):
        with pytest.raises(UnsupportedTableError, match=REFUSED):
            write(row)
    assert [*(tmp_path / "metadata_only").glob("*.parquet")] == [base]
    assert base.read_bytes() == before
    assert not [i for i in table.timeline().pending() if i.requested > "1"]
