"""Spark types to Arrow and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import SchemaError
from hoodoo.testing.contracts.engine import nested

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


def test_types_that_spark_lacks() -> None:
    from hoodoo_spark.types import spark_schema

    with pytest.raises(SchemaError, match="uint64"):
        spark_schema(pa.schema([("a", pa.uint64())]))


def test_a_frame_of_every_type(spark: Any, engine: Any) -> None:
    """The values of a DataFrame come through, and back out as a DataFrame."""
    from hoodoo.testing import engine_steps as steps
    from hoodoo_spark.native_read import arrow_scan
    from hoodoo_spark.sources import DecodeRows, _stream

    table = nested(30).drop_columns(["large", "nothing"])
    payload = _stream(table.schema, table.to_batches())
    frame = arrow_scan(spark, [payload], DecodeRows(table.schema))
    stream = engine.map(engine.source(frame), steps.Reversed(engine.source(frame).schema))
    found = engine.collect(stream)
    assert [f.type for f in found.schema] == [f.type for f in table.schema]
    assert found.to_pylist() == table.to_pylist()
