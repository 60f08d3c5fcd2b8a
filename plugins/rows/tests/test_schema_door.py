"""What the door makes of Arrow data from anywhere, and how batches are brought into a schema."""

from __future__ import annotations

import decimal
import os
import uuid
import zipfile
from datetime import date, datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.model.meta import with_meta
from hoodoo.model.schema.avro import arrow_schema, avro_text
from hoodoo_rows.model.conform import conform
from hoodoo_rows.model.normalize import known_type, normalise_schema, plain_schema
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data"))
ZIPS = sorted((GOLDEN / "tables").glob("*.zip"))

US = pa.timestamp("us", "UTC")
PAIRS = [
    (pa.string_view(), pa.string()),
    (pa.large_string(), pa.string()),
    (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
    (pa.dictionary(pa.int16(), pa.int8()), pa.int32()),
    (pa.run_end_encoded(pa.int16(), pa.string_view()), pa.string()),
    (pa.binary_view(), pa.binary()),
    (pa.large_binary(), pa.binary()),
    (pa.binary(16), pa.binary()),
    (pa.large_list(pa.int8()), pa.list_(pa.int32())),
    (pa.list_view(pa.string_view()), pa.list_(pa.string())),
    (pa.list_(pa.float16(), 3), pa.list_(pa.float32())),
    (pa.bool8(), pa.bool_()),
    (pa.json_(), pa.string()),
    (pa.list_(pa.bool8()), pa.list_(pa.bool_())),
    (pa.timestamp("s", "UTC"), US),
    (pa.timestamp("ns", "Europe/Berlin"), US),
    (pa.timestamp("s"), pa.timestamp("us")),
    (pa.timestamp("ms"), pa.timestamp("ms")),
    (pa.timestamp("us"), pa.timestamp("us")),
    (pa.timestamp("ns"), pa.timestamp("us")),
    (
        pa.list_(pa.struct([("t", pa.timestamp("ms"))])),
        pa.list_(pa.struct([("t", pa.timestamp("ms"))])),
    ),
    (pa.int8(), pa.int32()),
    (pa.int16(), pa.int32()),
    (pa.uint8(), pa.int32()),
    (pa.uint16(), pa.int32()),
    (pa.uint32(), pa.int64()),
    (pa.float16(), pa.float32()),
    (pa.decimal256(38, 3), pa.decimal128(38, 3)),
    (pa.decimal128(5, 0), pa.decimal128(5, 0)),
    (pa.date64(), pa.date32()),
    (pa.time32("s"), pa.time32("ms")),
    (pa.time64("ns"), pa.time64("us")),
    (pa.map_(pa.large_string(), pa.int8()), pa.map_(pa.string(), pa.int32())),
    (
        pa.struct([pa.field("a", pa.list_(pa.struct([("b", pa.uint8())])), nullable=False)]),
        pa.struct([("a", pa.list_(pa.struct([("b", pa.int32())])))]),
    ),
]


@pytest.mark.parametrize(("arrives", "stored"), PAIRS, ids=[str(a) for a, _ in PAIRS])
def test_types_become(arrives: pa.DataType, stored: pa.DataType) -> None:
    schema = pa.schema([pa.field("a", arrives, nullable=False)], metadata={"pandas": "x"})
    found = normalise_schema(schema, {})
    assert found.equals(pa.schema([pa.field("a", stored)]))
    assert found.metadata is None
    assert normalise_schema(found, {}).equals(found)
    assert arrow_schema(avro_text(found, "t")).equals(found, check_metadata=True)
    nulls = pa.record_batch([pa.nulls(3, arrives)], ["a"])
    assert conform(nulls, found).column(0).null_count == 3


@pytest.mark.parametrize("ends", [pa.int16(), pa.int32(), pa.int64()])
def test_runs_become_a_value_for_each_row(ends: pa.DataType) -> None:
    for values, rows in [
        (pa.array(["a", None, "b"], pa.string_view()), ["a", None, "b", "b"]),
        (pa.array([[1], None, [2]], pa.list_view(pa.int8())), [[1], None, [2], [2]]),
        (pa.array([{"x": 1}, None, {"x": 2}]), [{"x": 1}, None, {"x": 2}, {"x": 2}]),
        (pa.array(["a", None, "b"]).dictionary_encode(), ["a", None, "b", "b"]),
    ]:
        runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 7], ends), values)
        batch = pa.record_batch([runs], ["v"]).slice(1, 4)
        schema = normalise_schema(batch.schema, {})
        assert conform(batch, schema).column(0).to_pylist() == rows
        within = pa.StructArray.from_arrays([runs], ["v"]).slice(1, 4)
        batch = pa.record_batch([within], ["s"])
        found = conform(batch, normalise_schema(batch.schema, {})).column(0)
        assert found.to_pylist() == [{"v": row} for row in rows]
    required = pa.schema([pa.field("v", pa.int64(), nullable=False)])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], ends), pa.array([1, None]))
    with pytest.raises(SchemaError, match="has no nulls, and 1 rows are null"):
        conform(pa.record_batch([runs], ["v"]), required)


