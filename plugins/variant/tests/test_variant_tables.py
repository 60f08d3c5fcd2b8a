"""Columns of the type VARIANT: written as Hudi writes them, and read as what they are."""

from __future__ import annotations

import datetime as dt
import json
import os
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import ConfigError, HoodooError, SchemaError
from hoodoo.model.schema import logical

KINDS = ["COPY_ON_WRITE", "MERGE_ON_READ"]
VALUES: list[Any] = [
    {"a": {"b": 5}, "l": [1, None, "x"]}, None, [], "text", 7, True, Decimal("1.50"), dt.date(2024, 1, 2), uuid.UUID(int=5), {"é": {}}, b"\x00",
]  # fmt: skip


def schema() -> pa.Schema:
    return pa.schema([("id", pa.int64()), ("v", hoodoo.variant()), ("ts", pa.int64())])


def made(path: Path, kind: str = "COPY_ON_WRITE", **more: Any) -> Any:
    return hoodoo.create(path, schema(), record_key="id", ordering="ts", table_type=kind, **more)


def data_of(values: list[Any], ts: int = 1) -> pa.Table:
    ids = list(range(len(values)))
    return pa.table({"id": ids, "v": hoodoo.variants(values), "ts": [ts] * len(values)})


def read(table: Any) -> list[Any]:
    found: list[Any] = table.to_arrow().sort_by("id")["v"].to_pylist()
    return found


def log_files(path: Path) -> list[str]:
    return [name for _, _, names in os.walk(path) for name in names if ".log." in name]


@pytest.mark.parametrize("log_block", ["avro", "parquet"])
def test_values_come_back_from_base_files_log_files_and_services(
    tmp_path: Path, log_block: str
) -> None:
    options = {"hoodie.logfile.data.block.format": log_block}
    table = made(tmp_path, "MERGE_ON_READ", options=options)
    table.append(data_of(VALUES))
    assert read(table) == VALUES
    turned = VALUES[::-1]
    table.upsert(data_of(turned, 2))
    assert log_files(tmp_path)
    assert read(table) == turned
    assert read(hoodoo.open(tmp_path)) == turned
    table.compact()
    assert read(table) == turned
    table.cluster()
    table.delete([0])
    assert read(table) == turned[1:]
    assert table.read(as_of=1).to_arrow().sort_by("id")["v"].to_pylist() == VALUES


