"""Mergers that fill values, and that know marks of deletes: contract, and pairs of each kind."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hoodoo.hookspecs.merger import Merger, delete_mark, order_of
from hoodoo.testing.contracts.merger import MergerContract, kept
from hoodoo_standard.merge.commit_time import CommitTimeMerger
from hoodoo_standard.merge.event_time import EventTimeMerger
from hoodoo_standard.merge.filling import FillingMerger

PUT, DELETE_ROW = 0, 2


class TestFillsNulls(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        return FillingMerger(EventTimeMerger(("ts",)))

    @pytest.fixture
    def rows(self) -> pa.Table:
        return pa.table(
            {"ts": [1, 2, 2, None], "v": ["a", None, "b", None], "l": [[1], None, [], None]}
        )


class TestFillsWhatIsUnavailable(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        return FillingMerger(CommitTimeMerger(), "none")

    @pytest.fixture
    def rows(self) -> pa.Table:
        return pa.table({"v": ["a", None, "none"], "b": [b"none", b"b", None], "n": [1, None, 2]})


class TestBySequence(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        return EventTimeMerger(("seq",), by_sequence=True)

    @pytest.fixture
    def rows(self) -> pa.Table:
        return pa.table({"seq": ["9.1", "10.1", "10.02", None, "000009.1"], "v": range(5)})


def merged(merger: Merger, older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    names = list(newer)
    one, other = (
        pa.table({n: pa.array([row[n]], KINDS[n]) for n in names}) for row in (older, newer)
    )
    (row,) = kept(merger.merge(one, other), one, other).to_pylist()
    return row


KINDS = {
    "ts": pa.int64(),
    "v": pa.string(),
    "b": pa.large_binary(),
    "city": pa.string(),
    "d": pa.dictionary(pa.int32(), pa.string()),
    "_hoodie__op": pa.int8(),
    "_hoodie_commit_time": pa.string(),
    "_hoodie_file_name": pa.string(),
}


def test_columns_of_keys_and_paths_are_not_filled() -> None:
    merger = FillingMerger(CommitTimeMerger(), fixed=frozenset({"city"}))
    row = merged(merger, {"v": "a", "city": "oslo"}, {"v": None, "city": None})
    assert row == {"v": "a", "city": None}


def test_texts_of_any_kind_stand_for_values() -> None:
    merger = FillingMerger(CommitTimeMerger(), "x")
    stored = {"v": "a", "b": b"b", "d": "d"}
    assert merged(merger, stored, {"v": "x", "b": b"x", "d": "x"}) == stored
    assert merged(merger, stored, {"v": None, "b": None, "d": None}) == dict.fromkeys(stored)


def test_a_delete_fills_nothing() -> None:
    merger = FillingMerger(CommitTimeMerger())
    put, gone = {"v": "a", "_hoodie__op": PUT}, {"v": None, "_hoodie__op": DELETE_ROW}
    assert merged(merger, put, gone) == gone
    bare = {"v": None, "_hoodie__op": PUT}
    assert merged(merger, {**put, "_hoodie__op": DELETE_ROW}, bare) == bare


def test_a_row_that_is_filled_is_of_the_write_that_filled_it() -> None:
    merger = FillingMerger(EventTimeMerger(("ts",)))
    stored = {"ts": 2, "v": None, "_hoodie_commit_time": "1", "_hoodie_file_name": "f"}
    late = {"ts": 1, "v": "a", "_hoodie_commit_time": "2", "_hoodie_file_name": "g"}
    assert merged(merger, stored, late) == {**stored, "v": "a", "_hoodie_commit_time": "2"}
    full = {**stored, "v": "b"}
    assert merged(merger, full, late) == full


def test_what_they_say() -> None:
    order = EventTimeMerger(("ts",), ("Op", ("D",)))
    merger = FillingMerger(order, delete_mark=order.delete_mark)
    assert (order_of(merger), delete_mark(merger)) == (order, ("Op", ("D",)))
    assert merger.strategy_id == order.strategy_id and merger.columns is None