def test_values_survive_the_door() -> None:
    batch = pa.record_batch(
        {
            "v": pa.array(["x", None, "é" * 20], pa.string_view()),
            "d": pa.array(["a", "b", "a"]).dictionary_encode(),
            "f": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)),
            "lv": pa.array([[1], None, [2, 3]], pa.list_view(pa.int16())),
            "u": pa.array([2**32 - 1, 0, None], pa.uint32()),
            "t": pa.array(
                [datetime(2024, 1, 2, 3, tzinfo=timezone.utc)] * 3, pa.timestamp("ns", "Asia/Tokyo")
            ),
            "e": pa.array([decimal.Decimal("1.50")] * 3, pa.decimal256(40, 2)).cast(
                pa.decimal256(38, 2)
            ),
            "z": pa.array([date(2020, 2, 29)] * 3, pa.date64()),
            "m": pa.array([[("k", 1)], None, []], pa.map_(pa.large_string(), pa.int8())),
        }
    )
    found = conform(batch, normalise_schema(batch.schema, {}))
    assert found.validate(full=True) is None
    assert found.to_pydict() == {
        **batch.to_pydict(),
        "t": [datetime(2024, 1, 2, 3, tzinfo=timezone.utc)] * 3,
    }


REFUSED = [
    (pa.uint64(), r"2\*\*63"),
    (pa.null(), "Give it a type"),
    (pa.duration("s"), "int64"),
    (pa.decimal256(40, 2), "at most 38 digits"),
    (pa.decimal128(5, -2), "scale of 0 or more"),
    (pa.opaque(pa.binary(), "bignum", "DuckDB"), "extension type arrow.opaque"),
    (pa.sparse_union([pa.field("x", pa.int32())]), "no type"),
    (pa.month_day_nano_interval(), "no type"),
    (pa.map_(pa.int32(), pa.string()), "keys of a map"),
    (pa.struct([]), "at least one field"),
]


@pytest.mark.parametrize(("kind", "words"), REFUSED, ids=[str(k) for k, _ in REFUSED])
def test_types_refused(kind: pa.DataType, words: str) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        normalise_schema(pa.schema([("a", pa.int32()), ("b", kind)]), {})
    assert caught.value.obj == "column b"
    deep = pa.schema([("s", pa.struct([("l", pa.large_list(kind))]))])
    with pytest.raises(SchemaError, match=r"column s\.l\[\]"):
        normalise_schema(deep, {})


