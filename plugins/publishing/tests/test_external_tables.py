"""Tables that Apache XTable has made of Delta Lake and Iceberg tables are read."""

from __future__ import annotations

import datetime as dt
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hoodoo.errors import UnsupportedTableError
from hoodoo.model.filegroup import FileSlice
from hoodoo.timeline.names import parse_path
from hoodoo_rows.read.source import check_extension
from xtable import synced

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64())])
ROWS = [
    {"id": 1, "city": "oslo", "fare": 1.5},
    {"id": 2, "city": "a b", "fare": 2.5},
    {"id": 3, "city": None, "fare": None},
    {"id": 4, "city": "x=1&y", "fare": 4.5},
]


def read(table: hoodoo.Table, **how: Any) -> list[dict[str, Any]]:
    return sorted(table.read(**how).to_arrow().to_pylist(), key=lambda row: row["id"])


def delta(path: Path, partitioned: bool, mode: str, data: list[dict[str, Any]]) -> set[str]:
    """What a Delta table has after a write, as paths of files."""
    write_deltalake(
        str(path),
        pa.Table.from_pylist(data, SCHEMA),
        mode=mode,
        partition_by=["city"] if partitioned else None,
    )
    return {uri.removeprefix(f"{path}/") for uri in DeltaTable(str(path)).file_uris()}


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("partitioned", [False, True])
def test_a_delta_table(tmp_path: Path, partitioned: bool, version: int) -> None:
    path = tmp_path / "t"
    how: dict[str, Any] = {"partition": "city" if partitioned else "", "version": version}
    first = synced(path, SCHEMA, delta(path, partitioned, "append", ROWS[:2]), **how)
    synced(path, SCHEMA, delta(path, partitioned, "append", ROWS[2:]), **how)
    table = hoodoo.open(str(path))
    assert read(table) == ROWS
    assert table.read().count() == 4
    assert table.verify().findings == ()
    assert table.stats().file_groups == 2 + 2 * partitioned
    with pytest.raises(UnsupportedTableError, match="only the metadata table says"):
        read(hoodoo.open(str(path), {"hoodie.metadata.enable": "false"}))
    assert read(table, as_of=first) == ROWS[:2]
    assert read(table, where="city = 'a b'") == ROWS[1:2]
    assert read(table, where="city is null") == ROWS[2:3]
    assert read(table, where="city <> 'oslo' and fare > 1", columns=["id"]) == [
        {"id": 2},
        {"id": 4},
    ]
    assert read(table, where="fare < 2") == ROWS[:1]


@pytest.mark.parametrize("version", [6, 9])
def test_files_that_the_source_has_no_longer(tmp_path: Path, version: int) -> None:
    path = tmp_path / "t"
    synced(path, SCHEMA, delta(path, True, "append", ROWS), partition="city", version=version)
    files = delta(path, True, "overwrite", ROWS[:1])
    second = synced(path, SCHEMA, files, partition="city", version=version)
    DeltaTable(str(path)).delete("city = 'oslo'")
    assert not DeltaTable(str(path)).file_uris()
    table = hoodoo.open(str(path))
    assert read(table) == ROWS[:1]
    synced(path, SCHEMA, set(), partition="city", version=version)
    assert read(table) == []
    assert read(table, as_of=second) == ROWS[:1]


def test_an_iceberg_table(tmp_path: Path) -> None:
    """Its files have the partition columns, and folders are named by transforms."""
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us")), ("fare", pa.float64())])
    made = [
        {"id": n, "at": dt.datetime(2026, 1, 1 + n % 3, n), "fare": n / 2 if n % 4 else None}
        for n in range(9)
    ]
    path, files = tmp_path / "t/data", set[str]()
    for part in (made[:5], made[5:]):
        for day in (1, 2, 3):
            folder = path / f"at_day=2026-01-0{day}"
            folder.mkdir(parents=True, exist_ok=True)
            name = f"00000-{len(files)}-{uuid.uuid4()}_{day}.parquet"
            of_day = [row for row in part if row["at"].day == day]
            pq.write_table(pa.Table.from_pylist(of_day, schema), folder / name)
            files.add(f"{folder.name}/{name}")
        synced(path, schema, files, partition="at", keys="id")
    table = hoodoo.open(str(path))
    assert read(table) == made
    assert read(table, where="at >= '2026-01-03'") == [r for r in made if r["at"].day == 3]
    assert read(table, where="id = 4") == made[4:5]
    assert table.read().to_polars().height == 9
    assert table.read().to_duckdb().aggregate("count(*)").fetchall() == [(9,)]


