"""What Spark computes otherwise than DuckDB is computed as Spark does. The values are those that Spark 4 gave."""

from __future__ import annotations

import datetime as dt
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError, HoodooError
from hoodoo_statements.spark_sql.functions import AGGREGATES, FUNCTIONS, WINDOWS

pytestmark = pytest.mark.sampled(4)

SUNDAY = dt.datetime(2024, 2, 18, 23, 59, 59, 500_000, tzinfo=dt.timezone.utc)
ROWS = pa.table(
    {
        "id": [1],
        "s": ["a_b"],
        "f": [-1.75],
        "g": pa.array([0.1], pa.float32()),
        "m": pa.array([Decimal("2.75")], pa.decimal128(9, 2)),
        "big": pa.array([Decimal("99999999999999999.99")], pa.decimal128(19, 2)),
        "b": [True],
        "t": pa.array([SUNDAY], pa.timestamp("us", "UTC")),
        "d": pa.array([SUNDAY.date()]),
        "zero": [0],
    }
)
VALUES = [
    # A quote within a text is written twice, or with a backslash; texts beside each other are one.
    (r"""'it''s' "a ""b" """, """it'sa "b"""),
    (r"""''''""", "'"),
    (r"""'o\'x'""", "o'x"),
    (r"""r'a\_b'""", r"a\_b"),
    # A backslash escapes in a pattern.
    (r"s like 'a\_b'", True),
    (r"s like 'a\\_b'", True),
    (r"'axb' like 'a\_b'", False),
    (r"'axb' not like 'a\_b'", True),
    (r"'axb' ilike 'A\_B'", False),
    (r"s like concat('a', '\\', '_b')", True),
    (r"'a!b' like 'a!!b' escape '!'", True),
    # What becomes whole loses its fraction.
    ("cast(f as int)", -1),
    ("int(f)", -1),
    ("cast(m as bigint)", 2),
    ("cast(big as bigint)", 99999999999999999),
    ("cast(-m as tinyint)", -2),
    ("cast(f * 2 as int) + cast(m as int)", -1),
    ("cast(b as int)", 1),
    ("cast(id as smallint)", 1),
    ("cast('7' as int)", 7),
    ("cast(t as bigint)", 1708300799),
    # A 32 bit float beside a number with a fraction is a double, and not the number that it is near.
    ("g = 0.1", False),
    ("cast(cast(g as decimal(30,10)) as string)", "0.1000000015"),
    ("g > 0.1", True),
    ("-g < -0.1", True),
    ("0.1 <> g", True),
    ("g <=> 0.1", False),
    ("g in (5, 0.1)", False),
    ("g between 0.1 and 0.2", True),
    ("g = 0.1F", True),
    ("m = 2.75 and f = -1.75", True),
    # A time as text has no zone.
    ("cast(t as string)", "2024-02-18 23:59:59.5"),
    ("cast(d as string)", "2024-02-18"),
    ("cast(id as string)", "1"),
    # Positions are counted from 1, and 0 is the first, too.
    ("substring(s, 0, 1)", "a"),
    ("substring(s, cast(zero as int), 2)", "a_"),
    ("substr(s, 0)", "a_b"),
    ("substring(s, 2, 1)", "_"),
    ("substring(s, -1)", "b"),
    # Days of the week, too, from Sunday; weekday from 0, from Monday.
    ("dayofweek(d)", 1),
    ("dayofweek(t)", 1),
    ("weekday(d)", 6),
    ("extract(dow from d)", 1),
    ("extract(dayofweek from t)", 1),
    ("date_part('dow', d)", 1),
    ("extract(year from d)", 2024),
    # Java's groups, letters and numbers.
    ("regexp_replace('abc', '(a)(b)', '$2$1')", "bac"),
    ("upper('Straße')", "STRASSE"),
    ("length(lower('İ'))", 2),
    ("cast(1e20 as string)", "1.0E20"),
    ("cast(cast(10000000 as double) as string)", "1.0E7"),
    ("cast(cast(0.0001 as double) as string)", "1.0E-4"),
    ("cast('2020' as date) = date'2020-01-01'", True),
    ("cast('2020-3' as date) = date'2020-03-01'", True),
    ("try_cast('abc' as int) is null", True),
    ("round(2.675D, 2) = 2.68D", True),
    ("bround(2.5D) = 2D", True),
    ("pmod(-7, 3)", 2),
    ("isnull(s)", False),
    ("isnotnull(s)", True),
    ("unix_timestamp(t)", 1708300799),
    ("unix_timestamp() > 1700000000", True),
    ("to_unix_timestamp(current_timestamp()) > 1700000000 and year(current_date()) > 2023", True),
    ("year(current_date) > 2023 and now() > t", True),
    # Tuples are compared place by place, as structs are: within them NULL is equal to NULL, and less than all else.
    ("(id, s) = (1, 'a_b')", True),
    ("(id, s) <> (1, 'a_b')", False),
    ("(id, null) = (1, null)", True),
    ("(id, null) is distinct from (1, s)", True),
    ("((id, s)) is not distinct from (cast(1 as bigint), 'a_b')", True),
    ("(id, null) < (1, s)", True),
    ("(id, s) < (1, cast(null as string))", False),
    ("(id, s) <= (1, 'a_b')", True),
    ("(id, s) > (0, 'z')", True),
    ("(id, s) in ((1, 'x'), (1, 'a_b'))", True),
    ("(id, s) not in ((1, null), (2, 'a_b'))", True),
    # A list without elements has any type.
    ("size(array())", 0),
    ("array(s) = array()", False),
    ("cast(m / 3 as string)", "0.916667"),
    ("cast(-m / 7.00 as string)", "-0.392857"),
    ("cast(m / m / 300000000000 as string)", "0.0000000000033333333333333"),
    # DuckDB multiplies these in 64 bits, where they do not fit.
    ("cast(cast(1564438962.5 as decimal(18, 6)) / 2 as string)", "782219481.25000000"),
    # Of decimals with too many digits together, fractions are rounded before they are compared.
    ("cast(1.126 as decimal(38, 18)) = cast(1.13 as decimal(38, 2))", True),
    ("cast(1.4 as decimal(38, 1)) < cast(1.44 as decimal(38, 2))", False),
    ("cast(99999999999.5 as decimal(38, 18)) < cast(1.5 as decimal(38, 37))", False),
    ("cast(null as decimal(9, 2)) / (m - m) is null", True),
    ("size(case when id = 2 then array(s) else array() end)", 0),
]


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_a_value(tmp_path: Path, text: str, expected: Any) -> None:
    """In a query, and in a statement, which computes it where the rows are."""
    kind = {bool: pa.bool_(), int: pa.int64(), str: pa.string()}[type(expected)]
    schema = ROWS.schema.append(pa.field("made", kind))
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    table.upsert(ROWS)
    found = hoodoo.sql(f"SELECT {text} AS made FROM t", {"t": table})
    assert found.to_pylist() == [{"made": expected}]
    assert table.update({"made": text}).updated == 1
    assert table.read(["made"]).to_pylist() == [{"made": expected}]