def test_extension_types_that_nobody_registered_are_refused() -> None:
    field = pa.field("g", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
    for schema in ([pa.field("a", pa.binary()), field], [pa.field("s", pa.struct([field]))]):
        with pytest.raises(SchemaError, match=r"extension type geoarrow\.wkb"):
            normalise_schema(pa.schema(schema), {})
        assert plain_schema(pa.schema(schema)).names == [f.name for f in schema]
        with pytest.raises(SchemaError, match=r"extension type geoarrow\.wkb"):
            plain_schema(pa.schema(schema), check=True)


def test_values_of_bool8_are_true_and_false() -> None:
    stored = pa.array([1, 0, None, 7], pa.int8())
    values = pa.ExtensionArray.from_storage(pa.bool8(), stored)
    batch = pa.record_batch({"a": values})
    found = conform(batch, normalise_schema(batch.schema, {}))
    assert found.column(0).to_pylist() == [True, False, None, True]


def test_uuids_become_their_texts_at_any_depth() -> None:
    values = [uuid.UUID(int=5), None, uuid.UUID(int=2**128 - 1), uuid.uuid4(), uuid.uuid4()]
    array = pa.array(values, pa.uuid())
    batch = pa.record_batch(
        {
            "u": array,
            "s": pa.StructArray.from_arrays([array], ["u"]),
            "l": pa.ListArray.from_arrays([0, 2, 2, 3, 4, 5], array),
        }
    )
    texts = [None if value is None else str(value) for value in values]
    expected = {
        "u": texts,
        "s": [{"u": text} for text in texts],
        "l": [texts[:2], [], *([text] for text in texts[2:])],
    }
    schema = normalise_schema(batch.schema, {})
    for start, count in ((0, 5), (1, 3), (1, 1), (5, 0)):
        found = conform(batch.slice(start, count), schema)
        assert found.validate(full=True) is None
        assert found.to_pydict() == {n: v[start : start + count] for n, v in expected.items()}


def test_uuids_come_for_a_column_of_bytes_as_bytes_only() -> None:
    field = pa.field("u", pa.uuid())
    assert known_type(field, pa.string()) == field.type
    for arriving, known in ((field, pa.binary()), (_struct(field), _struct_of(pa.binary()))):
        with pytest.raises(SchemaError, match=r"column u: is binary in the table, and UUIDs came"):
            known_type(arriving, known)


def _struct(field: pa.Field) -> pa.Field:
    return pa.field("s", pa.struct([field]))


def _struct_of(kind: pa.DataType) -> pa.DataType:
    return _struct(pa.field("u", kind)).type


def test_times_with_a_zone_do_not_fit_a_column_without() -> None:
    batch = pa.record_batch({"t": pa.array([1], pa.timestamp("us", "UTC"))})
    with pytest.raises(SchemaError, match="column t: .*timestamp"):
        conform(batch, pa.schema([("t", pa.timestamp("us"))]))


def test_nanoseconds_that_have_no_room_name_the_option() -> None:
    for zone in (None, "UTC"):
        batch = pa.record_batch({"t": pa.array([1_000, 1], pa.timestamp("ns", zone))})
        schema = normalise_schema(batch.schema, {})
        with pytest.raises(SchemaError, match=r"does not fit.*hoodoo\.nanoseconds=TRUNCATE"):
            conform(batch, schema)
        assert conform(batch.slice(0, 1), schema).num_rows == 1


def test_naive_timestamps_when_the_table_says_how_to_read_them() -> None:
    batch = pa.record_batch({"t": pa.array([datetime(2024, 5, 6, 7)], pa.timestamp("us"))})
    schema = normalise_schema(batch.schema, {"hoodoo.naive.timestamps": "utc"})
    assert conform(batch, schema).to_pydict() == {
        "t": [datetime(2024, 5, 6, 7, tzinfo=timezone.utc)]
    }
    with pytest.raises(ConfigError, match=r"hoodoo\.naive\.timestamps"):
        normalise_schema(batch.schema, {"hoodoo.naive.timestamps": "local"})


@pytest.mark.parametrize("name", ["", "1a", "a b", "a.b", "a-b"])
def test_names_avro_does_not_allow(name: str) -> None:
    with pytest.raises(SchemaError, match="Rename it"):
        normalise_schema(pa.schema([(name, pa.int32())]), {})
    with pytest.raises(SchemaError, match=r"'s\."):
        normalise_schema(pa.schema([("s", pa.struct([(name, pa.int32())]))]), {})


@pytest.mark.parametrize(
    ("one", "two", "rule"), [("id", "ID", "upper from lower"), ("a", "a", "is there twice")]
)
def test_names_that_spark_does_not_tell_apart(one: str, two: str, rule: str) -> None:
    kind = [pa.field(one, pa.int32()), pa.field(two, pa.int32())]
    with pytest.raises(SchemaError, match=rule):
        normalise_schema(pa.schema(kind), {})
    with pytest.raises(SchemaError, match=rule):
        normalise_schema(pa.schema([("s", pa.struct(kind))]), {})


def test_hudis_own_columns() -> None:
    fields = [
        ("a", pa.int32()),
        ("_hoodie_is_deleted", pa.bool_()),
        ("_hoodie_operation", pa.string()),
    ]
    schema = with_meta(pa.schema(fields))
    assert normalise_schema(schema, {}).names == ["a", "_hoodie_is_deleted", "_hoodie_operation"]
    with pytest.raises(SchemaError, match="reserved"):
        normalise_schema(pa.schema([("_hoodie_secret", pa.int32())]), {})


# --- conform ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array(["a", None, "b"], pa.string_view()), pa.string()),
        (pa.array([b"a", None, b"b"], pa.binary_view()), pa.binary()),
        (pa.array([1, None, 2**40]), pa.int32()),  # no row has the large one
        (pa.array([1.0, None, 1.5]), pa.int64()),  # nor the fraction
    ],
)
def test_dictionaries_of_views_and_of_values_that_no_row_has(
    values: pa.Array, kind: pa.DataType
) -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0], pa.uint8()), values)
    found = conform(pa.record_batch({"a": coded}), pa.schema([("a", kind)]))
    first = values[0].as_py()
    assert found.schema.field("a").type == kind
    assert found.column("a").to_pylist() == [first, None, None, first]


