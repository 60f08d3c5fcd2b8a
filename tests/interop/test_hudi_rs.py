"""hudi-rs and Hoodoo write to one table, in turns; after each step both read what a dictionary says."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import hoodoo
import pytest
from hoodoo.errors import HoodooWarning
from hoodoo_rows.testing.tables import Maker
from hudi_rs_history import COLUMNS, SCHEMA, tried
from hudi_rs_peer import HudiRs

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crash"))
from effort import effort

PARTS = 10
# The first number of this run's histories, so that runs draw others.
FIRST = int(os.environ["HOODOO_SEED"]) * 1000

rows = Maker(SCHEMA, "v", "ts", ts=1, city=("oslo", "rome"))


def read(table: hoodoo.Table) -> list[dict[str, int]]:
    found: list[dict[str, int]] = table.read(COLUMNS).to_arrow().sort_by("id").to_pylist()
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_histories(hudi_rs: HudiRs, tmp_path: Path, part: int) -> None:
    """100 histories, with HOODOO_TRIALS=more 1,000."""
    count = effort(100, 1000) // PARTS
    for number in range(FIRST + part * count, FIRST + (part + 1) * count):
        tried(hudi_rs, number, tmp_path)


def test_fixed_histories(hudi_rs: HudiRs, tmp_path: Path) -> None:
    for number in range(16):
        tried(hudi_rs, number, tmp_path)


def test_its_tables_are_read_written_and_verified(hudi_rs: HudiRs, tmp_path: Path) -> None:
    for kind in ("cow", "mor"):
        for made in ([], ["city"]):
            path = tmp_path / f"{kind}{len(made)}"
            hudi_rs.ask("create", path, type=kind, key=["id"], ordering=["ts"], partition=made)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                table = hoodoo.open(str(path))
                assert table.read().to_arrow().num_rows == 0
                table.upsert(rows(range(4), 1))  # the first rows, whose schema the table has then
                hudi_rs.ask("upsert", path, rows(range(2, 6), 2, 2))
                table = hoodoo.open(str(path))
                assert [row["v"] for row in read(table)] == [1, 1, 2, 2, 2, 2]
            told = [str(w.message) for w in caught if issubclass(w.category, HoodooWarning)]
            assert len([text for text in told if "checksums" in text]) == 1
            report = table.verify()
            assert report.ok and any("checksums" in note for note in report.notes)


def test_its_first_rows(hudi_rs: HudiRs, tmp_path: Path) -> None:
    path = tmp_path / "t"
    hudi_rs.ask("create", path, key=["id"], ordering=["ts"])
    hudi_rs.ask("upsert", path, rows(range(4), 1))
    mark = path / ".hoodie_partition_metadata"
    assert not mark.exists()
    report = hoodoo.open(str(path)).verify()
    assert report.ok and any(mark.name in note for note in report.notes)
    hoodoo.open(str(path)).upsert(rows(range(1), 2, 2))
    assert mark.exists()
    found = sorted(hudi_rs.read(path, COLUMNS), key=lambda row: row["id"])
    assert found == read(hoodoo.open(str(path)))


def test_a_table_with_a_bucket_index(hudi_rs: HudiRs, tmp_path: Path) -> None:
    for kind in ("COPY_ON_WRITE", "MERGE_ON_READ"):
        path = str(tmp_path / kind)
        options = {"hoodie.bucket.index.num.buckets": "4"}
        table = hoodoo.create(
            path, SCHEMA, record_key="id", index="bucket", table_type=kind, options=options
        )
        table.upsert(rows(range(4), 1))
        hudi_rs.ask("upsert", path, rows(range(12), 2))
        table = hoodoo.open(path)
        assert len(read(table)) == 12
        with pytest.raises(hoodoo.errors.HoodooError, match="switch_index"):
            table.upsert(rows(range(6), 3))
        assert len(read(hoodoo.open(path))) == 12
        table.switch_index("simple")
        hoodoo.open(path).upsert(rows(range(6), 3))
        found = read(hoodoo.open(path))
        assert [row["v"] for row in found] == [3] * 6 + [2] * 6
        assert sorted(hudi_rs.read(path, COLUMNS), key=lambda row: row["id"]) == found
        assert hoodoo.open(path).verify().ok


def test_its_tables_of_version_8(hudi_rs: HudiRs, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    hudi_rs.ask("create", path, key=["id"], ordering=["ts"], version=8)
    hudi_rs.ask("upsert", path, rows(range(4), 1))
    hudi_rs.ask("upsert", path, rows(range(2, 6), 2, 2))
    table = hoodoo.open(path)
    assert [row["v"] for row in read(table)] == [1, 1, 2, 2, 2, 2]
    table.upsert(rows(range(1), 3))
    hudi_rs.ask("upsert", path, rows(range(1, 2), 4, 3))
    found = read(hoodoo.open(path))
    assert [row["v"] for row in found] == [3, 4, 2, 2, 2, 2]
    assert sorted(hudi_rs.read(path, COLUMNS), key=lambda row: row["id"]) == found