def refused(tmp_path: Path, text: str) -> str:
    """What a statement says of an expression that it refuses."""
    table = hoodoo.create(
        str(tmp_path / "t"), ROWS.schema.append(pa.field("made", pa.string())), record_key="id"
    )
    table.upsert(ROWS)
    with pytest.raises(HoodooError) as caught:
        table.update({"made": text})
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cast('abc' as int)", "is no INT"),
        ("cast(2147483648 as int)", "out of range"),
        ("cast(big * 100 as int)", "INT"),
        ("1 / zero", "division by zero"),
        ("id % zero", "division by zero"),
        ("m / cast(3 as bigint)", "/ of a decimal and a number of the text that is cast"),
        ("cast(3 as int) / m", "/ of a decimal and a number of the text that is cast"),
        ("hash(s)", "calls hash(), which is not computed here"),
        ("format_string('%s', s)", "calls format_string()"),
        (r"regexp_replace(s, '\\bab', 'x')", "otherwise than the RE2"),
        ("isnul(s)", "Did you mean isnull()"),
        ("regexp_replace(s, 'a', '$1')", "names no group"),
        ("lower('ΑΣ')", "capital sigma"),
        ("s + 1", "Cast it to a number"),
        ("cast(t as double)", "a cast from TIMESTAMP to DOUBLE"),
    ],
)
def test_what_is_not_known_to_be_equal_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, text)


