"""Tables of this format, from end to end: both kinds, both engines, each index."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve
from hoodoo.errors import DataError, SchemaError, UnsupportedTableError
from hoodoo.model.meta import META_COLUMNS
from hoodoo_lance.format import LanceFormat
from hoodoo_rows.read.source import check_extension
from lance.file import LanceFileReader

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("v", pa.int64())])
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
INDEXES = ("simple", "global_simple", "bloom", "global_bloom", "bucket", "record_index")


def entries(ids: range, step: int = 1) -> pa.Table:
    values = {"id": list(ids), "city": ["ab"[i % 2] for i in ids], "v": [i * step for i in ids]}
    return pa.table(values, SCHEMA)


def created(path: Path, kind: str = "COPY_ON_WRITE", **more: Any) -> Any:
    options = {
        "hoodie.table.base.file.format": "LANCE",
        "hoodie.parquet.small.file.limit": 0,
        **more.pop("options", {}),
    }
    more = {"partition_by": "city", "table_type": kind, **more}
    return hoodoo.create(str(path), SCHEMA, record_key="id", options=options, **more)


def seen(table: Any, **more: Any) -> dict[int, int]:
    found = table.read(["id", "v"], **more).to_arrow()
    return dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))


def by_others(path: Path) -> dict[int, int]:
    """What the independent reader ``hudi`` finds."""
    hudi = pytest.importorskip("hudi")
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    found = pa.Table.from_batches(batches)
    return dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", INDEXES)
def test_a_table_lives(tmp_path: Path, kind: str, index: str) -> None:
    path = tmp_path / "t"
    wanted = {"hoodie.metadata.enable": True, "hoodie.metadata.index.column.stats.enable": True}
    if index == "bucket":
        wanted["hoodie.bucket.index.num.buckets"] = 2
    table = created(path, kind, index=index, options=wanted)
    assert not [f for f in table.config.metadata_partitions if f.endswith("_stats")]
    table.bulk_insert(entries(range(30)))
    table.insert(entries(range(30, 60)))
    expected = {i: i for i in range(60)}
    first = table.timeline().writes()[-1].requested
    commit = table.upsert(entries(range(5, 15), 100))
    assert (commit.inserted, commit.updated) == (0, 10)
    changed = {i: i * 100 for i in range(5, 15)}
    assert seen(table) == expected | changed
    assert seen(table, as_of=first) == expected
    expected |= changed
    found = table.incremental(first).to_arrow()
    assert sorted(found["id"].to_pylist()) == list(range(5, 15))
    last = table.insert(entries(range(90, 95)))
    table.rollback(last.instant)
    assert seen(table) == expected == by_others(path)
    if kind == "MERGE_ON_READ":
        logs = list(path.glob("[ab]/.*.log.*"))
        assert logs and not any(b"PAR1" in log.read_bytes() for log in logs)  # Avro, as Hudi does
        table.compact()
        assert seen(table) == expected == by_others(path)
    if index != "bucket":
        size = {"hoodie.clustering.plan.strategy.small.file.limit": 1 << 30}
        for plan, more in (("size", {}), ("key_range", {}), ("overlap", {"columns": "v"})):
            table.cluster(plan, options=size, **more)
            assert seen(table) == expected, plan
    table.delete([1, 2])
    for i in (1, 2):
        del expected[i]
    assert seen(table) == expected == by_others(path)
    assert seen(table, where=pc.field("v") >= 1000) == {i: i * 100 for i in range(10, 15)}
    table.clean("by_versions", fileversions_retained=1)
    assert seen(table) == expected
    assert {p.suffix for p in path.glob("[ab]/[!.]*")} == {".lance"}
    assert table.verify().ok
    assert table.rebuild_index()
    assert table.verify().ok


def test_files_are_as_hudi_writes_them(tmp_path: Path) -> None:
    table = created(tmp_path / "t", partition_by=None)
    table.bulk_insert(entries(range(2500)))
    (slice_,) = table.file_slices()
    path = tmp_path / "t" / slice_.base_file.path
    found = LanceFileReader(str(path)).metadata()
    assert path.read_bytes()[-8:] == b"\0\0\3\0LANC"  # version 2.0
    assert found.schema.names == [*META_COLUMNS, *SCHEMA.names]
    assert [len(column.pages) for column in found.columns] == [1] * len(found.schema)
    assert all(field.nullable and not field.metadata for field in found.schema)
    assert {name.decode() for name in found.schema.metadata} == {
        "org.apache.hudi.bloomfilter",
        "hoodie_bloom_filter_type_code",
        "hoodie_min_record_key",
        "hoodie_max_record_key",
    }
    assert found.schema.metadata[b"hoodie_bloom_filter_type_code"] == b"DYNAMIC_V0"
    assert found.schema.metadata[b"hoodie_max_record_key"] == b"999"


def test_virtual_keys(tmp_path: Path) -> None:
    table = created(tmp_path / "t", options={"hoodie.populate.meta.fields": False})
    table.insert(entries(range(20)))
    table.upsert(entries(range(5), 7))
    assert seen(table) == {i: i * 7 if i < 5 else i for i in range(20)}
    table.delete([0])
    assert len(seen(table)) == 19
    stored = LanceFileReader(str(tmp_path / "t" / table.file_slices()[0].base_file.path))
    assert not stored.metadata().schema.metadata
    assert table.verify().ok


def test_nested_columns(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("tags", pa.list_(pa.string())),
            ("at", pa.struct([("x", pa.float64())])),
        ]
    )
    options = {"hoodie.table.base.file.format": "LANCE"}
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id", options=options)
    given = [
        {"id": 1, "tags": ["a", None], "at": {"x": 1.5}},
        {"id": 2, "tags": None, "at": {"x": None}},
    ]
    table.upsert(given)
    assert table.read().to_arrow().to_pylist() == given
    with pytest.raises(DataError, match="column at.*no struct that is null.*PARQUET"):
        table.upsert([{"id": 3, "tags": [], "at": None}])
    assert table.count() == 2
    maps = pa.schema([("id", pa.int64()), ("m", pa.map_(pa.string(), pa.int64()))])
    table = hoodoo.create(str(tmp_path / "m"), maps, record_key="id", options=options)
    with pytest.raises(SchemaError, match="column m.*have no maps.*PARQUET"):
        table.upsert(pa.table({"id": [1], "m": [[("a", 1)]]}, maps))


@pytest.mark.parametrize("kind", KINDS)
def test_vectors(tmp_path: Path, kind: str) -> None:
    types = {"id": pa.int64(), "emb": hoodoo.vector(4), "d": hoodoo.vector(2, "DOUBLE")}
    options = {"hoodie.table.base.file.format": "LANCE"}
    make = partial(hoodoo.create, record_key="id", table_type=kind, options=options)
    table = make(str(tmp_path / "t"), pa.schema(types))
    given = [
        {"id": i, "emb": [i, 1.5, 0, -i], "d": [0.25, i] if i % 2 else None} for i in range(20)
    ]
    table.bulk_insert(given)
    changed = [{"id": 3, "emb": None, "d": [3.0, 3.0]}]
    table.upsert(changed)
    given[3] = changed[0]
    assert table.read().to_arrow().sort_by("id").to_pylist() == given
    assert table.read().schema == pa.schema(types)
    stored = LanceFileReader(str(tmp_path / "t" / table.file_slices()[0].base_file.path)).metadata()
    said = stored.schema.metadata[b"hoodie.vector.columns"]
    assert said == b"emb:VECTOR(4),d:VECTOR(2, DOUBLE)"
    assert stored.schema.field("emb").type == pa.list_(pa.float32(), 4)
    for name, other in (("int8", hoodoo.vector(2, "INT8")), ("blob", hoodoo.blob())):
        table = make(str(tmp_path / name), pa.schema({"id": pa.int64(), "v": other}))
        with pytest.raises(SchemaError, match="column v.*in Lance files.*PARQUET"):
            table.upsert(pa.table({"id": [1], "v": pa.nulls(1, other)}))


def test_a_base_file_that_another_writer_made_in_another_format(tmp_path: Path) -> None:
    """As hudi-rs 0.6 does, which reads Lance files and writes Parquet files."""
    table = created(tmp_path / "t", partition_by=None)
    table.insert(entries(range(4)))
    (slice_,) = table.file_slices()
    base = evolve(slice_.base_file, extension=".parquet")
    with pytest.raises(UnsupportedTableError, match="is a PARQUET file.*are .lance.*restore"):
        check_extension(evolve(slice_, base_file=base), LanceFormat())


def test_ranges_of_columns_are_refused(tmp_path: Path) -> None:
    table = created(tmp_path / "t", options={"hoodie.metadata.enable": True})
    table.insert(entries(range(4)))
    with pytest.raises(UnsupportedTableError, match="column_stats.*format LANCE.*Leave it out"):
        table.rebuild_index("column_stats")


def test_filters_of_keys_are_stored_in_the_metadata_table(tmp_path: Path) -> None:
    wanted = {"hoodie.metadata.enable": True, "hoodie.metadata.index.bloom.filter.enable": True}
    table = created(tmp_path / "t", index="bloom", options=wanted)
    table.insert(entries(range(100)))
    assert table.upsert(entries(range(50, 150))).inserted == 50
    assert "bloom_filters" in table.config.metadata_partitions
    assert table.verify().ok


def test_only_the_columns_and_rows_that_are_asked_for_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoodoo_lance.reader import LanceReader

    table = created(tmp_path / "t", partition_by=None)
    table.bulk_insert(entries(range(100_000)))
    read: list[tuple[Any, int]] = []
    decode = LanceReader._read

    def noted(self: Any, names: Any, start: int, count: int, step: int) -> Any:
        read.append((list(names), count))
        return decode(self, names, start, count, step)

    monkeypatch.setattr(LanceReader, "_read", noted)
    assert seen(table, where=pc.field("v") == 70_000) == {70_000: 70_000}
    assert read == [(["v"], 100_000), (["id", "v"], 8192)]


@pytest.mark.spark
# The process forks to start the JVM, which takes nothing of Lance along.
@pytest.mark.filterwarnings("ignore:lance is not fork-safe")
@pytest.mark.parametrize("kind", KINDS)
def test_on_spark(tmp_path: Path, spark: Any, kind: str) -> None:
    table = created(tmp_path / "t", kind, engine="spark", index="bloom")
    table.upsert(entries(range(100)))
    late = spark.range(50, 150).selectExpr("id", "'a' AS city", "-id AS v").where("id % 2 = 0")
    commit = table.upsert(late)
    assert (commit.inserted, commit.updated) == (25, 25)
    frame = hoodoo.open(str(tmp_path / "t")).read(["id", "v"]).to_spark(spark)
    found = {row["id"]: row["v"] for row in frame.collect()}
    assert found == {i: i for i in range(100)} | {i: -i for i in range(50, 150, 2)}
    table.cluster()
    assert table.verify().ok