def test_an_equal_batch_is_handed_through() -> None:
    batch = pa.record_batch({"a": [1, 2], "b": ["x", "y"]})
    assert conform(batch, batch.schema) is batch
    moved = conform(batch, pa.schema([batch.schema.field("b"), batch.schema.field("a")]))
    assert moved.column(0).buffers()[2].address == batch.column(1).buffers()[2].address


def test_columns_by_name_missing_ones_null_meta_dropped() -> None:
    batch = pa.record_batch({"_hoodie_file_name": ["f"], "b": pa.array([1], pa.int32())})
    schema = pa.schema([("a", pa.list_(pa.int32())), ("b", pa.int64())])
    assert conform(batch, schema).to_pydict() == {"a": [None], "b": [1]}
    assert conform(batch, schema).schema.equals(schema, check_metadata=True)


def test_extra_columns() -> None:
    batch = pa.record_batch({"a": [1], "b": [2]})
    schema = pa.schema([("a", pa.int64())])
    with pytest.raises(SchemaError, match="column b"):
        conform(batch, schema)
    assert conform(batch, schema, drop_extra=True).to_pydict() == {"a": [1]}
    assert conform(batch, pa.schema([]), drop_extra=True).num_rows == 1


def test_nested_fields_are_added_and_cast_at_every_depth() -> None:
    old = pa.struct([("x", pa.int32()), ("l", pa.list_(pa.struct([("y", pa.int32())])))])
    new = pa.struct(
        [
            ("l", pa.list_(pa.struct([("n", pa.string()), ("y", pa.float64())]))),
            ("x", pa.int64()),
            ("m", pa.map_(pa.string(), pa.int32())),
        ]
    )
    rows = [{"x": 1, "l": [{"y": 2}, None]}, None, {"x": None, "l": None}, {"x": 3, "l": []}]
    maps = [[("k", {"x": 5, "l": [{"y": 6}]})], None, [], [("k", None), ("j", rows[0])]]
    batch = pa.record_batch(
        [pa.array(rows, old), pa.array(maps, pa.map_(pa.string(), old))], ["s", "m"]
    )
    schema = pa.schema([("s", new), ("m", pa.map_(pa.string(), new))])

    def grown(row: dict[str, object] | None) -> dict[str, object] | None:
        if row is None:
            return None
        items = row["l"]
        made = None if items is None else [i and {"n": None, "y": float(i["y"])} for i in items]
        return {"l": made, "x": row["x"], "m": None}

    for start, count in ((0, 4), (1, 3), (2, 1), (3, 1), (4, 0)):
        found = conform(batch.slice(start, count), schema)
        found.validate(full=True)
        assert found.schema.equals(schema, check_metadata=True)
        assert found.column(0).to_pylist() == [grown(r) for r in rows][start : start + count]
        expected = [m and [(k, grown(v)) for k, v in m] for m in maps]
        assert found.column(1).to_pylist() == expected[start : start + count]


MISFITS = [
    (pa.array([2**31]), pa.int32(), "int64 does not fit the table's int32"),
    (pa.array([2**53 + 1]), pa.float64(), "does not fit"),
    (pa.array([1], pa.timestamp("ns", "UTC")), US, "does not fit"),
    (pa.array([b"\xff"]), pa.string(), "does not fit"),
    (pa.array([decimal.Decimal("123.45")]), pa.decimal128(4, 2), "does not fit"),
    (pa.array([decimal.Decimal("1.45")]), pa.decimal128(4, 1), "does not fit"),
    (pa.array([1.5]), pa.float32(), "type is float, the incoming one is double"),
    (pa.array(["1"]), pa.int32(), "type is int32, the incoming one is string"),
    (pa.array([1]), pa.string(), "type is string, the incoming one is int64"),
    (pa.array([1]), US, "type is timestamp"),
    (pa.array([[1]]), pa.int32(), "the incoming one is list"),
    (pa.array([1]), pa.list_(pa.int32()), "type is list"),
]