def test_a_condition_deletes_what_spark_would(tmp_path: Path) -> None:
    """Spark reads a year, and a year and a month, as the first day of them."""
    rows = pa.table({"id": [1, 2, 3], "a": ["2020", "2020-03", "2021-02-03 10:00:00"]})
    table = hoodoo.create(str(tmp_path / "t"), rows.schema, record_key="id")
    table.upsert(rows)
    done = hoodoo.sql("DELETE FROM t WHERE cast(a as date) < '2021-01-01'", {"t": table})
    assert done.deleted == 2
    assert table.read(["id"]).to_pylist() == [{"id": 3}]


def test_an_error_is_one_of_rows_that_need_it(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2], "n": [0, 5]})
    table = hoodoo.create(str(tmp_path / "t"), rows.schema, record_key="id")
    table.upsert(rows)
    assert table.delete(where="n <> 0 and 10 / n > 1").deleted == 1
    assert table.update({"n": "case when n = 0 then 7 else 10 div n end"}).updated == 1


def test_an_assigned_value_is_cast_as_spark_casts_it(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "s": ["a"], "n": [1]})
    table = hoodoo.create(str(tmp_path / "t"), rows.schema, record_key="id")
    table.upsert(rows)
    table.update({"s": "1e20", "n": "2.7"})
    assert table.read(["s", "n"]).to_pylist() == [{"s": "1.0E20", "n": 2}]
    hoodoo.sql("INSERT INTO t SELECT 2, 1e7, 3.9", {"t": table})
    found = table.read(["s", "n"], where="id = 2").to_pylist()
    assert found == [{"s": "1.0E7", "n": 3}]


@pytest.mark.parametrize("text", ["(" * 80 + "id = 1" + ")" * 80, "not " * 800 + "b"])
def test_a_text_that_is_nested_too_deeply(tmp_path: Path, text: str) -> None:
    table = hoodoo.create(str(tmp_path / "t"), ROWS.schema, record_key="id")
    table.upsert(ROWS)
    for act in (
        lambda: table.read(where=text).count(),
        lambda: table.delete(where=text),
        lambda: hoodoo.sql(f"SELECT id FROM t WHERE {text}", {"t": table}),
        lambda: hoodoo.sql(f"DELETE FROM t WHERE {text}", {"t": table}),
    ):
        with pytest.raises(ConfigError, match="nested too deeply"):
            act()


def test_a_long_chain_is_not_nested(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), ROWS.schema, record_key="id")
    table.upsert(ROWS)
    text = " or ".join(f"id = {n}" for n in range(1500, 0, -1))
    assert table.read(where=text).count() == 1
    assert table.delete(where=text).deleted == 1


@pytest.mark.parametrize("text", ["\"s\" = 'x'", "'x' <> \"S\" or id = 1", "\"s\" like 'x'"])
def test_quotes_are_of_texts(tmp_path: Path, text: str) -> None:
    """Of a comparison with the name of a column in quotes, the message says how to write it."""
    table = hoodoo.create(str(tmp_path / "t"), ROWS.schema, record_key="id")
    table.upsert(ROWS)
    for act in (lambda: table.read(where=text).count(), lambda: table.delete(where=text)):
        with pytest.raises(ConfigError, match="backticks: `s`"):
            act()


