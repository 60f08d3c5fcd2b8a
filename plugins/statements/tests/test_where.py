"""A condition in SQL as a pyarrow expression: true of the same rows as DuckDB says."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import pyarrow as pa
import pytest
import sqlglot
from hoodoo.errors import ConfigError, SchemaError

pytestmark = pytest.mark.sampled(4)

ROWS = 60
LITERALS = {
    "i": ("1", "-2", "2.5", "-0.5", "99999999999"),
    "l": ("0", "9007199254740993", "0.5"),
    "f": ("0.5", "2", "-1.5"),
    "g": ("2",),
    "s": ("'a'", "'b'", "'zz'"),
    "b": ("true", "false"),
    "d": ("'2024-01-02'", "date '2024-01-03'"),
    "m": (
        "1.25",
        "-1",
        "0.555",
        "1.250000",
        "-1.0000",
        "0.0000",
        "-0.555",
        "9999999.995",
        "-9999999.995",
        "1e30",
        "-1e30",
    ),
    "ts": ("timestamp '2024-01-01 02:00:00'",),
}
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def table(draw: random.Random) -> pa.Table:
    def column(one: Callable[[], Any], kind: pa.DataType) -> pa.Array:
        return pa.array([None if draw.random() < 0.2 else one() for _ in range(ROWS)], kind)

    nan = float("nan")
    return pa.table(
        {
            "i": column(lambda: draw.randint(-3, 3), pa.int32()),
            "l": column(lambda: draw.choice([-(2**62), 0, 1, 2**53 + 1]), pa.int64()),
            "f": column(lambda: draw.choice([nan, -1.5, 0.0, 0.5, 2.0, 1e300]), pa.float64()),
            "g": column(lambda: draw.choice([nan, -1.5, 0.0, 2.0]), pa.float64()),
            "s": column(lambda: draw.choice(["a", "b", "ab", "A%", ""]), pa.string()),
            "b": column(lambda: draw.random() < 0.5, pa.bool_()),
            "d": column(lambda: dt.date(2024, 1, draw.randint(1, 4)), pa.date32()),
            "m": column(
                lambda: decimal.Decimal(draw.randint(-300, 300)) / 100, pa.decimal128(9, 2)
            ),
            "ts": column(lambda: dt.datetime(2024, 1, 1, draw.randint(0, 3)), pa.timestamp("us")),
            "n": pa.array(range(ROWS)),
        }
    )


def condition(draw: random.Random, depth: int) -> str:
    kind = draw.random()
    if depth and kind < 0.45:
        joined = draw.choice(["and", "or"])
        return f"({condition(draw, depth - 1)} {joined} {condition(draw, depth - 1)})"
    if depth and kind < 0.6:
        return f"not ({condition(draw, depth - 1)})"
    column, compared = draw.choice(list(LITERALS)), draw.choice(COMPARISONS)

    def literal() -> str:
        return "null" if draw.random() < 0.07 else draw.choice(LITERALS[column])

    forms = [
        f"{column} {compared} {literal()}",
        f"{literal()} {compared} {column}",
        f"{column} in ({literal()}, {literal()})",
        f"{column} between {literal()} and {literal()}",
        f"{column} is {draw.choice(['', 'not '])}null",
        f"s {draw.choice(['', 'not '])}like '{draw.choice(['a%', '%b', '_'])}'",
        f"{column} not in ({literal()}, {literal()})",
        f"{column} not between {literal()} and {literal()}",
        f"{column} <=> {literal()}",
        draw.choice(["b", f"f {compared} g", "b is true", "b is not false"]),
        f"cast(i as double) {compared} 0.5",
    ]
    return draw.choice(forms)


@pytest.mark.parametrize("seed", range(4))
def test_it_lets_the_rows_through_that_duckdb_does(seed: int) -> None:
    draw = random.Random(seed)
    rows = table(draw)
    for _ in range(100):
        text = condition(draw, 3)
        found = rows.filter(hoodoo.where(text, rows.schema)).column("n").to_pylist()
        theirs = sqlglot.transpile(
            f"select n from rows where {text} order by n", read="spark", write="duckdb"
        )
        assert found == [n for (n,) in duckdb.sql(theirs[0]).fetchall()], text


def _exact(column: list[Any], compared: str, value: decimal.Decimal) -> list[int]:
    holds = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}[compared]
    return [n for n, v in enumerate(column) if v is not None and holds(decimal.Decimal(v), value)]


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_any_number_of_digits(seed: int) -> None:
    """Whole numbers and decimals against literals with more digits, before and after the point, than they have."""
    draw = random.Random(seed)
    kinds = [
        pa.int32(),
        pa.int64(),
        *(pa.decimal128(p, s) for p, s in ((1, 0), (9, 2), (5, 5), (38, 0), (38, 10), (38, 38))),
    ]
    for kind in kinds:
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        most = (
            10**kind.precision - 1 if pa.types.is_decimal(kind) else 2 ** (kind.bit_width - 1) - 1
        )
        exact = decimal.Context(prec=200)
        values = [
            decimal.Decimal(v).scaleb(-scale, exact)
            for v in (0, 1, -1, 15, -15, most, -most, most // 7)
            if abs(v) <= most
        ]
        rows = pa.table(
            {
                "x": pa.array(
                    [*(v if scale or pa.types.is_decimal(kind) else int(v) for v in values), None],
                    kind,
                )
            }
        )
        stored = rows["x"].to_pylist()
        near = decimal.Decimal(1).scaleb(-scale - 1)
        for value in [
            *values,
            *(exact.add(v, draw.choice([near, -near])) for v in values),
            *map(decimal.Decimal, ("1e40", "-1e40", "1e-50", "-1e999999")),
        ]:
            text = format(value, "f") if abs(value.adjusted()) < 90 else str(value)
            text += draw.choice(["", "0" * draw.randint(1, 30)]) if "." in text else ""
            for compared in COMPARISONS:
                found = pa.table({"n": range(len(stored)), "x": rows["x"]}).filter(
                    hoodoo.where(f"x {compared} {text}", rows.schema)
                )
                assert found["n"].to_pylist() == _exact(stored, compared, value), (
                    kind,
                    compared,
                    text,
                )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s not like 'a%'", [2, 3]),
        ("s not ilike 'A%'", [2, 3]),
        ("not (s not like 'a%')", [0, 1]),
        (r"s like 'a\_b'", [0]),
        ("s = 'o''x'", [2]),
        # Arrow's sets have two zeros, and a 32 bit float is no decimal number.
        ("zero in (0.0)", [0, 1, 2, 3, 4]),
        ("zero in (-0.0, 7)", [0, 1, 2, 3, 4]),
        ("zero not in (0.0)", []),
        ("g in (0.0)", [1, 2]),
        ("g = 0.1", []),
        ("g > 0.1", [0, 3]),
        ("g not in (0.1, 0.5)", [0, 1, 2]),
        ("g in (0.1, null)", []),
        ("g in (0.5, null)", [3]),
    ],
)
def test_a_read_a_query_and_a_statement_find_the_same_rows(
    tmp_path: Path, text: str, expected: list[int]
) -> None:
    rows = pa.table(
        {
            "n": range(5),
            "s": ["a_b", "axb", "o'x", "ox", None],
            "zero": [0.0, 0.0, 0.0, 0.0, 0.0],
            "g": pa.array([0.1, 0.0, -0.0, 0.5, None], pa.float32()),
        }
    )
    made = hoodoo.create(str(tmp_path / "t"), rows.schema, record_key="n")
    made.upsert(rows)
    assert sorted(made.read(where=text).to_arrow()["n"].to_pylist()) == expected
    found = hoodoo.sql(f"SELECT n FROM t WHERE {text} ORDER BY n", {"t": made})
    assert found["n"].to_pylist() == expected
    assert made.delete(where=text).deleted == len(expected)
    left = made.read(columns=["n"]).to_arrow()["n"].to_pylist()
    assert sorted(left) == [n for n in range(5) if n not in expected]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("cty = 'oslo'", SchemaError, "Did you mean city"),
        ("city = 5", SchemaError, "compares string with 5"),
        ("lower(city) = 'oslo'", ConfigError, "hoodoo.sql"),
        ("fare", SchemaError, "neither true nor false"),
        ("city = 'oslo' and", ConfigError, "is no SQL"),
        ("ride in (select 1)", ConfigError, "is computed of one row"),
    ],
)
def test_what_a_read_refuses(tmp_path: Path, text: str, error: type, said: str) -> None:
    schema = pa.schema([("ride", pa.int64()), ("city", pa.string()), ("fare", pa.float64())])
    made = hoodoo.create(str(tmp_path / "t"), schema, record_key="ride")
    with pytest.raises(error, match=said):
        made.read(where=text)
