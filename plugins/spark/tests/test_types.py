"""Spark types to Arrow and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import SchemaError
from hoodoo.testing.samples import nested

pytestmark = pytest.mark.spark


def test_there_and_back() -> None:
    from hoodoo_spark.types import arrow_schema, spark_schema

    schema = nested(0).schema.remove(nested(0).schema.get_field_index("large"))
    assert [f.type for f in arrow_schema(spark_schema(schema))] == [f.type for f in schema]


def test_as_pyspark_does_it(spark: Any) -> None:
    from hoodoo_spark.types import arrow_schema
    from pyspark.sql.pandas.types import to_arrow_schema

    struct = spark.sql(
        "select 1 a, 2L b, cast(3 as short) c, cast(4 as byte) d, true e, 1.5f f, 2.5d g, 'x' h, "
        "x'00' i, date'2020-01-01' j, cast(1.5 as decimal(9, 3)) l, array(1) m, "
        "map('a', array(1)) n, named_struct('a', 1, 'b', 'x') o, interval '1' second p, null q"
    ).schema
    ours, theirs = arrow_schema(struct), to_arrow_schema(struct)
    assert ours.names == theirs.names
    assert [f.nullable for f in ours] == [f.nullable for f in theirs]
    for a, b in zip(ours, theirs):
        assert a.type.equals(b.type), a.name


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("select 1 a, 2 a", "column 'a': is there twice"),
        ("select 1 x, array(named_struct('b', make_interval(1))) a", r"column 'a\[\].b'|interval"),
    ],
)
def test_refused(spark: Any, engine: Any, sql: str, wanted: str) -> None:
    with pytest.raises(SchemaError, match=wanted):
        engine.source(spark.sql(sql))


@pytest.mark.parametrize(
    ("name", "fix"),
    [("DayTimeIntervalType", "Cast it to int64"), ("NullType", "Give it a type")],
)
def test_types_that_tables_lack_are_refused_with_what_to_do(
    name: str, fix: str, tmp_path: Path
) -> None:
    import hoodoo
    from pyspark.sql import types as T

    struct = T.StructType().add("id", T.LongType()).add("v", getattr(T, name)())
    with pytest.raises(SchemaError, match=f"column v: .*{fix}"):
        hoodoo.create(str(tmp_path / "t"), struct, record_key="id")


def test_timestamps_without_a_zone_are_themselves(tmp_path: Path) -> None:
    import hoodoo
    from hoodoo_spark.types import spark_schema
    from pyspark.sql import types as T

    struct = T.StructType().add("id", T.LongType()).add("v", T.TimestampNTZType())
    table = hoodoo.create(str(tmp_path / "t"), struct, record_key="id")
    assert spark_schema(table.schema)["v"].dataType == T.TimestampNTZType()


def test_narrow_integers_are_ints_in_the_table(tmp_path: Path) -> None:
    """Hudi's schemas have none that are narrower; Spark Hudi gives them back as ints, too."""
    import hoodoo
    from hoodoo_spark.types import spark_schema
    from pyspark.sql import types as T

    struct = T.StructType().add("id", T.LongType()).add("a", T.ByteType()).add("b", T.ShortType())
    table = hoodoo.create(str(tmp_path / "t"), struct, record_key="id")
    assert [f.dataType.simpleString() for f in spark_schema(table.schema)] == [
        "bigint",
        "int",
        "int",
    ]


def test_texts_of_a_collation_are_plain_texts() -> None:
    """A collation is of comparisons in Spark. Spark itself writes such a column into one of plain STRING as it is."""
    from hoodoo_spark.types import arrow_schema
    from pyspark.sql.types import ArrayType, StringType, StructType

    try:
        lower = StringType("UTF8_LCASE")
    except TypeError:
        pytest.skip("this PySpark has no collations")
    found = arrow_schema(StructType().add("s", lower).add("a", ArrayType(lower)))
    assert found.field("s").type == pa.string()
    assert found.field("a").type.value_type == pa.string()


def test_what_has_no_type_yet() -> None:
    """``array()`` and ``map()`` say of their nulls that there are none."""
    from hoodoo_spark.types import arrow_schema
    from pyspark.sql.types import ArrayType, MapType, NullType, StringType, StructField, StructType

    def arrow(kind: Any) -> pa.DataType:
        return arrow_schema(StructType([StructField("v", kind)])).field("v").type

    assert arrow(ArrayType(NullType(), False)) == pa.list_(pa.field("element", pa.null()))
    assert arrow(MapType(StringType(), NullType(), False)).item_type == pa.null()
    with pytest.raises(SchemaError, match=r"column 'v'.*map<void.*CAST"):
        arrow(MapType(NullType(), NullType(), False))


