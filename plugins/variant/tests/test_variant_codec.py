"""Variants as Python objects and JSON text, beside the encoders of PySpark and DuckDB."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo_variant.arrow import variants
from hoodoo_variant.decode import decode, to_json
from hoodoo_variant.encode import EMPTY, MAX_DEPTH, VariantError, encode, encode_json
from hoodoo_variant.shredded import unshredded
from hoodoo_variant.wellformed import wrong
from hypothesis import given, settings
from hypothesis import strategies as st

UTC = dt.timezone.utc
VALUES: list[Any] = [
    None, True, False, 0, -1, 127, 128, -129, 32_768, 2**31, 2**62, -(2**63), 2**63, -(10**37), 0.0, 1.5, float("inf"),
    Decimal("1.50"), Decimal("-0.001"), Decimal("1E-38"), Decimal("12345678901.5"), Decimal("1" * 38), "", "a" * 63, "a" * 64, "é" * 40,
    b"", b"ab", dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.datetime(2024, 1, 2, 3, 4, 5, 6), dt.datetime(1, 1, 1, tzinfo=UTC),
    dt.time(23, 59, 59, 999_999), uuid.UUID(int=5), [], {}, [[], {}], {"b": 1, "a": [1, {"c": None, "a": "x"}]}, list(range(300)),
    {f"k{i}": i for i in range(300)}, ["x" * 70_000], {"é" * 100: 1, "z": 2, "𝕏": 3, "\uffff": 4},
]  # fmt: skip
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**37), 10**37),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
)
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value!r:.30}")
def test_python_objects_come_back(value: Any) -> None:
    metadata, encoded = encode(value)
    found = decode(metadata, encoded)
    assert found == value
    assert type(found) is (
        Decimal
        if isinstance(value, int) and abs(value) >= 2**63 and value != -(2**63)
        else type(value)
    )
    assert wrong(pa.array([metadata]), pa.array([encoded])) is None


def test_the_arrow_type_is_equal_to_itself_in_tables_of_types() -> None:
    assert {variants([1]).type: 1}[variants([2]).type] == 1


def test_objects_that_mean_others() -> None:
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert decode(*encode(moment)) == moment
    assert decode(*encode((1, np.int8(2), np.float32(0.5)))) == [1, 2, 0.5]
    assert decode(*encode(np.array([1, 2]))) == [1, 2]
    assert decode(*encode(Decimal("1E+3"))) == 1000
    assert decode(*encode(bytearray(b"x"))) == b"x"
    nan = decode(*encode(float("nan")))
    assert nan != nan


@given(TREES)
@settings(deadline=None, max_examples=60)
def test_trees_come_back_and_are_the_bytes_of_pyspark(value: Any) -> None:
    utils = pytest.importorskip("pyspark.sql.variant_utils").VariantUtils
    assert decode(*encode(value)) == value
    text = json.dumps(value)
    metadata, encoded = encode_json(text)
    assert utils.parse_json(text) == (encoded, metadata)
    # Not compared with its to_python, which rounds to 28 digits.
    assert json.loads(to_json(metadata, encoded)) == value


def test_duckdb_reads_what_is_encoded_and_encodes_what_is_read() -> None:
    # Times with nanoseconds it reads, and does not write; infinity it writes otherwise in JSON.
    rows = [encode(value) for value in VALUES[1:]]
    fields = [pa.field(name, pa.binary(), False) for name in ("metadata", "value")]
    column = pa.StructArray.from_arrays(
        [pa.array([row[i] for row in rows], pa.binary()) for i in range(2)], fields=fields
    )
    mark = {"ARROW:extension:name": "arrow.parquet.variant", "ARROW:extension:metadata": ""}
    table = pa.table([column], schema=pa.schema([pa.field("v", column.type, metadata=mark)]))
    assert [row[0] for row in duckdb.from_arrow(table).fetchall()] == VALUES[1:]
    back = duckdb.from_arrow(table).to_arrow_table()["v"]
    assert variants(back).to_pylist() == VALUES[1:]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a":', "it is no JSON"),
        ("", "it is no JSON"),
        ("abc", "it is no JSON"),
        ("[1] 2", "it is no JSON"),
        (b'"\xff"', "it is no JSON in UTF-8"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' twice"),
        ("[NaN]", "NaN is no number of JSON"),
        ("-1e400", "is beyond a double"),
        ('"\\ud800"', "is not Unicode"),
        ('{"\\udc00": 1}', "is not Unicode"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "within each other"),
        ("[" * 100_000, "within each other"),
    ],
)
def test_bad_json_is_refused(text: str, why: str) -> None:
    with pytest.raises(VariantError, match=why) as raised:
        encode_json(text)
    assert raised.value.fix


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (range(2), "of type range"),
        (dt.timedelta(1), "of type timedelta"),
        (1j, "of type complex"),
        ({1: 2}, "the key 1 is no text"),
        (10**38, "more than 38 digits"),
        (Decimal("1E-39"), "more than 38 digits"),
        (Decimal("NaN"), "is no number"),
        (dt.time(1, tzinfo=UTC), "has a time zone"),
        ("x" * (1 << 24), "readers take 16,777,216"),
    ],
    ids=lambda value: f"{value!r:.30}",
)
def test_objects_that_no_variant_holds_are_refused(value: Any, why: str) -> None:
    with pytest.raises(VariantError, match=why) as raised:
        encode(value)
    assert raised.value.fix


def test_deep_objects_are_refused_and_less_deep_ones_are_not() -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = {"a": value}
    assert decode(*encode(value)) == value
    with pytest.raises(VariantError, match="within each other"):
        encode([value])
    deep = b"\x03\x01\x00" + bytes([2]) + b"\x03\x00\x00"
    assert decode(EMPTY, deep[:3] + b"\x03" + deep[4:]) == [[]]
    metadata, encoded = EMPTY, b"\x00"
    for _ in range(MAX_DEPTH + 1):
        size = len(encoded).to_bytes(2, "little")
        encoded = b"\x07\x01\x00\x00" + size + encoded
    with pytest.raises(VariantError, match="within each other"):
        decode(metadata, encoded)


def test_bytes_that_are_no_variant_are_refused() -> None:
    for value in VALUES:
        metadata, encoded = encode(value)
        for cut in {*range(min(len(encoded), 30)), len(encoded) - 1}:
            assert wrong(pa.array([metadata]), pa.array([encoded[:cut]])), (value, cut)
            with pytest.raises(VariantError):
                decode(metadata, encoded[:cut])
        for cut in {*range(min(len(metadata), 30)), len(metadata) - 1}:
            assert wrong(pa.array([metadata[:cut]]), pa.array([encoded])), (value, cut)
    good = pa.array([EMPTY] * 3)
    assert wrong(good, pa.array([b"\x00", b"\xf0", b"\x00"])) == (
        1,
        "has a value of a type that is not known",
    )
    bad = pa.array([EMPTY, EMPTY, b"\x02\x00\x00"])
    found = wrong(bad, pa.array([b"\x00"] * 3))
    assert found == (2, "has metadata of another version than 1")
    assert wrong(good.slice(1), pa.array([b"\xf0", b"\x00", b"\x00"]).slice(1)) is None
    assert wrong(good.slice(3), good.slice(3)) is None


@given(st.binary(max_size=30), st.binary(max_size=30))
@settings(deadline=None)
def test_any_bytes_are_decoded_or_refused(metadata: bytes, value: bytes) -> None:
    wrong(pa.array([metadata]), pa.array([value]))
    try:
        to_json(metadata, value)
    except VariantError as error:
        assert error.fix


def test_json_text_of_what_json_lacks() -> None:
    value = {
        "b": b"ab", "d": Decimal("1.10"), "f": [float("nan"), float("-inf")], "m": dt.datetime(2024, 1, 2, tzinfo=UTC), "q": 'a"\n',
    }  # fmt: skip
    assert to_json(*encode(value)) == (
        '{"b":"YWI=","d":1.10,"f":["NaN","-Infinity"],"m":"2024-01-02 00:00:00+00:00","q":"a\\"\\n"}'
    )


def test_times_that_datetime_lacks_are_numpys() -> None:
    assert decode(EMPTY, b"\x4c" + (1001).to_bytes(8, "little")) == np.datetime64(1001, "ns")
    assert decode(EMPTY, b"\x48" + (1000).to_bytes(8, "little")) == dt.datetime(
        1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC
    )
    assert decode(EMPTY, b"\x2c" + (10_000_000).to_bytes(4, "little")) == np.datetime64(10**7, "D")


@pytest.mark.parametrize(
    "shape",
    ["STRUCT(a INTEGER, b VARCHAR, c INTEGER[], o STRUCT(p DECIMAL(9, 2), q VARCHAR))", "STRUCT(a DOUBLE, b TIMESTAMP)", "BIGINT[]", "UUID"],
)  # fmt: skip
def test_shredded_files_are_read(tmp_path: Path, shape: str) -> None:
    texts = [
        '{"a":1,"b":"x","c":[1,2],"o":{"p":1.5,"q":"z"}}', '{"a":"no","z":null}', '{"a":null,"o":7}', "[1,2]", "3", "{}",
        '{"b":"y","c":["s",null],"o":{"extra":[1],"q":"z"}}', '{"a":2,"c":[]}',
    ]  # fmt: skip
    rows = pa.table({"j": texts})
    connection = duckdb.connect()
    connection.register("rows", rows)
    path = tmp_path / "s.parquet"
    connection.execute(
        f"COPY (SELECT j::JSON::VARIANT AS v FROM rows) TO '{path}' (SHREDDING {{'v': '{shape}'}})"
    )
    column = pq.read_table(path)["v"].combine_chunks()
    column = column.storage if isinstance(column, pa.ExtensionArray) else column
    assert "typed_value" in [field.name for field in column.type]
    for start, length in ((0, 8), (2, 4)):
        metadata, values = unshredded(column.slice(start, length))
        found = map(to_json, metadata.to_pylist(), values.to_pylist())
        assert list(found) == texts[start : start + length]


def test_all_types_of_shredded_columns() -> None:
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, 6)
    columns: list[tuple[pa.DataType, Any]] = [
        (pa.bool_(), True), (pa.int8(), 1), (pa.int16(), 2), (pa.int32(), 3), (pa.int64(), 4), (pa.float32(), 0.5), (pa.float64(), 0.1),
        (pa.decimal128(9, 2), Decimal("-1.25")), (pa.decimal128(18, 2), Decimal("1.25")), (pa.decimal128(38, 2), Decimal("1.25")), (pa.date32(), moment.date()),
        (pa.time64("us"), moment.time()), (pa.timestamp("us", "UTC"), moment.replace(tzinfo=UTC)), (pa.timestamp("us"), moment), (pa.timestamp("ns"), moment),
        (pa.timestamp("ns", "UTC"), moment.replace(tzinfo=UTC)), (pa.binary(), b"x"), (pa.string(), "é"), (pa.binary(16), uuid.UUID(int=5)),
    ]  # fmt: skip
    for kind, value in columns:
        plain = value.bytes if isinstance(value, uuid.UUID) else value
        typed = pa.array([None, plain, plain], kind)
        array = pa.StructArray.from_arrays(
            [pa.array([EMPTY] * 3), pa.array([b"\x00", None, None]), typed],
            ["metadata", "value", "typed_value"],
        ).slice(1)
        metadata, values = unshredded(array)
        assert decode(metadata[0].as_py(), values[1].as_py()) == value, kind
        assert values[0] == values[1]


def test_shredded_columns_that_are_wrong_are_refused() -> None:
    field = pa.StructArray.from_arrays([pa.array([1], pa.int32())], ["typed_value"])
    typed = pa.StructArray.from_arrays([field], ["a"])

    def rows(metadata: bytes, value: bytes | None, typed: pa.Array) -> pa.Array:
        columns = [pa.array([metadata]), pa.array([value], pa.binary()), typed]
        return pa.StructArray.from_arrays(columns, ["metadata", "value", "typed_value"])

    with pytest.raises(VariantError, match="lack the key 'a'"):
        unshredded(rows(EMPTY, None, typed))
    with pytest.raises(VariantError, match="its value is no object"):
        unshredded(rows(encode({"a": 1})[0], encode([1])[1], typed))
    with pytest.raises(VariantError, match="uint8, which variants lack"):
        unshredded(rows(EMPTY, None, pa.array([1], pa.uint8())))
