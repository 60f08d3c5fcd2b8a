"""What every merger promises: the contract of :class:`hoodoo.hookspecs.merger.Merger` as tests.

Usage::

    class TestMine(MergerContract):
        @pytest.fixture
        def merger(self):
            return MyMerger(...)

        @pytest.fixture
        def rows(self):          # versions of one record, in any values the merger can meet
            return pa.table({"ts": [...], "v": [...]})

Without ``rows`` the suite makes int64 columns for :attr:`Merger.columns`, nulls and ties included.
"""

from __future__ import annotations

import itertools
import pickle
import uuid

import numpy as np
import pyarrow as pa
import pytest

from hoodoo.hookspecs.merger import Merged, Merger, order_of

_MODES = {"COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING", "CUSTOM"}
_PUT = 0


class MergerContract:
    """Subclass, and answer the fixture ``merger``."""

    @pytest.fixture
    def merger(self) -> Merger:
        raise NotImplementedError("override the fixture `merger`")

    @pytest.fixture
    def rows(self, merger: Merger) -> pa.Table:
        names = merger.columns or ()
        values = [0, 1, None, 1, -5, 7]
        made = {n: values[i:] + values[:i] for i, n in enumerate(names)}
        columns = {n: pa.array(v, pa.int64()) for n, v in made.items()}
        return pa.table({**columns, "v": pa.array([f"v{i}" for i in range(len(values))])})

    def test_obeys_the_protocol(self, merger: Merger) -> None:
        assert isinstance(merger, Merger)
        assert merger.merge_mode in _MODES
        assert str(uuid.UUID(merger.strategy_id)) == merger.strategy_id
        assert merger.columns is None or isinstance(merger.columns, tuple)

    def test_answers_one_row_for_each_pair(self, merger: Merger, rows: pa.Table) -> None:
        older, newer = _pairs(rows)
        answer = merger.merge(older, newer)
        assert answer.newer_wins is not None or answer.rows is not None, "one is set"
        if answer.newer_wins is not None:
            assert answer.newer_wins.type == pa.bool_() and answer.newer_wins.null_count == 0
            assert len(answer.newer_wins) == older.num_rows
        if answer.rows is not None:
            assert answer.rows.schema.equals(older.schema)
            assert answer.rows.num_rows == older.num_rows

    def test_no_pairs_give_no_rows(self, merger: Merger, rows: pa.Table) -> None:
        none = rows.slice(0, 0)
        assert kept(merger.merge(none, none), none, none).num_rows == 0

    def test_answers_the_same_again_elsewhere_and_in_pieces(
        self, merger: Merger, rows: pa.Table
    ) -> None:
        older, newer = _pairs(rows)
        other = pickle.loads(pickle.dumps(merger))
        whole = kept(merger.merge(older, newer), older, newer)
        assert same(kept(other.merge(older, newer), older, newer), whole)
        half = older.num_rows // 2
        parts = []
        for a, b in (
            (older.slice(0, half), newer.slice(0, half)),
            (older.slice(half), newer.slice(half)),
        ):
            parts.append(kept(other.merge(a, b), a, b))
        assert same(pa.concat_tables(parts), whole)

    def test_pairs_do_not_see_each_other(self, merger: Merger, rows: pa.Table) -> None:
        older, newer = _pairs(rows)
        turned = pa.array(np.arange(older.num_rows)[::-1].copy())
        whole = kept(merger.merge(older, newer), older, newer)
        a, b = older.take(turned), newer.take(turned)
        assert same(kept(merger.merge(a, b), a, b), whole.take(turned))

    def test_is_associative(self, merger: Merger, rows: pa.Table) -> None:
        if order_of(merger) is not None:
            pytest.skip("it says that its rows are merged from the oldest to the newest")
        triples = np.array(list(itertools.product(range(rows.num_rows), repeat=3)))
        first, second, third = (rows.take(pa.array(triples[:, i])) for i in range(3))
        left = kept(merger.merge(first, second), first, second)
        left = kept(merger.merge(left, third), left, third)
        right = kept(merger.merge(second, third), second, third)
        right = kept(merger.merge(first, right), first, right)
        assert same(left, right)

    def test_reads_no_other_columns_than_it_says(self, merger: Merger, rows: pa.Table) -> None:
        if merger.columns is None:
            pytest.skip("it reads all columns")
        older, newer = _pairs(rows)
        whole = merger.merge(older, newer)
        assert whole.newer_wins is not None, "a merger that builds rows reads all columns"
        # A table without columns would lose its number of rows: the delete mark stays.
        names = [*merger.columns, "_hoodie__op"]
        a, b = (_put(t).select(names) for t in (older, newer))
        assert merger.merge(a, b).newer_wins == whole.newer_wins

    def test_takes_the_travelling_delete_mark(self, merger: Merger, rows: pa.Table) -> None:
        older, newer = _pairs(rows)
        plain = kept(merger.merge(older, newer), older, newer)
        a, b = _put(older), _put(newer)
        assert same(kept(merger.merge(a, b), a, b).select(plain.schema.names), plain)


def kept(answer: Merged, older: pa.Table, newer: pa.Table) -> pa.Table:
    """The rows that an answer means."""
    newer = newer if answer.rows is None else answer.rows
    if answer.newer_wins is None:
        return newer
    wins = np.asarray(answer.newer_wins, np.bool_)
    pick = np.arange(older.num_rows) + np.where(wins, older.num_rows, 0)
    return pa.concat_tables([older, newer]).take(pa.array(pick, pa.int64())).combine_chunks()


def same(left: pa.Table, right: pa.Table) -> bool:
    """Equal rows in order; unlike ``Table.equals``, NaN is itself and -0.0 isn't 0.0."""
    return repr(left.to_pylist()) == repr(right.to_pylist())


def _pairs(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Every version against every version."""
    index = np.array(list(itertools.product(range(rows.num_rows), repeat=2)))
    return rows.take(pa.array(index[:, 0])), rows.take(pa.array(index[:, 1]))


def _put(rows: pa.Table) -> pa.Table:
    return rows.append_column("_hoodie__op", pa.array(np.full(rows.num_rows, _PUT, np.int8)))
