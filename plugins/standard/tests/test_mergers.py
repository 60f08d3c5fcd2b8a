"""Commit time, event time and partial updates: contract, and the outcomes that Spark Hudi has."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, MissingColumnError
from hoodoo.hookspecs.merger import Merger, keeps_absent
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.testing.contracts.merger import MergerContract
from hoodoo_standard.merge.commit_time import CommitTimeMerger
from hoodoo_standard.merge.event_time import EventTimeMerger
from hoodoo_standard.merge.partial import PartialMerger
from hypothesis import given
from hypothesis import strategies as st

PUT, DELETE, DELETE_ROW = 0, 1, 2


class TestCommitTime(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        return CommitTimeMerger.from_settings(Settings())


class TestEventTime(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        table = TableConfig({"hoodie.table.ordering.fields": "ts"})
        return EventTimeMerger.from_settings(Settings(table))


class TestEventTimeSeveral(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        return EventTimeMerger(("a", "b"))


class TestEventTimeFloats(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        return EventTimeMerger(("f",))

    @pytest.fixture
    def rows(self) -> pa.Table:
        values = [0.0, -0.0, math.nan, math.inf, -math.inf, None, 1.5, 1.5]
        return pa.table({"f": values, "v": range(8)})


def partial(*ordering: str) -> Merger:
    """The merger ``partial`` as a table with these ordering columns makes it."""
    table = TableConfig({"hoodie.table.ordering.fields": ",".join(ordering)} if ordering else {})
    merger = resolve("merger", "partial", Settings(table)).instance
    assert isinstance(merger, Merger)
    return merger


class TestPartialByEventTime(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        return partial("a", "b")


class TestPartialByCommitTime(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        return partial()


def newer_wins(
    older: list[Any], newer: list[Any], kind: pa.DataType | None = None,
    ops: tuple[int, int] | None = None,
) -> list[bool]:  # fmt: skip
    tables = []
    for side, values in enumerate((older, newer)):
        table = pa.table({"o": pa.array(values, kind)})
        if ops:
            table = table.append_column(
                "_hoodie__op", pa.array([ops[side]] * len(values), pa.int8())
            )
        tables.append(table)
    answer = EventTimeMerger(("o",)).merge(*tables).newer_wins
    assert answer is not None
    return answer.to_pylist()  # type: ignore[no-any-return]


def test_higher_wins_and_a_tie_goes_to_the_newer() -> None:
    assert newer_wins([5, 5, 5], [4, 5, 6]) == [False, True, True]


def test_null_is_lowest() -> None:
    assert newer_wins([5, None, None], [None, -1, None], pa.int64()) == [False, True, True]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int8(), [-3, 0, 9]),
        (pa.string(), ["", "A", "a", "é", "\ue000", "𝄞"]),
        (pa.bool_(), [False, True]),
        (pa.date32(), [dt.date(1969, 1, 1), dt.date(2024, 1, 1)]),
        (pa.timestamp("us", "UTC"), [-1, 0, 5]),
        (pa.decimal128(10, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("2.25")]),
        (pa.float64(), [-math.inf, -1.0, -0.0, 0.0, 5e-324, 1.0, math.inf, math.nan]),
        (pa.float32(), [-2.5, -0.0, 0.0, math.nan]),
        (pa.binary(), [b"", b"a", b"\xff"]),
    ],
)
def test_order_of_each_type(kind: pa.DataType, values: list[Any]) -> None:
    for low in range(len(values)):
        for high in range(low + 1, len(values)):
            case = values[low], values[high]
            assert newer_wins([values[low]], [values[high]], kind) == [True], case
            assert newer_wins([values[high]], [values[low]], kind) == [False], case
        assert newer_wins([values[low]], [values[low]], kind) == [True]
    words = pa.array(["b"]).dictionary_encode()
    assert newer_wins(["a"], ["b"], words.type) == [True]


def test_all_nans_are_one() -> None:
    other = pa.array([0xFFF8000000000001], pa.uint64()).view(pa.float64())
    tables = [pa.table({"o": other}), pa.table({"o": [math.nan]})]
    for older, newer in (tables, tables[::-1]):
        answer = EventTimeMerger(("o",)).merge(older, newer).newer_wins
        assert answer is not None and answer.to_pylist() == [True]


@given(st.lists(st.tuples(*[st.one_of(st.none(), st.integers(-2, 2))] * 4), max_size=20))
def test_several_columns_compare_like_tuples(rows: list[tuple[Any, ...]]) -> None:
    columns = [pa.array([row[i] for row in rows], pa.int64()) for i in range(4)]
    older = pa.table({"a": columns[0], "b": columns[1]})
    newer = pa.table({"a": columns[2], "b": columns[3]})
    answer = EventTimeMerger(("a", "b")).merge(older, newer).newer_wins
    assert answer is not None

    def rank(*values: int | None) -> list[tuple[bool, int]]:
        return [(v is not None, v or 0) for v in values]

    assert answer.to_pylist() == [rank(*row[2:]) >= rank(*row[:2]) for row in rows]


def test_a_delete_by_key_wins_and_what_follows_it_wins() -> None:
    assert newer_wins([5, 5], [4, None], pa.int64(), ops=(PUT, DELETE)) == [True, True]
    assert newer_wins([5, None], [4, None], pa.int64(), ops=(DELETE, PUT)) == [True, True]
    assert newer_wins([9], [1], ops=(DELETE, DELETE_ROW)) == [True]


def test_a_deleted_row_is_compared() -> None:
    assert newer_wins([5, 5, 5], [4, 5, 6], ops=(PUT, DELETE_ROW)) == [False, True, True]
    assert newer_wins([5, 5], [4, 5], ops=(DELETE_ROW, PUT)) == [False, True]


def test_missing_ordering_columns() -> None:
    with pytest.raises(ConfigError, match="ordering"):
        EventTimeMerger.from_settings(Settings())
    with pytest.raises(MissingColumnError, match="'ts'"):
        EventTimeMerger(("ts",)).merge(pa.table({"v": [1]}), pa.table({"v": [1]}))


@pytest.mark.parametrize(
    ("merger", "rule"),
    [
        (partial("ts"), EventTimeMerger(("ts",))),
        (partial("a", "b"), EventTimeMerger(("a", "b"))),
        (partial(), CommitTimeMerger()),
    ],
)
def test_partial_updates_win_by_the_rule_of_the_table(merger: Merger, rule: Merger) -> None:
    """Other readers know the rule alone: the properties of the table say nothing but that."""
    assert merger == PartialMerger(rule)
    assert (merger.merge_mode, merger.strategy_id, merger.columns) == (
        rule.merge_mode, rule.strategy_id, rule.columns,
    )  # fmt: skip
    names = rule.columns or ("v",)
    older = pa.table({name: [5, 5, 5] for name in names})
    newer = pa.table({name: [4, 5, 6] for name in names})
    for op in (PUT, DELETE, DELETE_ROW):
        marked = newer.append_column("_hoodie__op", pa.array([op] * 3, pa.int8()))
        stored = older.append_column("_hoodie__op", pa.array([PUT] * 3, pa.int8()))
        assert merger.merge(stored, marked) == rule.merge(stored, marked)


def test_absent_columns_are_kept_by_this_one_alone() -> None:
    assert keeps_absent(partial("ts")) and keeps_absent(partial())
    assert not keeps_absent(EventTimeMerger(("ts",))) and not keeps_absent(CommitTimeMerger())
