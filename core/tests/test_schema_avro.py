"""Avro schema text: round trips, and byte for byte what Spark Hudi wrote."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastavro.schema import parse_schema
from hoodoo.errors import SchemaError
from hoodoo.kernel.registry import kernel
from hoodoo.model.meta import with_meta
from hoodoo.model.schema import logical
from hoodoo.model.schema.avro import arrow_schema, avro_text, decimal_bytes, record_name
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data"))
ZIPS = sorted((GOLDEN / "tables").glob("*.zip"))

LEAVES = st.one_of(
    st.sampled_from(
        [
            pa.bool_(),
            pa.int32(),
            pa.int64(),
            pa.float32(),
            pa.float64(),
            pa.string(),
            pa.binary(),
            pa.date32(),
            pa.time32("ms"),
            pa.time64("us"),
            pa.timestamp("ms", "UTC"),
            pa.timestamp("us", "UTC"),
        ]
    ),
    st.integers(1, 38).flatmap(
        lambda p: st.integers(0, p).map(lambda scale: pa.decimal128(p, scale))
    ),
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True)


def fields(types: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[list[pa.Field]]:
    field = st.builds(pa.field, NAMES, types, nullable=st.booleans())
    return st.lists(field, min_size=1, max_size=4, unique_by=lambda f: f.name.lower())


TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(
            lambda kind, nullable: pa.list_(pa.field("element", kind, nullable)),
            inner,
            st.booleans(),
        ),
        st.builds(
            lambda kind, nullable: pa.map_(pa.string(), pa.field("value", kind, nullable)),
            inner,
            st.booleans(),
        ),
        fields(inner).map(pa.struct),
    ),
    max_leaves=8,
)
SCHEMAS = fields(TYPES).map(pa.schema)


@settings(max_examples=150, deadline=None)
@given(SCHEMAS)
def test_round_trip(schema: pa.Schema) -> None:
    text = avro_text(schema, "trips")
    assert arrow_schema(text).equals(schema, check_metadata=True)
    parse_schema(json.loads(text))  # legal Avro: no name is defined twice
    assert "\n" not in text


@settings(max_examples=50, deadline=None)
@given(SCHEMAS)
def test_meta_columns_in_front(schema: pa.Schema) -> None:
    text = avro_text(schema, "trips", meta=True)
    assert arrow_schema(text).equals(with_meta(schema))
    assert avro_text(with_meta(schema), "trips") == text


def test_names_as_spark_hudi_makes_them() -> None:
    inner = pa.struct([("d", pa.decimal128(10, 5))])
    schema = pa.schema(
        [("id", pa.int32()), ("l", pa.list_(inner)), ("s", pa.struct([("t", inner)]))]
    )
    assert avro_text(schema, "t1") == (
        '{"type":"record","name":"t1_record","namespace":"hoodie.t1","fields":['
        '{"name":"id","type":["null","int"],"default":null},'
        '{"name":"l","type":["null",{"type":"array","items":["null",{"type":"record","name":"l",'
        '"namespace":"hoodie.t1.t1_record","fields":[{"name":"d","type":["null",{"type":"fixed",'
        '"name":"fixed","namespace":"hoodie.t1.t1_record.l.d","size":5,"logicalType":"decimal",'
        '"precision":10,"scale":5}],"default":null}]}]}],"default":null},'
        '{"name":"s","type":["null",{"type":"record","name":"s","namespace":"hoodie.t1.t1_record",'
        '"fields":[{"name":"t","type":["null",{"type":"record","name":"t",'
        '"namespace":"hoodie.t1.t1_record.s","fields":[{"name":"d","type":["null",{"type":"fixed",'
        '"name":"fixed","namespace":"hoodie.t1.t1_record.s.t.d","size":5,"logicalType":"decimal",'
        '"precision":10,"scale":5}],"default":null}]}],"default":null}]}],"default":null}]}'
    )


@pytest.mark.parametrize(
    ("table", "name"),
    [("trips", "trips"), ("my-table", "my__table"), ("1st", "__st"), ("a.b", "a__b"), ("é", "__")],
)
def test_table_names_that_avro_does_not_allow(table: str, name: str) -> None:
    assert record_name(table) == (f"{name}_record", f"hoodie.{name}")


@pytest.mark.parametrize(
    ("precision", "size"),
    [(1, 1), (2, 1), (3, 2), (4, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)],
)
def test_bytes_of_a_decimal(precision: int, size: int) -> None:
    assert decimal_bytes(precision) == size


def record(*types: object) -> str:
    fields = [{"name": f"c{i}", "type": kind} for i, kind in enumerate(types)]
    return json.dumps({"type": "record", "name": "r", "fields": fields})


def test_forms_that_other_writers_use() -> None:
    found = arrow_schema(
        record(
            ["string", "null"],
            "long",
            {"type": "enum", "name": "e", "symbols": ["A"]},
            {"type": "fixed", "name": "f", "size": 4},
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            "f",
            {"type": {"type": "int", "logicalType": "date"}},
            ["null", {"type": "string", "avro.java.string": "String"}],
            {"type": "int", "logicalType": "time-millis"},
            {"type": "array", "items": "int"},
        )
    )
    expected = [
        pa.field("c0", pa.string()),
        pa.field("c1", pa.int64(), nullable=False),
        pa.field("c2", pa.string(), nullable=False),
        pa.field("c3", pa.binary(), nullable=False),
        pa.field("c4", pa.decimal128(9, 2), nullable=False),
        pa.field("c5", pa.binary(), nullable=False),
        pa.field("c6", pa.date32(), nullable=False),
        pa.field("c7", pa.string()),
        pa.field("c8", pa.time32("ms"), nullable=False),
        pa.field("c9", pa.list_(pa.field("element", pa.int32(), nullable=False)), nullable=False),
    ]
    assert found.equals(pa.schema(expected))


# As Spark Hudi 1.2 writes them: what Avro finds beneath is not what a column of such a type holds.
VECTOR = {
    "type": "fixed", "name": "vector_float_3", "namespace": "", "size": 12, "logicalType": "vector",
    "dimension": 3, "elementType": "FLOAT", "storageBacking": "FIXED_BYTES",
}  # fmt: skip
VARIANT = {
    "type": "record", "name": "variant", "logicalType": "variant",
    "fields": [{"name": "metadata", "type": "bytes"}, {"name": "value", "type": "bytes"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ({"type": "long", "logicalType": "local-timestamp-nanos"}, "a type that"),
        (["null", "int", "string"], "union of 2 types"),
        (["null"], "union of 0 types"),
        ("nothing", "a type that"),
        ("r", "contains itself"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 39}, "a type that"),
        (VECTOR, "vector.*a type that"),
        (VARIANT, "variant.*a type that"),
    ],
)
def test_types_that_can_not_be_held_name_the_column(
    kind: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logical, "named", lambda name: None)  # nobody offers a logical type
    inner = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": kind}]}
    with pytest.raises(SchemaError, match=words) as caught:
        arrow_schema(record("int", inner))
    assert caught.value.obj == "column c1.x"


@pytest.mark.parametrize("text", ["", "[]", '"int"', "{"])
def test_no_record_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="commit 1"):
        arrow_schema(text, "commit 1")


@pytest.mark.parametrize("kind", [pa.int8(), pa.timestamp("ns"), pa.list_(pa.large_string())])
def test_types_avro_lacks_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="column a"):
        avro_text(pa.schema([("a", kind)]), "t")


@pytest.mark.skipif(not ZIPS, reason="no golden tables: set HOODOO_GOLDEN")
@pytest.mark.parametrize("archive", ZIPS, ids=lambda p: p.stem)
def test_golden_schemas(archive: Path) -> None:
    """Footers of Spark Hudi are written byte for byte; create schemas have the columns of commits."""
    with zipfile.ZipFile(archive) as unzip:
        (path,) = [
            n
            for n in unzip.namelist()
            if n.count("/") == 2 and n.endswith(".hoodie/hoodie.properties") and "__MACOSX" not in n
        ]
        properties = unzip.read(path).decode()
        name = re.findall(r"^hoodie.table.name=(.*)$", properties, re.M)[0]
        created = re.findall(r"^hoodie.table.create.schema=(.*)$", properties, re.M)
        if "vector" in archive.stem and not kernel().offers("logical_type"):  # core alone
            with pytest.raises(SchemaError, match="pip install hoodoo-vectors"):
                arrow_schema(re.sub(r"\\(.)", r"\1", created[0]))
            return
        if created:
            schema = arrow_schema(re.sub(r"\\(.)", r"\1", created[0]))
            assert all(field.nullable for field in schema)
            assert arrow_schema(avro_text(schema, name)).equals(schema)
        for file in unzip.namelist():
            if not file.endswith(".parquet") or "/.hoodie/" in file or "__MACOSX" in file:
                continue
            footer = pq.ParquetFile(pa.BufferReader(unzip.read(file))).metadata.metadata
            text = footer.get(b"parquet.avro.schema")
            if text is not None:
                stored = arrow_schema(text)
                assert (
                    avro_text(stored, json.loads(text)["namespace"][len("hoodie.") :])
                    == text.decode()
                )