@pytest.mark.parametrize("text", ["(id, s) = (1, s, 2)", "(id, s) = 1", "array(s) < array('b')"])
def test_what_is_compared_otherwise_than_in_spark_is_refused(tmp_path: Path, text: str) -> None:
    assert "Compare" in refused(tmp_path, text)


def test_a_column_of_a_query_is_called_as_its_text_that_gives_the_time() -> None:
    rows = pa.table({"id": [1]})
    found = hoodoo.sql("SELECT current_date(), (SELECT max(id) FROM t) AS m FROM t", {"t": rows})
    assert found.column_names == ["current_date()", "m"]


DECIMALS = pa.table(
    {
        "id": [1, 2, 3],
        "m": pa.array([Decimal("2.75"), Decimal("-1.10"), None], pa.decimal128(5, 2)),
        "q": pa.array([Decimal("1.2345"), None, Decimal("0.5")], pa.decimal128(10, 4)),
        "i": pa.array([1, 2, 3], pa.int32()),
        "w": pa.array([Decimal("999999.999999"), None, None], pa.decimal128(18, 6)),
    }
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # Of a union, the digits are those of both sides.
        ("avg(x) FROM (SELECT m AS x FROM t UNION ALL SELECT q FROM t) u", "0.84612500"),
        ("max(x / 3) FROM (SELECT m AS x FROM t UNION ALL SELECT q FROM t) u", "0.916667"),
        ("min(x / 3) FROM (SELECT q AS x FROM t UNION ALL SELECT m FROM t) u", "-0.366667"),
        ("sum(x * 2.0) FROM (SELECT i AS x FROM t UNION ALL SELECT q FROM t) u", "15.46900"),
        ("max(x / 2.0) FROM (SELECT NULL AS x UNION ALL SELECT q FROM t) u", "0.6172500"),
        ("avg(m) OVER (ORDER BY id) FROM t ORDER BY id DESC LIMIT 1", "0.825000"),
        ("sum(m) / count(m) FROM t WHERE id = 1", "2.75000000000000000000000"),
        ("max(w) FROM (SELECT avg(m) OVER (ORDER BY id) / 3 AS w FROM t) u", "0.91666667"),
        ("avg(m) FILTER (WHERE id < 3) FROM t", "0.825000"),
        ("avg(DISTINCT m) FILTER (WHERE i > 1 OR m > 0) FROM t", "0.825000"),
        ("sum(m) FILTER (WHERE m > 0) FROM t", "2.75"),
        ("avg(m) FILTER (WHERE id = 2) / 3 FROM t", "-0.36666667"),
        ("max(m) FILTER (WHERE id > 1) FROM t", "-1.10"),
        # DuckDB multiplies in 64 bits what has 18 digits, and 36 together.
        ("max(w * w) FROM t", "999999999998.000000000001"),
        ("sum(w * w) FROM t WHERE w * w > 1", "999999999998.000000000001"),
        ("max(w * w) OVER () FROM t LIMIT 1", "999999999998.000000000001"),
        (
            "max(x * x) FROM (SELECT w AS x FROM t UNION ALL SELECT w FROM t) u",
            "999999999998.000000000001",
        ),
        ("max(w * i * 1.5) FROM t", "1499999.9999985"),
    ],
)
def test_decimals_of_several_rows(text: str, found: str) -> None:
    answer = hoodoo.sql(f"SELECT {text}", {"t": DECIMALS})
    assert answer.column(0).to_pylist() == [Decimal(found)]
    assert answer.schema.field(0).type.scale == len(found.partition(".")[2])


@pytest.mark.parametrize(
    "text",
    [
        "WHERE i",
        "WHERE abs(i)",
        "WHERE (SELECT 1)",
        "WHERE (SELECT max(i) FROM t)",
        "JOIN t AS b ON t.i",
        "GROUP BY i HAVING max(i)",
    ],
)
def test_a_number_is_no_condition_of_a_query(text: str) -> None:
    """DuckDB takes each number but 0 for true."""
    with pytest.raises(ConfigError, match="neither true nor false"):
        hoodoo.sql(f"SELECT t.i FROM t {text}", {"t": DECIMALS})