def test_files_and_schema_are_those_of_hudi(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(data_of(VALUES))
    file = pq.ParquetFile(next(tmp_path.glob("*.parquet")))
    group = str(file.schema).split("optional group field_id=-1 v {")[1].split("}")[0].split("\n")
    assert [line.strip() for line in group if line.strip()] == [
        "required binary field_id=-1 metadata;",
        "required binary field_id=-1 value;",
    ]
    avro = json.loads(file.metadata.metadata[b"parquet.avro.schema"])
    field = next(field for field in avro["fields"] if field["name"] == "v")
    assert field == {
        "name": "v",
        "type": [
            "null",
            {
                "type": "record",
                "name": "v",
                "namespace": f"{avro['namespace']}.{avro['name']}",
                "fields": [
                    {"name": "metadata", "type": "bytes", "doc": "Variant metadata component"},
                    {"name": "value", "type": "bytes", "doc": "Variant value component"},
                ],
                "logicalType": "variant",
            },
        ],
        "default": None,
    }


def test_everything_that_arrives_for_a_variant(tmp_path: Path) -> None:
    table = made(tmp_path)
    texts = pa.table({"id": [1, 2, 3], "v": ['{"a": 1.10}', '"x"', None], "ts": [1, 1, 1]})
    table.upsert(texts)
    assert read(table) == [{"a": Decimal("1.10")}, "x", None]
    table.upsert([{"id": 1, "v": {"b": [1, {"c": None}]}, "ts": 2}, {"id": 2, "v": 7, "ts": 2}])
    table.upsert({"id": [3], "v": ["[2]"], "ts": [2]})
    assert read(table) == [{"b": [1, {"c": None}]}, 7, [2]]
    for n, column in enumerate(
        (
            pa.array(["[0]"], pa.string_view()),
            pa.array(["[1]"]).dictionary_encode(),
            pa.ExtensionArray.from_storage(pa.json_(), pa.array(["[2]"])),
            pa.array([[3]], pa.large_list(pa.int8())),
            hoodoo.variants([[4]]).storage,
            hoodoo.variants(["[5]"], json=True),
        )
    ):
        table.upsert(pa.table({"id": [1], "v": column, "ts": [3]}))
        assert read(table)[0] == [n], column.type
    table.upsert(pl.DataFrame({"id": [1], "v": [{"p": 1}], "ts": [5]}))
    assert read(table)[0] == {"p": 1}
    table.upsert(
        duckdb.sql("SELECT 1::BIGINT AS id, '{\"d\": 1}'::JSON::VARIANT AS v, 6::BIGINT AS ts")
    )
    assert read(table)[0] == {"d": 1}
    table.upsert(table.read())
    assert read(table)[0] == {"d": 1}


def test_variants_of_pyspark(tmp_path: Path) -> None:
    types = pytest.importorskip("pyspark.sql.types")
    if not hasattr(types, "VariantVal"):
        pytest.skip("PySpark 3.5 has no variants")
    value = types.VariantVal.parseJson('{"a": [1, 2.5]}')
    assert hoodoo.variants([value, None]).to_pylist() == [{"a": [1, Decimal("2.5")]}, None]
    table = made(tmp_path)
    table.upsert([{"id": 1, "v": value, "ts": 1}])
    assert read(table) == [{"a": [1, Decimal("2.5")]}]


def test_frames_of_a_read(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(data_of([{"a": 1}, None]))
    found = table.to_arrow().sort_by("id")
    assert found["v"].chunk(0).to_json().to_pylist() == ['{"a":1}', None]
    assert hoodoo.variants(found["v"]).to_json().to_pylist() == ['{"a":1}', None]
    assert table.read().to_pylist()[0]["v"] == {"a": 1}
    assert table.head(1)["v"].to_pylist() == [{"a": 1}]
    shown = table.read(columns=["v"]).to_duckdb().project("v.a::INTEGER").fetchall()
    assert sorted(shown, key=str) == [(1,), (None,)]
    storage = hoodoo.variants([{"a": 1}]).storage[0].as_py()
    assert table.to_polars().sort("id")["v"].to_list() == [storage, None]
    assert table.to_pandas().sort_values("id")["v"].to_list() == [storage, None]


def test_a_shredded_file_is_read(tmp_path: Path) -> None:
    table = made(tmp_path)
    values = [{"a": 1, "b": "x"}, None, {"a": "no"}, [1]]
    table.upsert(data_of(values))
    path = next(tmp_path.glob("*.parquet"))
    whole = pq.read_table(path)
    columns = ", ".join(f'"{name}"' for name in whole.column_names)
    marked = hoodoo.variants(whole["v"])
    whole = whole.set_column(whole.column_names.index("v"), "v", marked)
    connection = duckdb.connect()
    connection.register("whole", whole)
    connection.execute(
        f"COPY (SELECT {columns} FROM whole) TO '{tmp_path / 'new'}' "
        "(FORMAT parquet, SHREDDING {'v': 'STRUCT(a INTEGER)'})"
    )
    assert "typed_value" in str(pq.ParquetFile(tmp_path / "new").schema)
    # Of the size that the commit says, by bytes between the data and the footer.
    data, size = (tmp_path / "new").read_bytes(), path.stat().st_size
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:footer] + bytes(size - len(data)) + data[footer:])
    assert read(hoodoo.open(tmp_path)) == values
    table.upsert(data_of([{"n": 1}], 2))
    assert read(table) == [{"n": 1}, *values[1:]]
    assert "typed_value" not in str(pq.ParquetFile(max(tmp_path.glob("*.parquet"))).schema)


