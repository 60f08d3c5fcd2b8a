"""hoodoo.convert: Parquet directories, Delta Lake and Iceberg tables become Hudi tables."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import (
    CallError,
    ConfigError,
    DuplicateKeyError,
    NotATableError,
    NullKeyError,
    SchemaError,
    StorageError,
    TableExistsError,
    UnsupportedTableError,
)
from hoodoo_rows.engine.sources import overlap

UTC = dt.timezone.utc
SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("name", pa.string()), ("fare", pa.float64()), ("price", pa.decimal128(10, 2)),
        ("at", pa.timestamp("us", "UTC")), ("day", pa.date32()), ("tags", pa.list_(pa.string())),
        ("place", pa.struct([("x", pa.int32())])), ("city", pa.string()),
    ]
)  # fmt: skip


def drawn(seed: int, count: int = 50) -> pa.Table:
    rng = random.Random(seed)

    def some(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    made = [
        {
            "id": 1000 * seed + n,
            "name": some(f"name {n}"),
            "fare": some(rng.choice([float("nan"), -0.0, n / 3])),
            "price": some(Decimal(n) / 4),
            "at": some(dt.datetime(2024, 1, 1, 0, 0, n % 60, n, tzinfo=UTC)),
            "day": some(dt.date(2024, 1, 1 + n % 28)),
            "tags": some(["a", "b"][: n % 3]),
            "place": some({"x": some(n)}),
            "city": rng.choice(["oslo", "rome", "bonn"]),
        }
        for n in range(count)
    ]
    return pa.Table.from_pylist(made, SCHEMA)


def same(table: hoodoo.Table, expected: pa.Table) -> None:
    names = expected.column_names
    found = table.read(names).to_arrow()
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    assert not table.verify().findings
    assert len(table.timeline().writes()) == 1


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_hive_partitions(tmp_path: Path, kind: str) -> None:
    for n in range(2):
        ds.write_dataset(
            drawn(n), tmp_path / "old", format="parquet", partitioning=["city"], partitioning_flavor="hive",
            basename_template=f"{n}-{{i}}.parquet", existing_data_behavior="overwrite_or_ignore",
        )  # fmt: skip
    before = sorted((p, p.stat().st_mtime_ns) for p in (tmp_path / "old").rglob("*"))
    table = hoodoo.convert(tmp_path / "old", record_key="id", table_type=kind)
    assert table.path.endswith("/old_hudi")
    assert table.config.partition_fields == ("city",)
    assert table.config.table_type == kind
    same(table, pa.concat_tables([drawn(0), drawn(1)]))
    assert before == sorted((p, p.stat().st_mtime_ns) for p in (tmp_path / "old").rglob("*"))
    table.upsert(drawn(1, 3))
    assert table.read().count() == 100


def test_a_partition_whose_column_begins_with_an_underscore(tmp_path: Path) -> None:
    """Beside it lie files that hold no rows."""
    home = tmp_path / "region=eu" / "old"
    for year, key in (("2024", 1), ("__HIVE_DEFAULT_PARTITION__", 2)):
        folder = home / f"_year={year}" / "p=a"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": [key]}), folder / "a.parquet")
    for name in ("_SUCCESS", ".a.parquet.crc", "_temporary/0/a.parquet"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("no rows")
    table = hoodoo.convert(home, tmp_path / "new", record_key="id")
    assert table.config.partition_fields == ("_year", "p")
    found = table.read().to_arrow().sort_by("id").to_pylist()
    assert found == [{"id": 1, "_year": 2024, "p": "a"}, {"id": 2, "_year": None, "p": "a"}]


def test_files_whose_columns_differ(tmp_path: Path) -> None:
    home = tmp_path / "old"
    home.mkdir()
    pq.write_table(pa.table({"id": pa.array([1], pa.int32()), "a": ["x"]}), home / "1.parquet")
    pq.write_table(
        pa.table({"id": [2**40], "b": pa.array(["y"]).dictionary_encode()}), home / "2.parquet"
    )
    table = hoodoo.convert(str(home), tmp_path / "new", record_key=["id"])
    assert table.schema.field("id").type == pa.int64()
    assert sorted(map(repr, table.read().to_pylist())) == sorted(
        map(repr, [{"id": 1, "a": "x", "b": None}, {"id": 2**40, "a": None, "b": "y"}])
    )
    pq.write_table(pa.table({"id": [[1]]}), home / "3.parquet")
    with pytest.raises(UnsupportedTableError, match="nothing in common"):
        hoodoo.convert(str(home), tmp_path / "other", record_key="id")
    assert not (tmp_path / "other").exists()


def test_a_number_that_the_wider_type_lacks(tmp_path: Path) -> None:
    """It was a bare ArrowInvalid."""
    home = tmp_path / "old"
    home.mkdir()
    pq.write_table(pa.table({"id": [1], "a": [2**53 + 1]}), home / "1.parquet")
    pq.write_table(pa.table({"id": [2], "a": [0.5]}), home / "2.parquet")
    with pytest.raises(UnsupportedTableError, match="9007199254740993.*Convert them apart"):
        hoodoo.convert(str(home), tmp_path / "new", record_key="id")
    assert not hoodoo.open(tmp_path / "new").read().count()


@pytest.mark.parametrize(
    ("given", "fix"),
    [({"path": "new"}, "to="), ({"exist_ok": True}, "upsert"), ({"schema": 1}, "cast")],
)
def test_arguments_of_create_that_are_none_of_its_own(
    tmp_path: Path, given: dict[str, Any], fix: str
) -> None:
    with pytest.raises(CallError, match=r"hoodoo\.convert: does not take") as caught:
        hoodoo.convert(str(tmp_path / "nothing"), record_key="id", **given)
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("glue://db.t", r'hoodoo\.catalog\("glue://"\)\.entry\("db\.t"\)\.location'),
        ("hms://host:9083/db.t", r'hoodoo\.catalog\("hms://host:9083"\)\.entry\("db\.t"\)'),
        ("ftp://host/files", "is nothing that pyarrow opens"),
        ("file://relative", "is nothing that pyarrow opens"),
    ],
)
def test_a_source_that_is_no_place_of_files(source: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        hoodoo.convert(source, tmp_path / "new", record_key="id")
    assert caught.value.fix


def test_a_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pyarrow.fs.FileSelector", denied)
    with pytest.raises(StorageError, match="Permission denied"):
        hoodoo.convert(tmp_path, tmp_path / "new", record_key="id")


def test_keys(tmp_path: Path) -> None:
    home = tmp_path / "old"
    home.mkdir()
    data = pa.table({"id": [1, 1, 2], "n": [1, 2, 3], "k": ["a", None, "c"]})
    pq.write_table(data, home / "1.parquet")
    with pytest.raises(CallError, match="lacks record_key"):
        hoodoo.convert(home)
    with pytest.raises(SchemaError, match="'ID'"):
        hoodoo.convert(home, record_key="ID")
    assert not (tmp_path / "old_hudi").exists()
    with pytest.raises(DuplicateKeyError, match="1 of 3"):
        hoodoo.convert(home, tmp_path / "twice", record_key="id")
    assert hoodoo.open(str(tmp_path / "twice")).read().count() == 0
    with pytest.raises(NullKeyError):
        hoodoo.convert(home, tmp_path / "null", record_key="k")
    assert hoodoo.convert(home, tmp_path / "both", record_key=("id", "n")).read().count() == 3
    newest = hoodoo.convert(home, tmp_path / "newest", record_key="id", ordering="n")
    assert sorted(newest.read(["id", "n"]).to_arrow()["n"].to_pylist()) == [2, 3]
    made = hoodoo.convert(home, tmp_path / "made", record_key=())
    assert made.read().count() == 3
    with pytest.raises(TableExistsError):
        hoodoo.convert(home, tmp_path / "made", record_key="id")


def test_what_cannot_be_converted(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "hudi"), SCHEMA, record_key="id")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text/a.txt").write_text("x")
    pq.write_table(drawn(0), tmp_path / "one.parquet")
    for wrong, error, said in (
        (table.path, ConfigError, "Hudi table already"),
        (tmp_path / "nothing", NotATableError, "there is nothing"),
        (tmp_path / "empty", NotATableError, "no Parquet files"),
        (tmp_path / "text", NotATableError, "not all files"),
        (5, CallError, "nothing that can be converted"),
    ):
        with pytest.raises(error, match=said):
            hoodoo.convert(wrong, tmp_path / "to", record_key="id")
        assert not (tmp_path / "to").exists()
    with pytest.raises(CallError, match="has no past"):
        hoodoo.convert(tmp_path / "one.parquet", tmp_path / "to", record_key="id", as_of=1)
    with pytest.raises(CallError, match="lacks the path"):
        hoodoo.convert(ds.dataset(drawn(0)), record_key="id")
    same(hoodoo.convert(tmp_path / "one.parquet", tmp_path / "a", record_key="id"), drawn(0))
    same(hoodoo.convert(ds.dataset(drawn(0)), tmp_path / "b", record_key="id"), drawn(0))


def test_delta_lake(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    path = str(tmp_path / "delta")
    deltalake.write_deltalake(path, drawn(0), partition_by=["city"])
    deltalake.write_deltalake(path, drawn(1), mode="append")
    deltalake.DeltaTable(path).delete("id % 10 = 3")
    left = pa.concat_tables([drawn(0), drawn(1)])
    ids = left["id"].to_pylist()
    left = left.filter(pa.array([i % 10 != 3 for i in ids]))
    table = hoodoo.convert(path, record_key="id")
    assert table.config.partition_fields == ("city",)
    same(table, left)
    same(hoodoo.convert(path, tmp_path / "then", record_key="id", as_of=0), drawn(0))
    opened = deltalake.DeltaTable(path)
    same(hoodoo.convert(opened, tmp_path / "flat", record_key="id", partition_by=()), left)


def test_iceberg(tmp_path: Path) -> None:
    catalogs = pytest.importorskip("pyiceberg.catalog")
    from pyiceberg.transforms import IdentityTransform

    home = f"file://{tmp_path}/warehouse"
    catalog = catalogs.load_catalog(
        "mine", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=home
    )
    catalog.create_namespace("db")
    made = catalog.create_table("db.trips", SCHEMA, location=f"{home}/trips")
    with made.update_spec() as spec:
        spec.add_field("city", IdentityTransform(), "city")
    made.append(drawn(0))
    first = made.current_snapshot().snapshot_id
    made.append(drawn(1))
    made.delete("id >= 1040")
    left = pa.concat_tables([drawn(0), drawn(1, 40)])
    table = hoodoo.convert(f"{tmp_path}/warehouse/trips", record_key="id")
    assert table.config.partition_fields == ("city",)
    assert sorted(table.read(["id"]).to_arrow()["id"].to_pylist()) == sorted(left["id"].to_pylist())
    again = hoodoo.convert(made, tmp_path / "then", record_key="id", as_of=first)
    same(again, drawn(0))


def _refused(source: Any, to: Any) -> None:
    with pytest.raises(ConfigError, match="lie one in the other") as caught:
        hoodoo.convert(source, to, record_key="id")
    assert str(to) in caught.value.obj


def test_a_table_is_not_written_into_its_source_nor_around_it(tmp_path: Path) -> None:
    home = tmp_path / "data" / "source"
    home.mkdir(parents=True)
    pq.write_table(drawn(0), home / "a.parquet")
    (tmp_path / "link").symlink_to(home)
    before = sorted(tmp_path.rglob("*"))
    for to in (
        home,
        home / "out",
        f"{home}/",
        f"file://{home}",
        f"{home}/x/../out",
        tmp_path / "data",
    ):
        _refused(home, to)
    _refused(tmp_path / "link", home / "out")
    _refused(home, tmp_path / "link" / "out")
    _refused(ds.dataset(home), home)
    _refused(ds.dataset([ds.dataset(home), ds.dataset(tmp_path / "link")]), tmp_path / "data")
    _refused(home / "a.parquet", home)
    assert sorted(tmp_path.rglob("*")) == before
    same(hoodoo.convert(home, tmp_path / "data" / "source2", record_key="id"), drawn(0))


def test_a_source_whose_files_lie_elsewhere_by_links(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    pq.write_table(drawn(0).drop(["city"]), far / "a.parquet")
    home = tmp_path / "home"
    home.mkdir()
    (home / "city=oslo").symlink_to(far)
    _refused(home, far / "out")
    assert hoodoo.convert(home, tmp_path / "out", record_key="id").read().count() == 50


def test_a_delta_table_is_not_converted_into_itself(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    path = str(tmp_path / "old")
    deltalake.write_deltalake(path, drawn(0).drop(["at"]))
    before = sorted(tmp_path.rglob("*"))
    for to in (path, f"{path}/out", tmp_path):
        _refused(path, to)
        _refused(deltalake.DeltaTable(path), to)
    assert sorted(tmp_path.rglob("*")) == before


def test_uris_of_one_place_overlap() -> None:
    assert overlap("s3a://bucket/a", "s3://bucket//a/")
    assert overlap("s3://bucket/a/b", "s3n://bucket/a")
    assert overlap("gs://bucket", "gs://bucket/a")
    assert overlap("abfss://c@account/x", "abfs://c@account/x/y")
    assert not overlap("s3://bucket/a", "s3://bucket/ab")
    assert not overlap("s3://bucket/a", "gs://bucket/a")
    assert not overlap("s3://bucket/a", "/bucket/a")
