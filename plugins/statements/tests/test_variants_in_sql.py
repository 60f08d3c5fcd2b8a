"""Paths within variants in queries, conditions and statements."""

from __future__ import annotations

import pickle
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError, DataError, SchemaError

VALUES: list[Any] = [
    {"a": {"b": 5}, "l": [1, 2.5, "x"], "x y": {"z'": 1}},
    None,
    {"a": {"b": "7"}, "f": -1.7, "d": Decimal("-2.50"), "o": True, "big": 2**40, "t": "2024-01-02"},
    [10, {"a": 1}],
]


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def table(request: Any, tmp_path: Path) -> Any:
    schema = pa.schema([("id", pa.int64()), ("v", hoodoo.variant())])
    table = hoodoo.create(tmp_path, schema, record_key="id", table_type=request.param)
    table.append(pa.table({"id": [0, 1, 2, 3], "v": hoodoo.variants([0, 1, 2, 3])}))
    table.upsert(pa.table({"id": [0, 1, 2, 3], "v": hoodoo.variants(VALUES)}))
    return table


def answers(table: Any, expression: str) -> list[Any]:
    query = f"SELECT {expression} AS found FROM t ORDER BY id"
    return [row["found"] for row in hoodoo.sql(query, tables={"t": table}).to_pylist()]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("variant_get(v, '$.a.b', 'bigint')", [5, None, 7, None]),
        ("v:a.b::int", [5, None, 7, None]),
        ("t.v:a.b::string", ["5", None, "7", None]),
        ("cast(v:l[1] as double)", [2.5, None, None, None]),
        ("v:l[2]::string", ["x", None, None, None]),
        ("v:['x y'][\"z'\"]::int", [1, None, None, None]),
        ("variant_get(v, '$[1].a', 'int')", [None, None, None, 1]),
        ("v:f::int", [None, None, -1, None]),  # Spark cuts off, DuckDB rounds
        ("v:d::int", [None, None, -2, None]),
        ("v:d::decimal(5, 1)", [None, None, Decimal("-2.5"), None]),
        ("v:o::boolean", [None, None, True, None]),
        ("v:o::string", [None, None, "true", None]),
        ("cast(v:t::date as string)", [None, None, "2024-01-02", None]),
        ("v:a::string", ['{"b":5}', None, '{"b":"7"}', None]),
        ("try_variant_get(v, '$.a', 'int')", [None, None, None, None]),
        ("try_cast(v:big as int)", [None, None, None, None]),
        ("v:a.b::int > 5", [False, None, True, None]),
        ("v:a.b = 5", [True, None, False, None]),
        ("7.0 <= v:a.b", [False, None, True, None]),
        ("v:a.b = '7'", [False, None, True, None]),
        ("v:o = true", [None, None, True, None]),
        ("v:t > date('2024-01-01')", [None, None, True, None]),
        ("v:a = 1", [None, None, None, None]),  # what is no number is null
        ("v:f in (-1.7, 3)", [None, None, True, None]),
        ("v:a.b between id and 6", [True, None, False, None]),
        ("v:a", [{"b": 5}, None, {"b": "7"}, None]),
        ("variant_get(v, '$')", VALUES),
        ("to_json(v:l)", ['[1,2.5,"x"]', None, None, None]),
        ("variant_get(parse_json('{\"q\": [3]}'), '$.q[0]', 'int')", [3, 3, 3, 3]),
    ],
)
def test_values_at_paths(table: Any, expression: str, found: list[Any]) -> None:
    assert answers(table, expression) == found


def test_filters_groups_and_counts(table: Any) -> None:
    found = hoodoo.sql("SELECT count(*) AS c FROM t WHERE v:a.b::int >= 5", tables={"t": table})
    assert found.to_pylist() == [{"c": 2}]
    query = "SELECT v:o::boolean AS o, max(v:a.b::int) AS m FROM t GROUP BY v:o::boolean ORDER BY m"
    assert hoodoo.sql(query, tables={"t": table}).to_pylist() == [
        {"o": None, "m": 5},
        {"o": True, "m": 7},
    ]
    whole = hoodoo.sql("SELECT v FROM t WHERE v:a.b::int = 5", tables={"t": table})
    assert whole["v"].to_pylist() == [VALUES[0]]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("expression", "error", "why"),
    [
        ("v:l = array(1)", ConfigError, "has = between VARIANT and"),
        ("variant_get(id, '$.a')", ConfigError, "takes a VARIANT, not BIGINT"),
        ("variant_get(v, 'a')", ConfigError, "takes a path such as"),
        ("v:l[*]", ConfigError, "takes a path such as"),
        ("variant_get(v, '$.a', 'array<int>')", ConfigError, "does not give array<int>"),
        ("variant_get(v, '$.a', 'what')", ConfigError, "does not give what"),
        ("to_json(id)", ConfigError, "takes a VARIANT, not BIGINT"),
        ("parse_json(id)", ConfigError, "takes text, not BIGINT"),
        ("v:a::int", DataError, "can't be computed"),
        ("v:t::boolean", DataError, "is no BOOLEAN"),
    ],
)
def test_what_is_refused(table: Any, expression: str, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why) as raised:
        answers(table, expression)
    assert raised.value.fix  # type: ignore[attr-defined]