def test_a_column_is_added_and_is_null_before(tmp_path: Path) -> None:
    plain = pa.table({"id": [1], "ts": [1]})
    table = hoodoo.create(tmp_path, plain.schema, record_key="id")
    table.upsert(plain)
    table.upsert(
        pa.table({"id": [2], "ts": [1], "v": hoodoo.variants([{"a": 1}])}), add_columns=True
    )
    assert read(table) == [None, {"a": 1}]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pa.array(["[1]", '{"a":']), "column v, row 1: is no variant: it is no JSON"),
        (pa.array(["[" * 300 + "]" * 300]), "more than 200 objects and arrays within each other"),
        (pa.array(['{"a": 1, "a": 2}']), "has the key 'a' twice"),
        (pa.array([1.5]), "is a variant, and double arrives for it"),
        (pa.array([b"x"]), "is a variant, and binary arrives for it"),
        (pa.array([{"metadata": b"\x02\x00\x00", "value": b"\x00"}]), "another version than 1"),
        (pa.array([None, {"metadata": b"\x01\x00\x00", "value": b"\x14"}]), "row 1: .* too short"),
        (pa.array([{"metadata": b"", "value": b"\x00"}]), "has no metadata"),
    ],
    ids=range(8),
)
@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_is_refused_and_nothing_is_written(
    tmp_path: Path, kind: str, column: pa.Array, why: str
) -> None:
    table = made(tmp_path, kind)
    count = len(column)
    data = pa.table({"id": list(range(count)), "v": column, "ts": [1] * count})
    with pytest.raises(SchemaError, match=why) as raised:
        table.upsert(data)
    assert "column v" in raised.value.obj
    assert raised.value.fix
    assert not table.timeline().writes()
    assert not list(tmp_path.rglob("*.parquet"))
    assert not log_files(tmp_path)


def test_bad_python_objects_are_refused(tmp_path: Path) -> None:
    table = made(tmp_path)
    for value in ({"a": object()}, {1: 2}, [10**40], "not json"):
        with pytest.raises(SchemaError, match="column v, row 1: is no variant") as raised:
            table.upsert([{"id": 1, "v": 1, "ts": 1}, {"id": 2, "v": value, "ts": 1}])
        assert raised.value.fix
    assert not table.timeline().writes()


@pytest.mark.parametrize("use", ["record_key", "partition_by", "ordering"])
def test_a_variant_is_no_key_no_partition_and_no_order(tmp_path: Path, use: str) -> None:
    arguments: dict[str, Any] = {"record_key": "id", use: "v"}
    with pytest.raises((ConfigError, SchemaError), match="column v") as raised:
        hoodoo.create(tmp_path / "t", schema(), **arguments)
    assert isinstance(raised.value, HoodooError)
    assert raised.value.fix
    assert not (tmp_path / "t").exists()


def test_a_variant_is_declared_in_several_ways(tmp_path: Path) -> None:
    by_text = pa.schema(
        [("id", pa.int64()), pa.field("v", pa.string(), metadata={"hudi_type": "VARIANT"})]
    )
    table = hoodoo.create(tmp_path / "a", by_text, record_key="id")
    table.upsert(pa.table({"id": [1], "v": ["[1]"]}))
    assert read(table) == [[1]]
    for kind in (pa.list_(hoodoo.variant()), pa.map_(pa.string(), hoodoo.variant())):
        with pytest.raises(SchemaError, match="within a list or a map"):
            hoodoo.create(
                tmp_path / "b", pa.schema([("id", pa.int64()), ("v", kind)]), record_key="id"
            )
    wrong = pa.schema(
        [("id", pa.int64()), pa.field("v", pa.int8(), metadata={"hudi_type": "VARIANT"})]
    )
    with pytest.raises(SchemaError, match="is declared as VARIANT, and its Arrow type is int8"):
        hoodoo.create(tmp_path / "b", wrong, record_key="id")
    within = pa.schema([("id", pa.int64()), ("s", pa.struct([("v", hoodoo.variant())]))])
    table = hoodoo.create(tmp_path / "c", within, record_key="id", table_type="MERGE_ON_READ")
    for ts in (1, 2):
        column = pa.StructArray.from_arrays([hoodoo.variants([{"a": ts}])], ["v"])
        table.upsert(pa.table({"id": [1], "s": column}))
        found = table.to_arrow()["s"].combine_chunks().field(0)
        assert hoodoo.variants(found).to_pylist() == [{"a": ts}]


def test_where_a_variant_may_be_by_words(tmp_path: Path) -> None:
    table = hoodoo.create(
        tmp_path / "t", "id bigint, s struct<a: int, v: VARIANT>, l array<struct<a: int>>", record_key="id"
    )  # fmt: skip
    assert logical.text_of(table.schema.field("s").type.field("v").type) == "VARIANT"
    table.alter(add={"s.w": "VARIANT"})
    for how in ({"l.element.v": "VARIANT"}, {"more": "array<struct<v: VARIANT>>"}):
        with pytest.raises(SchemaError, match="within a list or a map"):
            table.alter(add=how)
    for kind in ("array<VARIANT>", "map<string, struct<v: VARIANT>>"):
        with pytest.raises(SchemaError, match="within a list or a map"):
            hoodoo.create(tmp_path / "u", f"id bigint, l {kind}", record_key="id")
