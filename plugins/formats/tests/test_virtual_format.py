"""Virtual keys around a format of base files: record keys and paths that are made, whatever is stored."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from attrs import frozen
from hoodoo.errors import MissingColumnError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileReader
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.model.config import KEPT_META, POPULATE, TableConfig
from hoodoo.model.meta import (
    COMMIT_TIME,
    FILE_NAME,
    META_COLUMNS,
    PARTITION_PATH,
    RECORD_KEY,
    emptied,
    with_meta,
)
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_rows.merge.virtual import VirtualKeys, key_columns
from hoodoo_standard.storage.local import LocalStorage

OWN = pa.schema(
    [
        ("id", pa.string()),
        ("v", pa.int64()),
        ("city", pa.string()),
        ("in", pa.struct([("no", pa.int64())])),
    ]
)
STORED = with_meta(OWN)
PLACE = "eu/1/f1_0-0-0_1.parquet"


@frozen
class Joined:
    """The values of its fields, of nested ones too, joined by ``+``."""

    record_key_fields: tuple[str, ...] = ("id",)
    partition_fields: tuple[str, ...] = ()

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        texts = []
        for name in self.record_key_fields:
            top, *deeper = name.split(".")
            if top not in batch.schema.names:
                raise MissingColumnError(f"column {name}", "is not there", "add it.")
            column = batch.column(top)
            texts.append((pc.struct_field(column, deeper) if deeper else column).cast(pa.string()))
        return pc.binary_join_element_wise(*texts, "+")

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        return pa.repeat("", batch.num_rows)

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        return {}


def rows(count: int, meta: dict[str, Any] | None = None, start: int = 0) -> pa.Table:
    """``meta``: the one value of some meta columns, all others are null."""
    given = meta or {}
    numbers = range(start, start + count)
    columns: dict[str, Any] = {n: pa.repeat(given.get(n), count) for n in META_COLUMNS}
    columns["id"] = [f"k{i}" for i in numbers]
    columns["v"] = list(numbers)
    columns["city"] = ["oslo"] * count
    columns["in"] = [{"no": i} for i in numbers]
    return pa.table(
        [pa.array(c, f.type) if isinstance(c, list) else c.cast(f.type)
         for f, c in zip(STORED, columns.values(), strict=True)],
        schema=STORED,
    )  # fmt: skip


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path / "store"), durable=False)


def put(storage: LocalStorage, tmp_path: Path, table: pa.Table, **options: Any) -> BaseFileFormat:
    """A file of ``table`` at PLACE, as another writer made it; the plain format."""
    pq.write_table(table, tmp_path / "made.parquet", **options)
    storage.put(PLACE, (tmp_path / "made.parquet").read_bytes())
    return ParquetFormat.from_settings(Settings())


def read(reader: BaseFileReader, columns: Any = None, **more: Any) -> pa.Table:
    found = list(reader.batches(columns, **more))
    return pa.Table.from_batches(found)


@pytest.mark.parametrize(
    "there",
    [{}, {RECORD_KEY: ""}, {RECORD_KEY: "wrong", PARTITION_PATH: "elsewhere"}],
    ids=["null", "empty", "wrong"],
)
def test_keys_and_paths_are_made_whatever_is_stored(
    storage: LocalStorage, tmp_path: Path, there: dict[str, str]
) -> None:
    inner = put(storage, tmp_path, rows(3, {COMMIT_TIME: "7", **there}))
    with VirtualKeys(inner, Joined()).reader(storage, PLACE) as reader:
        assert reader.schema.names == STORED.names
        assert reader.num_rows == 3
        found = read(reader)
        assert found.schema.names == STORED.names
        assert found.column(RECORD_KEY).to_pylist() == ["k0", "k1", "k2"]
        assert found.column(PARTITION_PATH).to_pylist() == ["eu/1"] * 3
        assert found.column(COMMIT_TIME).to_pylist() == ["7"] * 3  # what is stored otherwise stays
        assert found.schema.field(RECORD_KEY).type == pa.string()
        some = read(reader, [RECORD_KEY, "v"])
        assert some.to_pydict() == {RECORD_KEY: ["k0", "k1", "k2"], "v": [0, 1, 2]}
        assert read(reader, ["v", PARTITION_PATH]).to_pydict() == {
            "v": [0, 1, 2], PARTITION_PATH: ["eu/1"] * 3,
        }  # fmt: skip


def test_a_file_without_meta_columns(storage: LocalStorage, tmp_path: Path) -> None:
    inner = put(storage, tmp_path, rows(2).select(OWN.names))
    with VirtualKeys(inner, Joined()).reader(storage, PLACE) as reader:
        assert set(reader.schema.names) == {*OWN.names, RECORD_KEY, PARTITION_PATH}
        found = read(reader, [PARTITION_PATH, COMMIT_TIME, RECORD_KEY, "id"])
        assert found.to_pydict() == {
            PARTITION_PATH: ["eu/1"] * 2, RECORD_KEY: ["k0", "k1"], "id": ["k0", "k1"],
        }  # fmt: skip


def test_columns_that_the_file_lacks_are_left_out(storage: LocalStorage, tmp_path: Path) -> None:
    """No row is lost, even where none of the columns is there."""
    inner = put(storage, tmp_path, rows(5))
    with VirtualKeys(inner, Joined()).reader(storage, PLACE) as reader:
        assert read(reader, ["later", "v"]).to_pydict() == {"v": [0, 1, 2, 3, 4]}
        for names in ([], ["later"]):
            batches = list(reader.batches(names))
            assert sum(b.num_rows for b in batches) == 5, names
            assert not any(b.num_columns for b in batches)


def test_dictionaries(storage: LocalStorage, tmp_path: Path) -> None:
    table = rows(64)
    table = table.set_column(5, "id", pa.array(["same", "other"] * 32))
    inner = put(storage, tmp_path, table, use_dictionary=["id", "city"])
    generator = Joined(("id", "city"))
    with VirtualKeys(inner, generator).reader(storage, PLACE) as reader:
        found = list(reader.batches([RECORD_KEY, "city", "id"], encoded=True))
        plain = list(reader.batches([RECORD_KEY, "city", "id"]))
    assert pa.types.is_dictionary(found[0].column("id").type)  # else nothing is shown here
    keys = found[0].column(RECORD_KEY)
    assert keys.type == pa.string()
    assert keys.to_pylist() == ["same+oslo", "other+oslo"] * 32
    assert found[0].column("city").to_pylist() == plain[0].column("city").to_pylist()
    assert plain[0].column(RECORD_KEY) == keys


def test_nested_key_columns(storage: LocalStorage, tmp_path: Path) -> None:
    inner = put(storage, tmp_path, rows(3, {RECORD_KEY: "no"}))
    generator: KeyGenerator = Joined(("in.no", "id", "in.no"))
    assert key_columns(generator, STORED) == ["in", "id"]
    with VirtualKeys(inner, generator).reader(storage, PLACE) as reader:
        found = read(reader, [RECORD_KEY])
        assert found.to_pydict() == {RECORD_KEY: ["0+k0+0", "1+k1+1", "2+k2+2"]}
        assert read(reader, ["in", RECORD_KEY]).column_names == ["in", RECORD_KEY]


def test_a_key_column_that_the_file_lacks_is_an_error(
    storage: LocalStorage, tmp_path: Path
) -> None:
    inner = put(storage, tmp_path, rows(3, {RECORD_KEY: "there"}).drop_columns(["id"]))
    with VirtualKeys(inner, Joined()).reader(storage, PLACE) as reader:
        assert read(reader, ["v"]).num_rows == 3
        with pytest.raises(MissingColumnError, match="column id"):
            read(reader, [RECORD_KEY])


def test_filters_on_meta_columns_prune_nothing(storage: LocalStorage, tmp_path: Path) -> None:
    """Row groups are of 10 rows each; their statistics are of the wrong keys that are stored."""
    inner = put(storage, tmp_path, rows(30, {RECORD_KEY: "wrong"}), row_group_size=10)
    with VirtualKeys(inner, Joined()).reader(storage, PLACE) as reader:
        with inner.reader(storage, PLACE) as plain:
            stored = pc.field(RECORD_KEY) == "k7"
            assert sum(b.num_rows for b in plain.batches([RECORD_KEY], stored)) == 0
        for where in (stored, stored & (pc.field("v") < 5), pc.field(PARTITION_PATH) == "eu/1"):
            assert read(reader, [RECORD_KEY], where=where).num_rows == 30, str(where)
        assert read(reader, [RECORD_KEY], where=pc.field("v") < 5).num_rows == 10


def test_batches_have_as_many_rows_as_was_said(storage: LocalStorage, tmp_path: Path) -> None:
    inner = put(storage, tmp_path, rows(10))
    with VirtualKeys(inner, Joined()).reader(storage, PLACE) as reader:
        found = list(reader.batches([RECORD_KEY], batch_rows=4))
    assert [b.num_rows for b in found] == [4, 4, 2]
    assert found[1].column(0).to_pylist() == ["k4", "k5", "k6", "k7"]


@pytest.mark.parametrize(
    "kept", [(), (COMMIT_TIME,), (COMMIT_TIME, FILE_NAME), META_COLUMNS], ids=len
)
def test_files_store_what_is_filled(tmp_path: Path, kept: tuple[str, ...]) -> None:
    config = TableConfig({POPULATE: "false", KEPT_META: ",".join(kept)})
    inner = ParquetFormat.from_settings(Settings(config))
    virtual = VirtualKeys(inner, Joined(), config.filled_meta)
    table = rows(4, {name: f"value of {name}" for name in META_COLUMNS})
    local = str(tmp_path / "made.parquet")
    writer = virtual.writer(local, STORED)
    writer.write(table.slice(0, 2))
    writer.write(table.slice(2).to_batches()[0], known=True)
    size = writer.close()
    assert virtual.extension == ".parquet" and size == (tmp_path / "made.parquet").stat().st_size
    file = pq.ParquetFile(local)
    assert file.schema_arrow.names == STORED.names
    found = file.read()
    for name in META_COLUMNS:
        expected = [f"value of {name}" if name in kept else None] * 4
        assert found.column(name).to_pylist() == expected, name
    assert found.select(OWN.names).to_pydict() == table.select(OWN.names).to_pydict()
    # A bloom filter, and a range, of keys that are not there would hide them.
    footer = {key.decode() for key in file.metadata.metadata}
    about_keys = {"hoodie_min_record_key", "hoodie_max_record_key", "org.apache.hudi.bloomfilter"}
    assert footer & about_keys == (about_keys if RECORD_KEY in kept else set())


def test_emptied_keeps_types_order_and_the_rest() -> None:
    table = rows(3, {name: "x" for name in META_COLUMNS})
    for given in (table, table.to_batches()[0], table.select(["v", RECORD_KEY])):
        made = emptied(given, frozenset({COMMIT_TIME}))
        assert made.schema.names == given.schema.names
        assert type(made) is type(given)
        assert made.column(RECORD_KEY).null_count == 3
        assert made.column("v").to_pylist() == [0, 1, 2]
    assert emptied(table, frozenset(META_COLUMNS)).equals(table)


def test_it_travels(storage: LocalStorage, tmp_path: Path) -> None:
    inner = put(storage, tmp_path, rows(2))
    virtual = VirtualKeys(inner, Joined(), frozenset({COMMIT_TIME}))
    assert isinstance(virtual, BaseFileFormat)
    other = pickle.loads(pickle.dumps(virtual))
    assert other == virtual
    with other.reader(storage, PLACE) as reader:
        assert read(reader, [RECORD_KEY]).column(0).to_pylist() == ["k0", "k1"]
        assert reader.metadata is not None
