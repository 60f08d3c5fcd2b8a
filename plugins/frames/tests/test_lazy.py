"""hoodoo.scan_polars: what a query needs, and no more, is read."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import hoodoo
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import CallError, NotATableError
from hoodoo_frames import lazy
from hoodoo_frames.polars_predicate import superset

pytestmark = pytest.mark.sampled(4)

ID = pl.col("id")


def test_a_lazy_frame_of_a_path_a_table_a_read(table: hoodoo.Table) -> None:
    expected = table.read(["id", "fare"]).to_polars().sort("id")
    for source in (table.path.removeprefix("file://"), table, table.read()):
        found = hoodoo.scan_polars(source).select("id", "fare").collect()
        assert found.sort("id").equals(expected)
    assert hoodoo.scan_polars(table).select(pl.len()).collect().item() == 800
    assert hoodoo.scan_polars(table).head(5).collect().height == 5
    assert hoodoo.scan_polars(table.read(["id"])).collect_schema() == {"id": pl.Int64}
    joined = hoodoo.scan_polars(table).join(hoodoo.scan_polars(table), on="id").collect()
    assert joined.height == 800
    for engine in ("in-memory", "streaming"):
        frame = hoodoo.scan_polars(table).filter(ID % 100 == 3).group_by("day").agg(pl.len())
        assert frame.collect(engine=engine)["len"].to_list() == [4, 4]  # type: ignore[call-overload]


def test_moments_and_modes(table: hoodoo.Table) -> None:
    instant = table.timeline().writes()[0].requested
    assert hoodoo.scan_polars(table, as_of=instant).collect().height == 100
    assert hoodoo.scan_polars(table, mode="read_optimized").collect().height == 800
    lazy = hoodoo.scan_polars(table)
    table.append(table.read(["id", "day", "fare", "note"]).limit(1).to_arrow())
    assert [lazy.collect().height, hoodoo.scan_polars(table).collect().height] == [800, 801]


def test_filters_leave_files_out(counted: Any) -> None:
    scan, storage = counted
    lazy = hoodoo.scan_polars(scan)
    found = lazy.filter((pl.col("day") == "tue") & (ID.is_in([5, 555]))).select("note").collect()
    assert found["note"].to_list() == ["note 555"]
    assert all(path.startswith("tue/") for path in storage.opened)
    storage.opened.clear()
    assert lazy.head(3).collect().height == 3
    assert len(set(storage.opened)) < 8


def test_nan_is_the_greatest_number(table: hoodoo.Table) -> None:
    eager = table.read().to_polars()
    fare = pl.col("fare")
    for asked in (
        fare > 100, ~(fare < 100), fare != 50.0, fare == float("nan"), fare.is_between(1, 5),
        ~fare.is_between(1, 5), fare.is_in([1.0, float("nan")]), fare.is_nan(), fare >= 399,
    ):  # fmt: skip
        found = hoodoo.scan_polars(table).filter(asked).select("id").collect()["id"]
        assert sorted(found) == sorted(eager.filter(asked)["id"]), str(asked)


def test_statistics_say_nothing_of_nan_and_of_signs_of_zero(tmp_path: Path) -> None:
    """Files of one value, whose row groups have it as minimum and maximum: polars reads them by itself."""
    nan, x = float("nan"), pl.col("x")
    for n, values in enumerate([[5.0, nan], [-0.0], [0.0], [nan, nan], [None, 5.0], [None]]):
        schema = pa.schema([("x", pa.float64())])
        table = hoodoo.create(str(tmp_path / str(n)), schema)
        table.append(pa.table([values], schema=schema))
        eager = pl.DataFrame({"x": values}, schema={"x": pl.Float64})
        for asked in (
            x != 5.0, x > 5.0, x >= 5.0, x < 5.0, x == 0.0, x == -0.0, x < 0.0, x >= 0.0, x.is_nan(), x == nan,
            x != nan, ~(x < 5.0), ~x.is_nan(), x.is_in([0.0, nan]), x.is_null(), x.is_not_null(), x > 6.0,
            x.is_between(5.0, nan), ~(x == 5.0),
        ):  # fmt: skip
            found = hoodoo.scan_polars(table).filter(asked).collect()
            assert found.equals(eager.filter(asked)), (values, str(asked))


def test_plain_files_are_read_by_polars_itself(
    table: hoodoo.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_itself: list[Any] = []
    real = lazy._by_itself
    monkeypatch.setattr(lazy, "_by_itself", lambda *given: by_itself.append(given) or real(*given))
    expected = table.read(["id", "note"]).to_polars().filter(ID % 9 == 1).sort("id")
    asked = ID % 9 == 1
    frame = hoodoo.scan_polars(table).filter(asked).select("id", "note")
    assert frame.collect().sort("id").equals(expected) and len(by_itself) == 1
    assert hoodoo.scan_polars(table).head(7).collect().height == 7 and len(by_itself) == 2
    assert hoodoo.scan_polars(table).collect().height == 800 and len(by_itself) == 3
    narrow = hoodoo.scan_polars(table.read(where=pc.field("id") < 50)).collect()
    assert narrow.height == 50 and len(by_itself) == 3  # a filter of the read's own


SCHEMA = pa.schema(
    [
        ("i", pa.int64()), ("f", pa.float64()), ("g", pa.float32()), ("s", pa.string()), ("b", pa.bool_()),
        ("d", pa.decimal128(10, 2)), ("t", pa.timestamp("us", "UTC")), ("n", pa.timestamp("us")),
        ("day", pa.date32()), ("y", pa.binary()),
    ]
)  # fmt: skip
N, S, B, D = pl.col("i"), pl.col("s"), pl.col("b"), pl.col("d")
UTC = dt.timezone.utc


@pytest.mark.parametrize(
    ("predicate", "known"),
    [
        (N > 5, "(i > 5)"),
        (~(N > 5), "(i <= 5)"),
        (pl.lit(5) < N, "(i > 5)"),
        ((N > 5) & (S.str.len_chars() > 2), "(i > 5)"),
        ((N > 5) | (S.str.len_chars() > 2), None),
        (~((N > 5) & (S == "x")), '((i <= 5) or (s != "x"))'),
        (~((N > 5) | (S.str.len_chars() > 2)), "(i <= 5)"),
        (N.is_between(1, 3, closed="left"), "((i >= 1) and (i < 3))"),
        (~N.is_between(1, 3), "((i < 1) or (i > 3))"),
        (S.is_null() & B, "(is_null(s, {nan_is_null=false}) and b)"),
        (~S.is_null() & ~B, "(is_valid(s) and invert(b))"),
        (decimal.Decimal("1.50") == D, "(d == 1.50)"),
        (decimal.Decimal("1.505") == D, None),
        (pl.col("day") >= dt.date(2024, 1, 2), "(day >= 2024-01-02)"),
        (pl.col("f") < 2, "(f < 2)"),
        (pl.col("f") > 2, None),  # NaN is greater for polars
        (pl.col("g") < 0.1, None),  # no 32 bit number
        (N < 2.5, None),
        (pl.lit(None) == N, None),
        (S.is_in(["a", None]), None),
        (~N.is_in([1]), None),
        (N + 1 > 5, None),
        (N.map_batches(lambda s: s.abs(), pl.Int64) > 1, None),
        (S.cast(pl.Int64) > 3, None),
        (pl.col("y") == b"x", '(y == "78")'),
    ],
)  # fmt: skip
def test_what_is_known_of_a_filter(predicate: Any, known: str | None) -> None:
    found = superset(predicate, SCHEMA)
    assert (None if found is None else str(found)) == known


def test_sets_and_times_are_known() -> None:
    assert "is_in(i" in str(superset(N.is_in([1, 2]), SCHEMA))
    assert "is_in(s" in str(superset(S.is_in(["a"]), SCHEMA))
    assert superset(pl.col("t") > dt.datetime(2024, 1, 1, tzinfo=UTC), SCHEMA) is not None
    assert superset(pl.col("n") > dt.datetime(2024, 1, 1), SCHEMA) is not None
    assert superset(pl.col("t") > dt.datetime(2024, 1, 1), SCHEMA) is None


def test_calls_that_cannot_be_right(table: hoodoo.Table) -> None:
    for wrong, said in (
        (lambda: hoodoo.scan_polars(5), "is no table"),
        (lambda: hoodoo.scan_polars(table.read(), as_of="2024-01-01T00:00:00Z"), "is a read"),
        (lambda: hoodoo.scan_polars(table, options={}), "open already"),
        (lambda: hoodoo.scan_polars(table, asof="x"), "Did you mean 'as_of'"),
    ):
        with pytest.raises(CallError, match=said):
            wrong()
    with pytest.raises(NotATableError):
        hoodoo.scan_polars(table.path.removeprefix("file://") + "/mon")
