"""A directory with tables in it: none of them has rows or files of another one."""

from __future__ import annotations

import shutil
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError, UnsupportedTableError

SCHEMA = pa.schema([("id", pa.int64()), ("c", pa.string())])
OPTIONS = {"hoodie.clean.automatic": "false", "hoodie.clean.commits.retained": "1"}


def _ids(path: Path) -> list[int]:
    return sorted(row["id"] for row in hoodoo.open(str(path)).read().to_pylist())


def _filled(path: Path, number: int, partition_by: str | None, metadata: bool) -> hoodoo.Table:
    options = {**OPTIONS, "hoodie.metadata.enable": str(metadata).lower()}
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by=partition_by or (), options=options
    )
    table.upsert([{"id": number, "c": "a"}])
    return table


@pytest.mark.parametrize("below", ["inner", "lake/inner", "a/b/inner"])
def test_no_table_is_created_above_others(tmp_path: Path, below: str) -> None:
    _filled(tmp_path / below, 1, None, True)
    with pytest.raises(ConfigError, match=rf"has other tables below it \({below}\)"):
        hoodoo.create(str(tmp_path), SCHEMA, record_key="id")
    assert not (tmp_path / ".hoodie").exists()
    with pytest.raises(HoodooError, match="a directory of Hudi tables"):
        hoodoo.open(str(tmp_path))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("metadata", [True, False])
@pytest.mark.parametrize("partition_by", ["c", None])
@pytest.mark.parametrize("below", ["inner", "lake/inner", "a/inner"])
def test_tables_around_tables_are_opened_right(
    tmp_path: Path, below: str, partition_by: str | None, metadata: bool
) -> None:
    """Other programs create them, and programs that move directories."""
    outer = tmp_path / "outer"
    table = _filled(outer, 2, partition_by, metadata)
    _filled(tmp_path / "inner", 1, partition_by, metadata)
    (outer / below).parent.mkdir(parents=True, exist_ok=True)
    shutil.move(tmp_path / "inner", outer / below)

    assert _ids(outer) == [2]
    assert _ids(outer / below) == [1]
    assert table.delete([1]).deleted == 0
    assert hoodoo.open(str(outer)).verify().ok
    table.insert_overwrite_table([{"id": 3, "c": "a"}])
    for number in (4, 5):
        table.upsert([{"id": number, "c": "a"}])
    hoodoo.open(str(outer), OPTIONS).clean()
    assert _ids(outer) == [3, 4, 5]
    assert _ids(outer / below) == [1]
    assert hoodoo.open(str(outer / below)).verify().ok
    assert hoodoo.open(str(outer)).verify().ok


def test_no_row_goes_into_a_partition_path_that_is_a_table(tmp_path: Path) -> None:
    outer = _filled(tmp_path / "outer", 1, "c", False)
    _filled(tmp_path / "inner", 2, None, False)
    shutil.move(tmp_path / "inner", tmp_path / "outer/other")
    with pytest.raises(UnsupportedTableError, match="this partition path is another table"):
        outer.upsert([{"id": 3, "c": "other"}])
    assert _ids(tmp_path / "outer") == [1]
    assert _ids(tmp_path / "outer/other") == [2]
