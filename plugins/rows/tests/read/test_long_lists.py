"""Lists of more values than Arrow proves anything of (50) leave out what shorter ones do."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_formats.parquet.reader import ParquetReader

SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int64()), ("p", pa.string())])
FEW, MANY = 40, 400


def numbered(numbers: range, path: str = "x") -> pa.Table:
    keys = [f"k{n:05}" for n in numbers]
    return pa.table([keys, list(numbers), [path] * len(keys)], schema=SCHEMA)


def looked_at(table: hoodoo.Table, where: pc.Expression) -> tuple[int, int]:
    """Slices that are read, and rows that are found."""
    scan = table.read(where=where)
    return len(scan.plan.slices), scan.to_arrow().num_rows


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("index", "left"), [("record_index", 1), ("bucket", 1), ("simple", 5)])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_of_record_keys(tmp_path: Path, index: str, left: int, table_type: str) -> None:
    options = {"hoodie.bucket.index.num.buckets": "5"} if index == "bucket" else {}
    table = hoodoo.create(
        tmp_path / "t", SCHEMA, record_key="id", index=index, table_type=table_type,
        partition_by=[] if index == "bucket" else ["p"], options=options,
    )  # fmt: skip
    for part in range(5) if index != "bucket" else (0,):
        size = 5000 if index == "bucket" else 1000
        table.upsert(numbered(range(part * size, part * size + size), f"p{part}"))
    keys = table.read(columns=["id", "_hoodie_file_name"]).to_arrow()
    first = keys.filter(pc.equal(keys["_hoodie_file_name"], keys["_hoodie_file_name"][0]))["id"]
    for count in (FEW, MANY):
        assert looked_at(table, pc.field("id").isin(first[:count])) == (left, count)


def test_of_ranges_of_columns(tmp_path: Path) -> None:
    options = {"hoodie.metadata.enable": "true"}
    table = hoodoo.create(
        tmp_path / "t", SCHEMA, record_key="n", partition_by=["p"], index="global_simple", options=options,
    )  # fmt: skip
    for part in range(8):
        table.bulk_insert(numbered(range(part * 1000, part * 1000 + 1000), f"p{part}"))
    for count in (FEW, MANY):
        numbers = range(2500, 2500 + count)
        assert looked_at(table, pc.field("n").isin(list(numbers))) == (1, count)
        texts = pc.field("id").isin([f"k{n:05}" for n in numbers])
        assert looked_at(table, texts) == (1, count)
        assert looked_at(table, texts | (pc.field("n") == 7000))[1] == count + 1
        assert looked_at(table, ~texts)[1] == 8000 - count
    assert looked_at(table, pc.field("p").isin([f"p{n}" for n in range(5, 90)])) == (3, 3000)


def test_of_times_that_python_has_not(tmp_path: Path) -> None:
    """Past the year 9999: the ranges of files are compared as numbers."""
    schema = pa.schema([("id", pa.string()), ("d", pa.date32()), ("t", pa.timestamp("us"))])
    options = {"hoodie.metadata.enable": "true"}
    table = hoodoo.create(tmp_path / "t", schema, record_key="id", options=options)
    for part in range(8):
        days = [part, 2**30 if part == 7 else part]
        dates = pa.array(days, pa.int32()).cast(pa.date32())
        times = pa.array([2**30 * day for day in days]).cast(pa.timestamp("us"))
        table.bulk_insert(pa.table([[f"k{part}", f"l{part}"], dates, times], schema=schema))
    for count in (FEW, MANY):
        days = [2**30, *range(10, count)]
        dates = pa.array(days, pa.int32()).cast(pa.date32())
        assert looked_at(table, pc.field("d").isin(dates)) == (1, 1)
        times = pa.array([2**30 * day for day in days]).cast(pa.timestamp("us"))
        assert looked_at(table, pc.field("t").isin(times)) == (1, 1)


def test_of_row_groups(tmp_path: Path) -> None:
    pq.write_table(numbered(range(8000)), tmp_path / "f.parquet", row_group_size=1000)
    with ParquetReader(DirectoryStorage(str(tmp_path)), "f.parquet") as reader:
        for count in (FEW, MANY):
            numbers = [*range(2500, 2500 + count), 7999, 90_000]
            assert reader.groups_left(pc.field("n").isin(numbers)) == [2, 7]
            where = pc.field("id").isin([f"k{n:05}" for n in numbers])
            assert reader.groups_left(where) == [2, 7]
            assert reader.groups_left(where & (pc.field("n") < 5000)) == [2]
            assert len(reader.groups_left(~where)) == 8
            assert len(reader.groups_left(where | pc.field("n").is_null())) >= 2
