"""What Spark computes otherwise than DuckDB is computed as Spark does. The values are those that Spark 4 gave."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest

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
    ("substring(s, zero, 2)", "a_"),
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
