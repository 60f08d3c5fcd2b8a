"""What every way to order the rows of a group promises: the contract of
:class:`hoodoo_clustering.hookspecs.clustering.Clustering` as tests.

Usage::

    class TestMine(ClusteringContract):
        @pytest.fixture
        def clustering(self):
            return MyClustering(columns=("number", "text"))

The suite's ``rows`` have the columns ``number``, ``small``, ``ratio``, ``price``, ``flag``,
``text``, ``raw``, ``day`` and ``moment``, each with nulls. One that needs others answers the
fixture ``rows``, too."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
import pytest
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import BaseFile, FileSlice

from hoodoo_clustering.hookspecs.clustering import ClusteredFile, ClusteredGroup, Clustering
from hoodoo_clustering.places import places

_INSTANT = "20240101000000000"


def made_rows(count: int = 300) -> pa.Table:
    """Rows in no order; each seventh value is null."""

    def spread(i: int, column: int) -> int | None:
        return None if (i + column) % 7 == 0 else i * (7919 + 2 * column) % 1009

    values = [[spread(i, column) for i in range(count)] for column in range(9)]
    day, utc = dt.date(1969, 6, 1), dt.datetime(1969, 6, 1, tzinfo=dt.timezone.utc)
    floats = [None if v is None else float("nan") if v % 11 == 0 else v / 7 - 70 for v in values[2]]
    prices = [None if v is None else Decimal(v - 500) / 100 for v in values[3]]
    moments = [None if v is None else utc + dt.timedelta(hours=v) for v in values[8]]
    return pa.table(
        {
            "number": pa.array([v and v * 10**12 - 5 * 10**14 for v in values[0]], pa.int64()),
            "small": pa.array([v and v % 5 for v in values[1]], pa.int32()),
            "ratio": pa.array(floats, pa.float64()),
            "price": pa.array(prices, pa.decimal128(20, 2)),
            "flag": pa.array([None if v is None else v % 2 == 0 for v in values[4]], pa.bool_()),
            "text": pa.array([None if v is None else f"tëxt {v % 40}" for v in values[5]]),
            "raw": pa.array([None if v is None else v.to_bytes(2, "big") for v in values[6]]),
            "day": pa.array([v and day + dt.timedelta(days=v) for v in values[7]], pa.date32()),
            "moment": pa.array(moments, pa.timestamp("us", "UTC")),
        }
    )


class ClusteringContract:
    """Subclass, and answer the fixture ``clustering``."""

    @pytest.fixture
    def clustering(self) -> Clustering:
        raise NotImplementedError("override the fixture `clustering`")

    @pytest.fixture
    def rows(self) -> pa.Table:
        return made_rows()

    @pytest.fixture
    def fitted(self, clustering: Clustering, rows: pa.Table) -> Clustering:
        """As a task has it: it has seen some of the rows."""
        return clustering.fitted(rows.select(list(clustering.columns)).slice(0, 100))

    def test_obeys_the_protocol(self, clustering: Clustering) -> None:
        assert isinstance(clustering, Clustering)
        assert isinstance(clustering.columns, tuple)
        assert clustering.sample_rows >= 0

    def test_the_suite_has_its_columns(self, clustering: Clustering, rows: pa.Table) -> None:
        assert set(clustering.columns) <= set(rows.schema.names), "answer the fixture `rows`"

    def test_fitted_is_one_of_the_same_columns(
        self, clustering: Clustering, fitted: Clustering
    ) -> None:
        assert isinstance(fitted, Clustering)
        assert fitted.columns == clustering.columns

    def test_keys_are_as_long_as_the_rows(self, fitted: Clustering, rows: pa.Table) -> None:
        keys = fitted.keys(rows)
        assert isinstance(keys, Sequence)
        assert all(len(key) == rows.num_rows for key in keys)
        assert bool(keys) == bool(fitted.columns), "without columns there are no keys"

    def test_keys_can_be_sorted(self, fitted: Clustering, rows: pa.Table) -> None:
        keys = fitted.keys(rows)
        if keys:
            assert sorted(places(keys).tolist()) == list(range(rows.num_rows))

    def test_the_key_of_a_row_is_its_own(self, fitted: Clustering, rows: pa.Table) -> None:
        """Whatever rows it comes with: rows that are sorted in several parts are merged by their
        keys."""
        for start, count in ((0, 1), (17, 100), (rows.num_rows - 3, 3)):
            alone = fitted.keys(rows.slice(start, count))
            for key, part in zip(fitted.keys(rows), alone, strict=True):
                assert _plain(key).slice(start, count).equals(_plain(part))

    def test_chunks_make_no_difference(self, fitted: Clustering, rows: pa.Table) -> None:
        chunked = pa.concat_tables([rows.slice(0, 40), rows.slice(40, 0), rows.slice(40)])
        for key, other in zip(fitted.keys(rows), fitted.keys(chunked), strict=True):
            assert _plain(key).equals(_plain(other))

    def test_text_may_come_as_dictionaries(self, fitted: Clustering, rows: pa.Table) -> None:
        encoded = rows
        for i, field in enumerate(rows.schema):
            if pa.types.is_string(field.type):
                encoded = encoded.set_column(i, field.name, rows.column(i).dictionary_encode())
        keys, others = fitted.keys(rows), fitted.keys(encoded)
        if keys:
            assert places(keys).tolist() == places(others).tolist()

    def test_other_columns_make_no_difference(self, fitted: Clustering, rows: pa.Table) -> None:
        alone = rows.select(list(reversed(fitted.columns)))
        for key, other in zip(fitted.keys(rows), fitted.keys(alone), strict=True):
            assert _plain(key).equals(_plain(other))

    def test_fitted_to_the_same_sample_it_is_the_same(
        self, clustering: Clustering, rows: pa.Table
    ) -> None:
        sample = rows.select(list(clustering.columns)).slice(0, 100)
        first, second = clustering.fitted(sample), clustering.fitted(sample)
        for key, other in zip(first.keys(rows), second.keys(rows), strict=True):
            assert _plain(key).equals(_plain(other))

    def test_travels_to_a_worker(self, fitted: Clustering, rows: pa.Table) -> None:
        there = pickle.loads(pickle.dumps(fitted))
        for key, other in zip(fitted.keys(rows), there.keys(rows), strict=True):
            assert _plain(key).equals(_plain(other))

    @pytest.mark.parametrize("sampled", [0, 1])
    def test_a_sample_may_be_small(
        self, clustering: Clustering, rows: pa.Table, sampled: int
    ) -> None:
        fitted = clustering.fitted(rows.select(list(clustering.columns)).slice(0, sampled))
        assert all(len(key) == rows.num_rows for key in fitted.keys(rows))

    def test_nothing_but_nulls(self, clustering: Clustering, rows: pa.Table) -> None:
        nulls = pa.table([pa.nulls(9, f.type) for f in rows.schema], schema=rows.schema)
        fitted = clustering.fitted(nulls.select(list(clustering.columns)))
        for some in (nulls, rows):
            keys = fitted.keys(some)
            assert all(len(key) == some.num_rows for key in keys)
            if keys:
                places(keys)

    def test_no_rows(self, fitted: Clustering, rows: pa.Table) -> None:
        assert all(len(key) == 0 for key in fitted.keys(rows.slice(0, 0)))

    def test_what_the_commit_says_is_text(self, clustering: Clustering) -> None:
        base = BaseFile("p", "f-0", _INSTANT, "0-0-0", size=100)
        slice_ = FileSlice("p", "f-0", _INSTANT, base)
        stat = WriteStat("p", "g-0", "p/g-0_0-0-0_20240102000000000.parquet", file_size=50)
        unknown = ClusteredFile(stat, dict.fromkeys(clustering.columns))
        known = ClusteredFile(stat, dict.fromkeys(clustering.columns, (1, 2)))
        for files in ((), (known,), (known, unknown)):
            told = clustering.told([ClusteredGroup((slice_,), files)])
            assert isinstance(told, Mapping)
            assert all(isinstance(k, str) and isinstance(v, str) for k, v in told.items())
        assert clustering.told([]) is not None


def _plain(key: pa.ChunkedArray | pa.Array) -> pa.Array:
    found = pa.chunked_array([key]) if isinstance(key, pa.Array) else key
    if pa.types.is_dictionary(found.type):
        found = found.cast(found.type.value_type)
    # NaN is not equal to itself: compared as text.
    if pa.types.is_floating(found.type):
        found = found.cast(pa.string())
    return pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], found.type)
