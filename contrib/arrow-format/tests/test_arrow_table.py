"""Tables of this format, from end to end: both kinds, both engines, each index that looks into files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import UnsupportedTableError
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("v", pa.int64())])
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")

rows = Maker(SCHEMA, "step", step=1, city=("a", "b"), v=lambda i, step: i * step)


def created(path: Path, kind: str, **more: Any) -> Any:
    options = {
        "hoodie.table.base.file.format": "ARROW",
        "hoodie.metadata.enable": True,
        "hoodie.metadata.index.column.stats.enable": True,
        "hoodie.parquet.small.file.limit": 0,
        **more.pop("options", {}),
    }
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", table_type=kind, options=options,
        **more,
    )  # fmt: skip


def seen(table: Any, where: Any = None) -> dict[int, int]:
    found = table.read(["id", "v"], where=where).to_arrow()
    return dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", ["simple", "bloom", "global_bloom", "record_index"])
def test_a_table_lives(tmp_path: Path, kind: str, index: str) -> None:
    table = created(tmp_path / "t", kind, index=index)
    for start in range(0, 60, 10):
        table.insert(rows(range(start, start + 10)))
    expected = {i: i for i in range(60)}
    commit = table.upsert(rows(range(5, 15), 100))
    assert (commit.inserted, commit.updated) == (0, 10)
    expected |= {i: i * 100 for i in range(5, 15)}
    assert seen(table) == expected
    last = table.insert(rows(range(90, 95)))
    table.rollback(last.instant)
    assert seen(table) == expected
    if kind == "MERGE_ON_READ":
        table.compact()
    for plan, more in (("size", {}), ("key_range", {}), ("overlap", {"columns": "v"})):
        table.cluster(
            plan, options={"hoodie.clustering.plan.strategy.small.file.limit": 1 << 30}, **more
        )
        assert seen(table) == expected, plan
    table.delete([1, 2])
    assert len(seen(table)) == 58
    names = {p.suffix for p in (tmp_path / "t").glob("[ab]/[!.]*")}
    assert names == {".arrow"}
    assert table.verify().ok
    assert table.rebuild_index()
    assert table.verify().ok


def test_ranges_prune_and_bounds_are_right(tmp_path: Path) -> None:
    table = created(tmp_path / "t", "COPY_ON_WRITE")
    for start in range(0, 60, 10):
        table.append(rows(range(start, start + 10)).filter(pc.field("city") == "a"))
    scan = table.read(where=pc.field("v") >= 50)
    assert scan.count() == 5
    assert scan.plan.pruned_by_metadata == 5


def test_the_bloom_index_opens_no_keys_that_a_filter_denies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoodoo_arrow_format.reader import ArrowReader

    table = created(tmp_path / "t", "COPY_ON_WRITE", index="bloom")
    table.insert(rows(range(0, 400, 2)))
    read: list[Any] = []
    batches = ArrowReader.batches

    def noted(self: Any, columns: Any = None, *more: Any, **others: Any) -> Any:
        read.append(columns)
        return batches(self, columns, *more, **others)

    monkeypatch.setattr(ArrowReader, "batches", noted)
    assert table.upsert(rows(range(1000, 1004, 2))).inserted == 2  # past every range
    assert table.upsert(rows(range(10, 11), 7)).updated == 1
    assert sum(columns == ["_hoodie_record_key"] for columns in read) == 1


def test_verify_finds_a_filter_that_denies_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoodoo_arrow_format.key_filter import Keys

    add = Keys.add
    monkeypatch.setattr(Keys, "add", lambda self, keys: add(self, pa.array(["another"])))
    table = created(tmp_path / "t", "COPY_ON_WRITE")
    table.insert(rows(range(10)))
    assert any(f.kind == "key.filter" for f in table.verify().findings)


@pytest.mark.spark
@pytest.mark.parametrize("kind", KINDS)
def test_on_spark(tmp_path: Path, spark: Any, kind: str) -> None:
    table = created(tmp_path / "t", kind, engine="spark", index="bloom")
    table.upsert(rows(range(100)))
    late = spark.range(50, 150).selectExpr("id", "'a' AS city", "-id AS v").where("id % 2 = 0")
    commit = table.upsert(late)
    assert (commit.inserted, commit.updated) == (25, 25)
    frame = hoodoo.open(str(tmp_path / "t")).read(["id", "v"]).to_spark(spark)
    found = {row["id"]: row["v"] for row in frame.collect()}
    assert found == {i: i for i in range(100)} | {i: -i for i in range(50, 150, 2)}
    table.cluster()
    assert table.verify().ok


@pytest.mark.parametrize("form", ["iceberg", "delta", "manifest"])
def test_readers_of_other_formats_know_parquet_alone(tmp_path: Path, form: str) -> None:
    """Said before the table is there, and by a call for one that is."""
    with pytest.raises(UnsupportedTableError, match=f"readers of {form} know Parquet"):
        created(tmp_path / "t", KINDS[0], options={"hoodoo.open.formats": form})
    assert not (tmp_path / "t/.hoodie").exists()
    table = created(tmp_path / "t", KINDS[0])
    table.upsert([{"id": 1, "city": "a", "v": 1}])
    with pytest.raises(UnsupportedTableError, match="its base files are ARROW"):
        table.publish(form, keep=True)
    assert table.config.get("hoodoo.open.formats") is None