def test_types_of_partition_columns_are_those_of_the_table(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("n", pa.int32())])
    made = [
        {"id": 1, "day": dt.date(2026, 1, 2), "n": -5},
        {"id": 2, "day": None, "n": 0},
    ]
    path = tmp_path / "t"
    data = pa.Table.from_pylist(made, schema)
    write_deltalake(str(path), data, partition_by=["day", "n"])
    files = {uri.removeprefix(f"{path}/") for uri in DeltaTable(str(path)).file_uris()}
    synced(path, schema, files, partition="day")
    table = hoodoo.open(str(path))
    table.handle.change_properties(
        {
            "hoodie.table.partition.fields": "day,n",
            "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
        }
    )
    assert read(table) == made
    assert read(table, where="n < 0") == made[:1]
    assert read(table, where="day is null") == made[1:]


def test_a_value_that_no_folder_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    (path / "sub").mkdir(parents=True)
    pq.write_table(pa.table({"id": [1], "fare": [1.0]}), path / "sub/a.parquet")
    synced(path, SCHEMA, {"sub/a.parquet"}, partition="city")
    with pytest.raises(UnsupportedTableError, match=r"sub/a.parquet: lacks the partition column"):
        read(hoodoo.open(str(path)))


def test_what_would_write_is_refused(tmp_path: Path) -> None:
    """Nothing changes, not a file of the source; and the way that the message says goes."""
    path = tmp_path / "t"
    first = synced(path, SCHEMA, delta(path, False, "append", ROWS), keys="id")
    synced(path, SCHEMA, delta(path, False, "overwrite", ROWS[:1]), keys="id")
    table = hoodoo.open(str(path), {"hoodie.clean.commits.retained": "1"})
    before = sorted(p for p in path.rglob("*") if p.is_file())
    calls: list[Callable[[], Any]] = [
        lambda: table.upsert(ROWS),
        lambda: table.delete([1]),
        lambda: table.delete(where="id = 1"),
        lambda: table.insert_overwrite_table(ROWS),
        lambda: table.cluster(),
        lambda: table.rollback(table.timeline().writes()[-1].requested),
        lambda: table.alter(add={"more": "string"}),
    ]
    for call in calls:
        with pytest.raises(UnsupportedTableError, match="is what Apache XTable has made"):
            call()
    assert table.clean(commits_retained=1).files == ()
    assert [p for p in before if not p.exists()] == []
    assert read(table) == ROWS[:1]
    assert read(table, as_of=first) == ROWS
    copy = hoodoo.convert(table.read().to_arrow(), str(tmp_path / "copy"), record_key="id")
    copy.upsert(ROWS[1:])
    assert read(copy) == ROWS


def test_tables_of_another_format_are_read_and_not_written(tmp_path: Path) -> None:
    """Hudi's pluggable table formats: files and timeline are Hudi's own, and Hudi reads them so
    where it has no plugin of the format. A commit that lacks in the other format is among them,
    until the next write of the plugin undoes it."""
    made = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city")
    first = made.upsert(ROWS[:3])
    newest = made.upsert(ROWS[3:])
    made.handle.change_properties({"hoodie.table.format": "ICEBERG"})
    table = hoodoo.open(made.path)
    assert read(table) == ROWS
    assert read(table, as_of=first.instant) == ROWS[:3]
    assert read(table, where="city = 'x=1&y'") == ROWS[3:]
    with pytest.raises(UnsupportedTableError, match="hoodie.table.format=ICEBERG"):
        table.rollback(newest.instant)
    assert table.verify().findings == ()
    for call in (lambda: table.upsert(ROWS), lambda: table.delete([1])):
        with pytest.raises(UnsupportedTableError, match="hoodie.table.format=ICEBERG"):
            call()


def test_files_in_folders_of_their_partition_are_refused(tmp_path: Path) -> None:
    """As Hudi 1.2 names those of Paimon: they would have to be merged."""
    path = tmp_path / "t"
    synced(path, SCHEMA, delta(path, False, "append", ROWS))
    (file,) = (path / ".hoodie").glob("*.replacecommit")
    file.write_text(file.read_text().replace("_hudiext", "_fg%3Dbucket-0_hudiext"))
    shutil.rmtree(path / ".hoodie/metadata")
    table = hoodoo.open(str(path))
    table.handle.change_properties({"hoodie.table.metadata.partitions": None})
    with pytest.raises(UnsupportedTableError, match="only the metadata table says"):
        read(table)
    with pytest.raises(UnsupportedTableError, match="buckets of Paimon"):
        check_extension(
            FileSlice("", "a", "1", parse_path("a.parquet_20260101000000_fg%3Db-0_hudiext")),
            table.handle.file_format(),
        )
