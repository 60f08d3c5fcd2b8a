"""Filters whose values Arrow cuts when it prints them, also in the middle of a character."""

from __future__ import annotations

import uuid
from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import SchemaError
from hoodoo_rows.model.filter_text import text_of, whole, without_uuids

LONG = ["€" * 200, "x" + "€" * 200, "xx" + "€" * 200]  # one of them is cut between characters
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])


@pytest.fixture(name="table")
def _table(tmp_path: Path) -> hoodoo.Table:
    table = hoodoo.create(
        tmp_path / "t", SCHEMA, record_key="id", partition_by="city", ordering="ts"
    )
    rows = {"id": [0, 1, 2, 3], "city": ["a", "b", "c", "d"], "ts": [0] * 4}
    table.upsert(pa.table(rows, SCHEMA))
    return table


def listed(text: str) -> pc.Expression:
    return pc.field("city").isin([text, "b"])


def test_arrow_can_not_print_one_of_them() -> None:
    """What this module is for; where it fails, Arrow has mended it."""
    failed = 0
    for text in LONG:
        try:
            str(listed(text))
        except UnicodeDecodeError:
            failed += 1
    assert failed


@pytest.mark.parametrize("text", LONG)
def test_a_filter_with_long_text_is_asked_and_printed(table: hoodoo.Table, text: str) -> None:
    where = listed(text)
    assert "is_in(city" in text_of(where)
    scan = table.read(where=where)
    assert scan.to_arrow()["id"].to_pylist() == [1]
    assert "is_in(city" in str(scan.plan) and "is_in(city" in repr(scan.plan.spec)
    assert repr(scan) and repr(scan.plan)
    changes = table.changes("earliest", where=where)
    assert changes.to_arrow().num_rows == 1 and str(changes.plan) and repr(changes.plan)
    assert table.incremental("earliest", where=where).to_arrow()["id"].to_pylist() == [1]
    table.delete(where=where)
    assert sorted(table.read().to_arrow()["id"].to_pylist()) == [0, 2, 3]


@pytest.mark.parametrize("text", LONG)
def test_a_refused_filter_is_named(table: hoodoo.Table, text: str) -> None:
    with pytest.raises(SchemaError, match="does not fit the types"):
        table.read(where=listed(text) & (pc.field("id") == "one"))


def test_filters_that_are_printed_alike_are_not_equal(table: hoodoo.Table) -> None:
    one, other = (listed("x" * 100 + end + "x" * 100) for end in "ab")
    assert text_of(one) == text_of(other) and whole(one) != whole(other)
    spec = table.read(where=one).plan.spec
    assert spec != table.read(where=other).plan.spec
    again = pc.field("city").isin(["x" * 100 + "a" + "x" * 100, "b"])
    assert spec == table.read(where=again).plan.spec


def test_uuids_in_filters_are_texts() -> None:
    one, other = uuid.UUID(int=5), uuid.UUID(int=6)
    rows = pa.table({"u": [str(one), str(other), None], "n": [1, 2, 3]})
    u, n = pc.field("u"), pc.field("n")
    for where, found in (
        (u == one, [1]),
        (u != one, [2]),
        (u.isin([one, other]) & (n > 1), [2]),
        ((n == 3) | (pa.scalar(other.bytes, pa.uuid()) == u), [2, 3]),
        (u == pa.scalar(None, pa.uuid()), []),
        (n < 3, [1, 2]),
    ):
        assert rows.filter(without_uuids(where))["n"].to_pylist() == found, str(where)