@pytest.mark.parametrize(("array", "kind", "words"), MISFITS, ids=[str(k) for _, k, _ in MISFITS])
def test_values_and_types_that_do_not_fit(array: pa.Array, kind: pa.DataType, words: str) -> None:
    with pytest.raises(SchemaError, match=words) as caught:
        conform(pa.record_batch([array], ["a"]), pa.schema([("a", kind)]))
    assert caught.value.obj == "column a"
    deep = pa.StructArray.from_arrays([array], ["x"])
    with pytest.raises(SchemaError, match=words) as caught:
        conform(pa.record_batch([deep], ["a"]), pa.schema([("a", pa.struct([("x", kind)]))]))
    assert caught.value.obj == "column a.x"


def test_nulls_where_the_table_has_none() -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    assert conform(pa.record_batch({"a": [1]}), schema).schema.equals(schema)
    with pytest.raises(SchemaError, match="1 rows are null"):
        conform(pa.record_batch({"a": [1, None]}), schema)
    with pytest.raises(SchemaError, match="the rows lack it"):
        conform(pa.record_batch({"b": [1]}), schema, drop_extra=True)


def test_a_field_without_nulls_in_a_struct_that_is_null() -> None:
    kind = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    loose = pa.struct([pa.field("x", pa.int32())])
    batch = pa.record_batch([pa.array([{"x": 1}, None], loose)], ["s"])
    found = conform(batch, pa.schema([("s", kind)]))
    found.validate(full=True)
    assert found.to_pydict() == {"s": [{"x": 1}, None]}


def test_a_struct_may_not_lose_a_field() -> None:
    batch = pa.record_batch([pa.array([{"x": 1, "y": 2}])], ["s"])
    with pytest.raises(SchemaError, match=r"column s\.y"):
        conform(batch, pa.schema([("s", pa.struct([("x", pa.int64())]))]))


VALUES = st.recursive(
    st.sampled_from([(pa.int32(), pa.int64(), st.integers(-5, 5))]),
    lambda inner: st.one_of(
        inner.map(
            lambda t: (pa.large_list(t[0]), pa.list_(t[1]), st.lists(st.none() | t[2], max_size=3))
        ),
        inner.map(
            lambda t: (
                pa.struct([("x", t[0])]),
                pa.struct([("x", t[1])]),
                st.fixed_dictionaries({"x": st.none() | t[2]}),
            )
        ),
        inner.map(
            lambda t: (
                pa.map_(pa.large_string(), t[0]),
                pa.map_(pa.string(), t[1]),
                st.lists(st.tuples(st.text("ab", max_size=2), st.none() | t[2]), max_size=2),
            )
        ),
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_nesting_keeps_its_values_in_any_slice(data: st.DataObject) -> None:
    before, after, values = data.draw(VALUES)
    rows = data.draw(st.lists(st.none() | values, max_size=6))
    start = data.draw(st.integers(0, len(rows)))
    batch = pa.record_batch([pa.array(rows, before)], ["a"]).slice(start)
    schema = pa.schema([("a", after)])
    assert normalise_schema(pa.schema([("a", after)]), {}).equals(plain_schema(schema))
    found = conform(batch, schema)
    found.validate(full=True)
    assert found.schema.equals(schema, check_metadata=True)
    assert found.column(0).to_pylist() == rows[start:]


def test_the_plain_form_is_found_again_whatever_a_footer_says() -> None:
    """Each file has a filter of its own there: with it, no schema was ever the one before."""
    schema = pa.schema([pa.field("a", pa.large_string(), metadata={"id": "1"})])
    one, other = (plain_schema(schema.with_metadata({"filter": text})) for text in "xy")
    assert one is other and one.field("a").type == pa.string()
    assert one.metadata is None and one.field("a").metadata is None


def test_schemas_of_golden_tables_stay() -> None:
    """What Spark Hudi stores is what arrives: the columns of its files, without those of Hudi."""
    assert ZIPS, f"no golden tables in {GOLDEN}"
    compared = 0
    for archive in ZIPS:
        with zipfile.ZipFile(archive) as unzip:
            names = [n for n in unzip.namelist() if n.endswith(".parquet") and "__MACOSX" not in n]
            for file in (name for name in names if "/.hoodie/" not in name):
                footer = pq.ParquetFile(pa.BufferReader(unzip.read(file))).metadata.metadata
                if (text := footer.get(b"parquet.avro.schema")) is not None:
                    stored = arrow_schema(text)
                    assert normalise_schema(stored, {}).equals(pa.schema(list(stored)[5:])), file
                    compared += 1
    assert compared