def test_the_types_of_a_star_are_those_of_its_tables() -> None:
    whole = pa.table({"id": [1], "x": [7]})
    other = pa.table({"id": [1], "x": pa.array([Decimal(7)], pa.decimal128(10, 2))})
    for text in (
        "(SELECT * FROM t) AS q JOIN u ON q.id = u.id",
        "(SELECT t.* FROM t JOIN u ON t.id = u.id) AS q",
    ):
        found = hoodoo.sql(f"SELECT q.x / 3 AS r FROM {text}", {"t": whole, "u": other})
        assert found.to_pylist() == [{"r": 7 / 3}]


def test_lists_of_rows_that_a_condition_is_true_of() -> None:
    text = (
        "SELECT collect_list(m) FILTER (WHERE id < 3) AS a, count(*) FILTER (WHERE id > 1) AS b, "
    )
    text += "count_if(i > 1) FILTER (WHERE m IS NULL) AS c, sum(i) FILTER (WHERE m < 9) AS d FROM t"
    found = hoodoo.sql(text, {"t": DECIMALS}).to_pylist()
    assert found == [{"a": [Decimal("2.75"), Decimal("-1.10")], "b": 2, "c": 1, "d": 3}]


@pytest.mark.parametrize(
    "text",
    [
        "n / 0",
        "n % 0",
        "n div 0",
        "mod(n, 0)",
        "pmod(n, 0)",
        "cast(n as decimal(5, 2)) / 0",
        "n % z",
        "n / z",
        "cast(n as decimal(5, 2)) % 0",
        "(n + 1) div z",
        "n / null",
        "z / n",
    ],
)
def test_null_by_zero_is_null(text: str) -> None:
    def asked(n: int | None) -> list[Any]:
        kinds = {"n": pa.array([n], pa.int32()), "z": pa.array([0], pa.int32())}
        return hoodoo.sql(f"SELECT {text} AS x FROM t", {"t": pa.table(kinds)}).to_pylist()

    assert asked(None) == [{"x": None}]
    if text in ("n / null", "z / n"):
        assert asked(7) == [{"x": None if "null" in text else 0.0}]
        return
    with pytest.raises(DataError, match="division by zero"):
        asked(7)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x / 2.0 FROM (SELECT id AS x FROM t UNION ALL SELECT q FROM t) u", "is not known here"),
        ("avg(m) FILTER (WHERE id < 3) OVER () FROM t", "has FILTER with a window"),
        ("count(i) FILTER (WHERE id < 3) OVER () FROM t", "has FILTER with a window"),
    ],
)
def test_decimals_whose_digits_are_not_known(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        hoodoo.sql(f"SELECT {text}", {"t": DECIMALS})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
def test_a_process_that_is_forked_asks_and_ends() -> None:
    """It has none of the threads of the databases that its parent opened."""
    script = """if True:
        import os, sys, pyarrow as pa, hoodoo
        from hoodoo_statements.evaluate import Evaluator
        def ask():
            for threads in (1, 2):
                Evaluator(threads).query("SELECT 1 AS one", {})
            assert hoodoo.sql("SELECT id FROM t", {"t": pa.table({"id": [1]})}).num_rows == 1
        ask()
        child = os.fork()
        if not child:
            ask()
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        ask()
    """
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_page_lists_the_functions() -> None:
    page = (Path(__file__).parents[3] / "docs" / "statements.md").read_text("utf-8")
    tables = [line for line in page.splitlines() if line.startswith("|")]
    listed = {name for line in tables for name in re.findall(r"`([a-z_0-9]+)`", line)}
    assert sorted({*FUNCTIONS, *AGGREGATES, *WINDOWS} - listed) == []
