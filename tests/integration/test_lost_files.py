"""A file that a commit names and that is lost is an error: fewer rows, or keys inserted again, would be silent."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError
from hoodoo_rows.testing.tables import Maker

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("v", pa.int64())])
TABLES = [
    (kind, version, more)
    for kind, version, more in itertools.product(
        ("COPY_ON_WRITE", "MERGE_ON_READ"),
        (6, 9),
        ("plain", "metadata", "virtual"),
    )
    if version == 9 or more != "metadata"
]
OPTIONS = {
    "plain": {},
    "metadata": {"hoodie.metadata.enable": "true"},
    "virtual": {"hoodie.populate.meta.fields": "false"},
}

rows = Maker(SCHEMA, "v", "city", city="a")


def made(path: Path, kind: str, version: int, more: str) -> hoodoo.Table:
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", table_type=kind,
        table_version=version, options=OPTIONS[more],
    )  # fmt: skip


def newest(path: Path, pattern: str) -> Path:
    return max(path.glob(pattern), key=lambda p: p.stat().st_mtime_ns)


def refused(what: Callable[[], Any], name: str) -> None:
    with pytest.raises(CorruptTableError, match=name.lstrip(".").replace(".", r"\.")) as found:
        what()
    assert "table.restore" in str(found.value) and "table.verify" in str(found.value)


@pytest.mark.parametrize(("kind", "version", "more"), TABLES)
def test_fault_a5_a_lost_file_is_an_error(
    tmp_path: Path, kind: str, version: int, more: str
) -> None:
    table = made(tmp_path / "t", kind, version, more)
    first = table.upsert(rows([1, 2], 1)).instant
    table.upsert(rows([7], 1, "b"))
    table.upsert(rows([1], 2))
    files = [newest(tmp_path / "t", "a/*.parquet"), newest(tmp_path / "t", "b/*.parquet")]
    if kind == "MERGE_ON_READ":
        files.append(newest(tmp_path / "t", "a/.*.log.*"))
    everything = table.read().to_arrow().num_rows
    for file in files:
        away = file.rename(tmp_path / "away")
        for one in (table, hoodoo.open(table.path)):
            refused(lambda t=one: t.read().to_arrow(), file.name)
            refused(lambda t=one: t.read().count(), file.name)
            if more != "virtual":
                refused(lambda t=one: t.incremental("earliest").to_arrow(), file.name)
        elsewhere = "/b/" in str(file)
        if not file.name.startswith(".") or more != "metadata":  # then it is met when it is merged
            data = rows([7], 3, "b") if elsewhere else rows([1, 2, 8], 3)
            refused(lambda r=data: table.upsert(r), file.name)
        assert "file.missing" in table.verify().kinds
        away.rename(file)
        assert table.read().to_arrow().num_rows == everything
    assert table.read(as_of=first).count() == 2
    assert table.verify().findings == ()


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_services_refuse_what_lacks_a_file(tmp_path: Path, kind: str, version: int) -> None:
    table = made(tmp_path / "t", kind, version, "plain")
    first = table.upsert(rows([1, 2], 1)).instant
    table.savepoint(first)
    table.upsert(rows([1], 2))
    file = newest(tmp_path / "t", "a/*.parquet" if kind == "COPY_ON_WRITE" else "a/.*.log.*")
    file.unlink()
    refused(lambda: table.cluster(columns="v"), file.name)
    if kind == "MERGE_ON_READ":
        refused(table.compact, file.name)
    refused(lambda: table.changes(first).to_arrow(), file.name)
    table.restore(first)  # what the message says
    assert table.read().count() == 2
    assert table.upsert(rows([1], 3)).updated == 1


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [6, 9])
def test_what_was_cleaned_replaced_or_undone_is_not_lost(
    tmp_path: Path, kind: str, version: int
) -> None:
    options = {
        "hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "3",
        "hoodie.keep.max.commits": "4", "hoodie.compact.inline": "true",
        "hoodie.compact.inline.max.delta.commits": "2",
    }  # fmt: skip
    made(tmp_path / "t", kind, version, "plain")
    table = hoodoo.open(str(tmp_path / "t"), options)
    for value in range(6):
        table.upsert(rows([1, 2], value))
        table.upsert(rows([3], value, "b"))
        if value == 2:
            table.cluster(columns="v")
        if value == 3:
            table.insert_overwrite(rows([3, 4], value, "b"))
        if value == 4:
            table.rollback(table.timeline().writes()[-1].requested)
            table.delete_partitions("b")
        assert hoodoo.open(table.path).read().count() == table.read().count()
    table.clean()
    table.archive()
    assert hoodoo.open(table.path).read().count() == 3
    assert hoodoo.open(table.path).verify().findings == ()


@pytest.mark.parametrize(("kind", "version", "more"), TABLES)
def test_a_file_that_came_after_a_clean_of_its_partition_is_missed(
    tmp_path: Path, kind: str, version: int, more: str
) -> None:
    """What the clean deleted with the partition are older files only."""
    table = made(tmp_path / "t", kind, version, more)
    table.upsert(rows([1, 2], 1))
    table.upsert(rows([7], 1, "b"))
    table.delete_partitions("a")
    for value in range(3):
        table.upsert(rows([7], value, "b"))
    assert "a" in table.clean(commits_retained=1).partitions
    assert table.verify().findings == ()
    table.upsert(rows([1, 2], 2))
    file = newest(tmp_path / "t", "a/*.parquet")
    file.unlink()
    table = hoodoo.open(table.path)
    refused(lambda: table.read().to_arrow(), file.name)
    refused(lambda: table.upsert(rows([1], 3)), file.name)
    assert "file.missing" in table.verify().kinds


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
@pytest.mark.parametrize("more", ["plain", "metadata"])
def test_fault_a5_on_spark(spark: Any, tmp_path: Path, more: str) -> None:
    table = made(tmp_path / "t", "COPY_ON_WRITE", 9, more)
    table.upsert(rows([1, 2], 1))
    table.upsert(rows([3], 1, "b"))
    file = newest(tmp_path / "t", "b/*.parquet")
    file.unlink()
    refused(lambda: table.read().to_spark(spark).count(), file.name)
    data = spark.createDataFrame([(3, "b", 2)], "id long, city string, v long")
    refused(lambda: table.upsert(data), file.name)


@pytest.mark.parametrize(("kind", "version", "more"), TABLES)
def test_a_base_file_in_the_place_of_another_is_an_error(
    tmp_path: Path, kind: str, version: int, more: str
) -> None:
    """Its rows would be given in silence."""
    table = made(tmp_path / "t", kind, version, more)
    first = table.upsert(rows([1, 2], 1)).instant
    table.upsert(rows([7], 1, "b"))
    table.upsert(rows([1], 2))
    strange = newest(tmp_path / "t", "b/*.parquet").read_bytes()
    file = newest(tmp_path / "t", "a/*.parquet")
    own = file.read_bytes()
    assert len(own) != len(strange)
    file.write_bytes(strange)
    wanted = rf"{file.name}: this file has {len(strange)} bytes, and .* says {len(own)}: .*Fix: "
    for one in (table, hoodoo.open(table.path)):
        refused_by_size(lambda t=one: t.read().to_arrow(), wanted)
        refused_by_size(lambda t=one: t.read().count(), wanted)
        if kind == "COPY_ON_WRITE" or more != "metadata":  # that one goes to a log file, unread
            refused_by_size(lambda t=one: t.upsert(rows([2], 3)), wanted)
        sort = partial(one.cluster, columns="v")
        refused_by_size(one.compact if kind == "MERGE_ON_READ" else sort, wanted)
    assert "file.size" in table.verify().kinds
    file.write_bytes(own)
    assert sorted(table.read().to_arrow()["id"].to_pylist()) == [1, 2, 7]
    assert table.verify().findings == ()
    file.write_bytes(strange)
    if kind == "COPY_ON_WRITE":  # the file of the first commit is another one
        table.restore(first)  # as the message says
        assert sorted(table.read().to_arrow()["id"].to_pylist()) == [1, 2]


def refused_by_size(what: Callable[[], Any], wanted: str) -> None:
    with pytest.raises(CorruptTableError, match=wanted) as found:
        what()
    assert "table.restore" in str(found.value) and "table.verify" in str(found.value)