def test_types_that_spark_lacks() -> None:
    from hoodoo_spark.types import spark_schema

    with pytest.raises(SchemaError, match="uint64"):
        spark_schema(pa.schema([("a", pa.uint64())]))


def test_a_frame_of_every_type(spark: Any, engine: Any) -> None:
    """The values of a DataFrame come through, and back out as a DataFrame."""
    from hoodoo_rows.testing import engine_steps as steps
    from hoodoo_spark.native_read import arrow_scan
    from hoodoo_spark.sources import DecodeRows, _stream

    table = nested(30).drop_columns(["large", "nothing"])
    payload = _stream(table.schema, table.to_batches())
    frame = arrow_scan(spark, [payload], DecodeRows(table.schema))
    stream = engine.map(engine.source(frame), steps.Reversed(engine.source(frame).schema))
    found = engine.collect(stream)
    assert [f.type for f in found.schema] == [f.type for f in table.schema]
    assert found.to_pylist() == table.to_pylist()


DEEP = pa.list_(
    pa.field("element", pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.string())))]))
)


def without_offsets(kind: pa.DataType) -> pa.Array:
    """An array of no elements as PySpark 3.5's Java library makes it."""
    if pa.types.is_struct(kind):
        children = [without_offsets(kind.field(i).type) for i in range(kind.num_fields)]
        return pa.Array.from_buffers(kind, 0, [None], children=children)
    if pa.types.is_map(kind):
        pairs = pa.struct([pa.field("key", kind.key_type, False), kind.item_field])
        return pa.Array.from_buffers(kind, 0, [None, None], children=[without_offsets(pairs)])
    if pa.types.is_list(kind):
        child = without_offsets(kind.value_type)
        return pa.Array.from_buffers(kind, 0, [None, None], children=[child])
    return pa.Array.from_buffers(kind, 0, [None, None, pa.py_buffer(b"")])


def test_empty_children_without_offsets() -> None:
    """Not used as they are: that would end the process."""
    from hoodoo_spark.shape import sound

    offsets = pa.array([0, 0, 0, 0], pa.int32()).buffers()[1]
    child = without_offsets(DEEP.value_type)
    array = pa.Array.from_buffers(DEEP, 3, [pa.py_buffer(b"\x02"), offsets], 2, children=[child])
    found = sound(array)
    found.validate(full=True)
    assert found.to_pylist() == [None, [], None] and found.type == DEEP
    lists = found.values.field(0)
    assert all(buffer is not None for buffer in (lists.buffers()[1], lists.items.buffers()[1]))
    struct = pa.StructArray.from_arrays([array, pa.array([1, 2, 3])], ["a", "b"])
    assert sound(struct).to_pylist()[1] == {"a": [], "b": 2}
    whole = pa.array([None, [{"m": [("k", ["v"])]}]], DEEP)
    assert sound(whole) is whole


@pytest.mark.sampled(1, among="long")
def test_a_frame_whose_lists_are_all_null(spark: Any, engine: Any) -> None:
    from hoodoo_rows.testing import engine_steps as steps

    rows = "array<struct<m:map<string,array<string>>,s:struct<x:string,y:array<int>>>>"
    frame = spark.range(3).selectExpr("id AS key", f"cast(null AS {rows}) AS deep")
    stream = engine.source(frame)
    stream = engine.map(stream, steps.Route(stream.schema, 2, 1))
    found = engine.collect(engine.exchange(stream, 2))
    assert found.column("deep").to_pylist() == [None] * 3


def test_short_batches_become_longer_ones() -> None:
    from hoodoo_spark.shape import gathered

    table = pa.table({"a": range(200_000), "b": [f"x{i}" for i in range(200_000)]})
    short = table.to_batches(max_chunksize=10_000)
    found = list(gathered(iter([*short, short[0].slice(0, 0)])))
    assert [b.num_rows for b in found] == [70_000, 70_000, 60_000]
    assert pa.Table.from_batches(found).equals(table)
    assert [b.num_rows for b in gathered(iter([]))] == []
