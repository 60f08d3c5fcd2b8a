"""The rows that tests make, and how they look at those of a table."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo_rows.testing.tables import Maker, Tuples, dicts, tuples, values, whole

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("v", pa.int64())])
CITIES = ("oslo", "rome")


def test_rules() -> None:
    rows = Maker(SCHEMA, "v", city=CITIES)
    expected = [{"id": 0, "city": "oslo", "v": 7}, {"id": 1, "city": "rome", "v": 7}]
    assert rows(range(2), 7).schema == SCHEMA and rows.dicts(range(2), 7) == expected
    assert rows.dicts([1], v=7, city="bonn") == [{"id": 1, "city": "bonn", "v": 7}]
    assert rows([], 1).num_rows == 0
    assert rows.span(0, 2, 7).equals(rows.of(0, 1, v=7))
    assert Maker(SCHEMA, city=CITIES, v=7).count(2, start=4)["id"].to_pylist() == [4, 5]
    # What is given has a usual value, and functions take of it what they name.
    steps = Maker(SCHEMA, "step", step=10, city="c{}".format, v=lambda n, step: n * step)
    assert steps.dicts([2]) == [{"id": 2, "city": "c2", "v": 20}]
    assert steps.dicts([2], 3) == [{"id": 2, "city": "c2", "v": 6}]
    assert Maker(SCHEMA, "v", mapped="city").dicts({5: "bonn"}, 1) == [
        {"id": 5, "city": "bonn", "v": 1}
    ]


def test_wrong_calls_are_errors() -> None:
    with pytest.raises(ValueError, match="no column town"):
        Maker(SCHEMA, town="oslo")
    rows = Maker(SCHEMA, "v", city=CITIES)
    for call in (lambda: rows([1]), lambda: rows([1], 2, 3), lambda: rows([1], 2, town="oslo")):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="zip"):
        Tuples(SCHEMA)((1, "oslo"))


def test_tuples() -> None:
    made = Tuples(SCHEMA, v=lambda id, city: id + len(city))((1, "oslo"), (2, "rom"))
    assert made.schema == SCHEMA and made["v"].to_pylist() == [5, 5]
    assert Tuples(SCHEMA, city="oslo")((1, 2)).to_pylist() == [{"id": 1, "city": "oslo", "v": 2}]
    assert Tuples(SCHEMA)().equals(SCHEMA.empty_table())


def test_rows_of_a_table(tmp_path: Path) -> None:
    rows = Maker(SCHEMA, "v", city=CITIES)
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city")
    first = table.insert(rows(range(3), 1)).instant
    table.upsert(rows([2], 2))
    given = rows(range(3), 1).to_pylist()
    assert dicts(table, SCHEMA.names, as_of=first) == given
    assert dicts(tmp_path / "t", SCHEMA.names) == [*given[:2], {**given[2], "v": 2}]
    assert whole(table.read(), ["id"], by=("city", "id"))["id"].to_pylist() == [0, 2, 1]
    assert tuples(table, ["v", "id"]) == [(1, 0), (1, 1), (2, 2)]
    assert values(table, "id", "v") == {0: 1, 1: 1, 2: 2}
    with pytest.raises(AssertionError, match="twice"):
        values(table, "v", "id")