CONDITIONS = [
    "v:a.b = 5",
    "not (v:a.b = 5)",
    "v:a.b = 5 or id = 1",
    "v:a.b > 5 and id >= 0",
    "v:a.b is null",
    "v:a.b::string like '7%'",
    "v:l[1] between 2 and id + 3",
    "try_variant_get(v, '$[0]', 'int') in (10, 11)",
    "coalesce(v:o::boolean, id = 3)",
    "v:nothing = 1",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_reads_take_paths_as_queries_do(table: Any, condition: str) -> None:
    query = f"SELECT id FROM t WHERE {condition} ORDER BY id"
    wanted = hoodoo.sql(query, tables={"t": table})["id"].to_pylist()
    assert sorted(table.read(["id"], condition).to_arrow()["id"].to_pylist()) == wanted
    assert table.count(condition) == len(wanted)
    found = hoodoo.where(condition, table.schema) & (pc.field("id") < 3)  # one of pyarrow
    ids = sorted(table.read(["id"], found).to_arrow()["id"].to_pylist())
    assert ids == [n for n in wanted if n < 3]
    assert table.delete(where=condition).deleted == len(wanted)
    assert sorted(table.to_arrow()["id"].to_pylist()) == sorted({0, 1, 2, 3} - {*wanted})


def test_a_filter_travels_to_another_process(table: Any, tmp_path: Path) -> None:
    """Where nothing has computed one before."""
    found = pickle.dumps(hoodoo.where("v:a.b = 5 and id < 3", table.schema))
    (tmp_path / "filter").write_bytes(found)
    text = (
        "import pickle, sys, hoodoo;"
        "where = pickle.loads(open(sys.argv[1] + '/filter', 'rb').read());"
        "print(hoodoo.open(sys.argv[1]).read(['id'], where).to_pylist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", text, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[{'id': 0}]"


@pytest.mark.parametrize(
    ("condition", "error", "why"),
    [
        ("v:a::int = 1", DataError, "can't be computed"),
        ("v:a.b", SchemaError, "neither true nor false"),
        ("variant_get(id, '$.a') = 1", ConfigError, "takes a VARIANT"),
        ("v:l[*] = 1", ConfigError, "takes a path such as"),
        ("v[0] = 1", ConfigError, r"Write `v`:\[0\], or variant_get\(`v`, '\$\[0\]', 'int'\)\."),
    ],
)
def test_wrong_filters(table: Any, condition: str, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why) as raised:
        table.read(where=condition).to_arrow()
    assert raised.value.fix  # type: ignore[attr-defined]


@pytest.mark.spark
def test_on_spark_tasks_look_into_variants(table: Any) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    frame = table.read(["id"], "v:a.b = 5 or v:o = true").to_spark(spark.getOrCreate())
    assert sorted(row["id"] for row in frame.collect()) == [0, 2]
    assert table.delete(where="v:a.b = 5", engine="spark").deleted == 1


def test_statements(table: Any) -> None:
    def run(text: str) -> Any:
        return hoodoo.sql(text, tables={"t": table})

    run("UPDATE t SET v = parse_json('{\"n\": 1.10}') WHERE v:a.b::int = 5")
    run("DELETE FROM t WHERE v:d::double < -2")
    run("INSERT INTO t VALUES (9, parse_json('[1]'))")
    run('INSERT INTO t VALUES (8, \'{"plain": "text"}\')')
    found = table.to_arrow().sort_by("id")
    assert found["id"].to_pylist() == [0, 1, 3, 8, 9]
    rows = [{"n": Decimal("1.10")}, None, VALUES[3], {"plain": "text"}, [1]]
    assert found["v"].to_pylist() == rows
    source = pa.table({"id": [9, 10], "v": ['{"m": 1}', "2"]})
    hoodoo.sql(
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND t.v:[0]::int = 1 THEN "
        "UPDATE SET v = parse_json(s.v) WHEN NOT MATCHED THEN INSERT *",
        tables={"t": table, "s": source},
    )
    assert table.to_arrow().sort_by("id")["v"].to_pylist() == [*rows[:4], {"m": 1}, 2]
    table.update({"v": "v:m"}, where="id = 9")
    assert table.read(where="id = 9").to_pylist()[0]["v"] == 1


def test_a_key_with_both_quotes_is_refused(table: Any) -> None:
    with pytest.raises(SchemaError, match="has both quotes"):
        answers(table, """v:a['b"c''d']""")
