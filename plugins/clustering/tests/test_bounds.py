"""Bounds of columns: what footers say, and the metadata table; and what nobody can know."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from hoodoo.errors import CorruptTableError
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.meta import RECORD_KEY, without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.participants.listing import build
from hoodoo.timeline import properties, timeline
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo_clustering import bounds
from hoodoo_clustering.bounds import with_bounds
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_standard.storage.local import LocalStorage

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data")) / "tables"
PARQUET = ParquetFormat()
CONFIG = TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "9"})
NOW = datetime(2024, 1, 2, 3, 4, 5, 678901, timezone.utc)
SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("city", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("price", pa.decimal128(10, 2)),
        ("x", pa.float64()),
        ("s", pa.struct([("a", pa.int32())])),
        ("l", pa.list_(pa.int32())),
    ]
)
ROWS = [
    {"n": 3, "city": "Rom", "day": date(2024, 1, 3), "at": NOW, "price": Decimal("1.50"), "x": 2.0,
     "s": {"a": 1}, "l": [1]},
    {"n": -7, "city": None, "day": date(2020, 1, 3), "at": NOW, "price": Decimal("-0.05"), "x": 0.5,
     "s": {"a": 9}, "l": []},
]  # fmt: skip


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path))


def put(storage: LocalStorage, number: int, rows: pa.Table, **options: Any) -> FileSlice:
    base = BaseFile("p", f"f{number}", "20240101000000000", "0-0-0")
    path = Path(storage.root.removeprefix("file://")) / base.path
    path.parent.mkdir(exist_ok=True)
    pq.write_table(rows, path, **options)
    return FileSlice("p", base.file_id, base.instant, base)


def found(
    storage: LocalStorage, slices: Sequence[FileSlice], *columns: str, schema: pa.Schema = SCHEMA
) -> list[tuple[dict[str, Any], int | None]]:
    empty = Timeline((), 2, CONFIG)
    known = with_bounds(Snapshot(storage, empty), PARQUET, schema, slices, columns)
    assert [item.slice for item in known] == list(slices)
    return [(dict(item.bounds), item.rows) for item in known]


def test_what_a_footer_says_in_the_types_of_the_columns(storage: LocalStorage) -> None:
    slices = [put(storage, 1, pa.Table.from_pylist(ROWS, SCHEMA), row_group_size=1)]
    columns = ("n", "city", "day", "at", "price", "x", "s.a")
    said = {
        "n": (-7, 3), "city": ("Rom", "Rom"), "day": (date(2020, 1, 3), date(2024, 1, 3)),
        "at": (NOW, NOW), "price": (Decimal("-0.05"), Decimal("1.50")), "x": (0.5, 2.0),
        "s.a": (1, 9),
    }  # fmt: skip
    assert found(storage, slices, *columns) == [(said, 2)]


def test_what_is_not_known_is_none(storage: LocalStorage) -> None:
    nulls = pa.Table.from_pylist([{"n": None, "city": "a" * 5000}], SCHEMA)
    slices = [
        put(storage, 1, nulls.drop_columns(["day"])),
        put(storage, 2, pa.Table.from_pylist(ROWS, SCHEMA), write_statistics=False),
        put(storage, 3, SCHEMA.empty_table()),
    ]
    none = {"n": None, "city": None, "day": None}
    assert found(storage, slices, "n", "city", "day") == [(none, 1), (none, 2), (none, 0)]
    # Lists, structs and columns that are not there: no file is opened for them.
    columns = ("l", "s", "s.b", "n.b", "nobody")
    assert found(storage, slices[:1], *columns) == [(dict.fromkeys(columns), None)]


def test_nothing_asked_for_nothing_read(tmp_path: Path) -> None:
    lost = BaseFile("p", "f1", "20240101000000000", "0-0-0")
    slices = [FileSlice("p", "f1", lost.instant, lost)]
    store = LocalStorage(str(tmp_path))
    assert found(store, slices) == [({}, None)]
    with pytest.raises(CorruptTableError, match="f1.*does not exist"):
        found(store, slices, "n")
    (tmp_path / "p").mkdir()
    (tmp_path / lost.path).write_bytes(b"no parquet")
    with pytest.raises(CorruptTableError, match="can't be read"):
        found(store, slices, "n")


def test_log_files_make_it_unknown(storage: LocalStorage) -> None:
    slice_ = put(storage, 1, pa.Table.from_pylist(ROWS, SCHEMA))
    log = LogFile("p", "f1", "20240101000000001", 1, "0-0-0")
    slices = [
        evolve(slice_, log_files=(log,)),
        evolve(slice_, log_files=(evolve(log, suffix=".cdc"),)),
        FileSlice("p", "f2", log.instant, None, (log,)),
    ]
    assert found(storage, slices, "n") == [
        ({"n": None}, None), ({"n": (-7, 3)}, 2), ({"n": None}, None)
    ]  # fmt: skip


def test_a_column_that_was_widened_or_replaced(storage: LocalStorage) -> None:
    old = pa.table({"n": pa.array([1, 5], pa.int32()), "city": pa.array([1, 2], pa.int64())})
    assert found(storage, [put(storage, 1, old)], "n", "city") == [({"n": (1, 5), "city": None}, 2)]
    assert found(storage, [put(storage, 1, old)], "n", schema=pa.schema([("n", pa.float64())])) == [
        ({"n": (1.0, 5.0)}, 2)
    ]


def test_record_keys_are_in_the_footer(storage: LocalStorage) -> None:
    keys = pa.table({RECORD_KEY: ["b" * 9000, "c"]})
    told = keys.replace_schema_metadata(
        {"hoodie_min_record_key": "b" * 9000, "hoodie_max_record_key": "c"}
    )
    plain = pa.table({RECORD_KEY: ["b", "c"]})
    slices = [put(storage, 1, keys), put(storage, 2, told), put(storage, 3, plain)]
    assert [b[RECORD_KEY] for b, _ in found(storage, slices, RECORD_KEY)] == [
        None, ("b" * 9000, "c"), ("b", "c")
    ]  # fmt: skip


@pytest.mark.skipif(not GOLDEN.exists(), reason="no golden tables: set HOODOO_GOLDEN")
@pytest.mark.parametrize("name", ["cow_v9_txns_nonpart_meta", "cow_v9_txns_complex_meta"])
def test_the_metadata_table_says_what_footers_say(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as archive:
        archive.extractall(tmp_path)
    (home,) = (p.parent for p in tmp_path.glob("*/.hoodie") if "__MACOSX" not in str(p))
    storage = LocalStorage(str(home))
    loaded = timeline.load(storage, properties.load(storage))
    slices = build(Snapshot(storage, loaded), loaded.writes()[3].requested).slices
    text = loaded.latest_schema_text(storage)
    assert text is not None
    schema = without_meta(arrow_schema(text))
    columns = [f.name for f in schema if not pa.types.is_nested(f.type)]
    footers = with_bounds(
        Snapshot(storage, loaded), PARQUET, schema, slices, columns, use_metadata=False
    )
    assert any(item.bounds[column] for item in footers for column in columns)
    opened: list[Any] = []
    real = bounds._looked

    def counted(*args: Any) -> Any:
        opened.append(args)
        return real(*args)

    monkeypatch.setattr(bounds, "_looked", counted)
    monkeypatch.setattr(bounds, "_FEW", 1)
    told = with_bounds(Snapshot(storage, loaded), PARQUET, schema, slices, columns)
    assert [(i.bounds, i.rows) for i in told] == [(i.bounds, i.rows) for i in footers]
    assert len(opened) < len(slices)
