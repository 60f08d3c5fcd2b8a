"""Ways to order the rows of a clustered group: the contract, names, and what each does to files."""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo_clustering.hookspecs.clustering import ClusteredFile, ClusteredGroup, Clustering
from hoodoo_clustering.places import places
from hoodoo_clustering.strategies.combine import Combine
from hoodoo_clustering.strategies.hilbert import Hilbert
from hoodoo_clustering.strategies.linear import Linear
from hoodoo_clustering.strategies.orders import orders
from hoodoo_clustering.strategies.single_file import SingleFile
from hoodoo_clustering.strategies.zorder import ZOrder
from hoodoo_clustering.testing.clustering import ClusteringContract
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.sampled(4)

COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"
LAYOUT = "hoodie.layout.optimize.strategy"
METHOD = "hoodie.layout.optimize.curve.build.method"
SAMPLE = "hoodie.layout.optimize.build.curve.sample.size"
JAVA = "org.apache.hudi.client.clustering.run.strategy."
ALL = ("number", "ratio", "price", "flag", "text", "raw", "day", "moment")


def named(name: str, params: Mapping[str, str] | None = None) -> Clustering:
    """As a table makes it from a plan that says ``name``."""
    (found,) = [r for r in orders() if name.lower() in {r.name, *(a.lower() for a in r.aliases)}]
    assert isinstance(found.factory, str)
    module, _, path = found.factory.partition(":")
    factory = operator.attrgetter(path)(importlib.import_module(module))
    made = factory(Settings(options=params or {}))
    assert isinstance(made, Clustering)
    return made


class TestCombine(ClusteringContract):
    @pytest.fixture
    def clustering(self) -> Clustering:
        return named("combine")


class TestLinear(ClusteringContract):
    @pytest.fixture(params=["text,number", ",".join(ALL)])
    def clustering(self, request: pytest.FixtureRequest) -> Clustering:
        return named("linear", {COLUMNS: request.param})


class TestSingleFile(ClusteringContract):
    @pytest.fixture(params=["LINEAR", "HILBERT"])
    def clustering(self, request: pytest.FixtureRequest) -> Clustering:
        return named("single_file", {COLUMNS: "text,number", LAYOUT: request.param})


class _Curve(ClusteringContract):
    name = ""

    @pytest.fixture(params=["SAMPLE", "DIRECT"])
    def method(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture(params=["number", "small,text", "ratio,raw,flag", ",".join(ALL)])
    def clustering(self, request: pytest.FixtureRequest, method: str) -> Clustering:
        return named(self.name, {COLUMNS: request.param, METHOD: method})


class TestZOrder(_Curve):
    name = "zorder"


class TestHilbert(_Curve):
    name = "hilbert"


@pytest.mark.parametrize("java", ["SparkSortAndSize", "JavaSortAndSize"])
@pytest.mark.parametrize(
    ("layout", "kind"),
    [(None, Linear), ("linear", Linear), ("ZORDER", ZOrder), ("z-order", ZOrder), ("HILBERT", Hilbert)],
)  # fmt: skip
def test_hudis_class_means_what_the_layout_says(
    java: str, layout: str | None, kind: type[Clustering]
) -> None:
    params = {COLUMNS: "a, b,a,", **({} if layout is None else {LAYOUT: layout})}
    made = named(f"{JAVA}{java}ExecutionStrategy", params)
    assert type(made) is kind
    assert made.columns == ("a", "b")


def test_one_file_of_one_by_the_layout() -> None:
    made = named(f"{JAVA}SparkSingleFileSortExecutionStrategy", {COLUMNS: "a", LAYOUT: "hilbert"})
    assert isinstance(made, SingleFile) and isinstance(made.inner, Hilbert)
    assert made.columns == ("a",) and made.one_file


@pytest.mark.parametrize(
    ("java", "kind"),
    [
        ("SparkSortAndSize", Linear), ("SingleSparkJobSortAndSize", Linear), ("JavaSortAndSize", Linear),
        ("SparkSingleFileSort", SingleFile), ("SparkBinaryCopyClustering", Combine),
        ("SparkStreamCopyClustering", Combine),
    ],
)  # fmt: skip
def test_each_class_of_hudi_that_runs_a_plan(java: str, kind: type[Clustering]) -> None:
    assert type(named(f"{JAVA}{java}ExecutionStrategy", {COLUMNS: "a"})) is kind


def test_without_columns_rows_stay_as_they_are() -> None:
    assert named(f"{JAVA}SparkSortAndSizeExecutionStrategy") == Combine()
    assert named("linear", {COLUMNS: " ,"}) == Combine()
    assert named(f"{JAVA}SparkBinaryCopyClusteringExecutionStrategy", {COLUMNS: "a"}) == Combine()


@pytest.mark.parametrize(
    ("name", "params", "at_fault"),
    [
        ("linear", {COLUMNS: "a", LAYOUT: "peano"}, LAYOUT),
        ("zorder", {}, COLUMNS),
        ("hilbert", {COLUMNS: ",".join("abcdefghi")}, COLUMNS),
        ("hilbert", {COLUMNS: "a,b", METHOD: "guess"}, METHOD),
        ("zorder", {COLUMNS: "a,b", SAMPLE: "many"}, SAMPLE),
        ("zorder", {COLUMNS: "a,b", SAMPLE: "0"}, SAMPLE),
    ],
)
def test_settings_that_make_no_order(name: str, params: dict[str, str], at_fault: str) -> None:
    with pytest.raises(ConfigError, match=at_fault):
        named(name, params)


@pytest.mark.parametrize("name", ["linear", "zorder", "hilbert"])
def test_a_column_without_an_order_is_named(name: str) -> None:
    rows = pa.table({"a": [1, 2], "nested": [[1], [2]]})
    made = named(name, {COLUMNS: "a,nested"})
    with pytest.raises(ConfigError, match="nested"):
        made.fitted(rows).keys(rows)


def test_a_sample_is_asked_for_where_it_is_looked_at() -> None:
    assert named("linear", {COLUMNS: "a"}).sample_rows == 0
    assert named("combine").sample_rows == 0
    assert named("hilbert", {COLUMNS: "a,b"}).sample_rows == 200_000
    assert named("hilbert", {COLUMNS: "a,b", SAMPLE: "50"}).sample_rows == 50
    assert named("hilbert", {COLUMNS: "a,b", METHOD: "direct"}).sample_rows == 0


def opened(order: Clustering, rows: pa.Table, column: str, files: int, width: float) -> int:
    """Into how many of ``files`` equal files a reader has to look for values of ``column`` in a range of
    this ``width``, summed over ranges from everywhere."""
    keys = order.fitted(rows.slice(0, rows.num_rows // 4)).keys(rows)
    values = rows.column(column).to_numpy()[places(keys)]
    parts = np.array_split(values, files)
    low, high = np.array([p.min() for p in parts]), np.array([p.max() for p in parts])
    starts = np.linspace(values.min(), values.max() - width, 50)
    return int(sum(((low <= s + width) & (high >= s)).sum() for s in starts))


@pytest.mark.parametrize("method", ["SAMPLE", "DIRECT"])
@pytest.mark.parametrize("name", ["zorder", "hilbert"])
def test_a_range_of_the_second_column_is_in_few_files(name: str, method: str) -> None:
    rng = np.random.default_rng(7)
    rows = pa.table({"x": rng.random(60_000), "y": rng.random(60_000)})
    linear = opened(Linear(("x", "y")), rows, "y", 64, 0.01)
    made = named(name, {COLUMNS: "x,y", METHOD: method})
    assert opened(made, rows, "y", 64, 0.01) <= linear / 2
    assert opened(made, rows, "x", 64, 0.01) <= linear / 2


@pytest.mark.parametrize("name", ["zorder", "hilbert"])
def test_a_sample_evens_out_columns_that_are_spread_differently(name: str) -> None:
    """Few distinct values, a long tail, another scale: by their bits one column would decide alone."""
    rng = np.random.default_rng(7)
    tail = (rng.pareto(1.0, 60_000) * 1000).astype(np.int64)
    rows = pa.table({"x": rng.integers(0, 20, 60_000), "y": tail})
    made = named(name, {COLUMNS: "x,y"})
    ranks = pa.table({"x": rows["x"], "y": np.argsort(np.argsort(tail)).astype(float)})
    keys = made.fitted(rows.slice(0, 20_000)).keys(rows)
    order = places(keys)
    for column, width in (("x", 0), ("y", 600.0)):
        values = ranks.column(column).to_numpy()[order]
        parts = np.array_split(values, 64)
        at = np.median(values)
        hit = sum(p.min() <= at + width and p.max() >= at for p in parts)
        assert hit <= 24, (column, hit)


VALUES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(),
    pa.string(): st.text(max_size=30),
    pa.binary(): st.binary(max_size=12),
    pa.date32(): st.dates(),
    pa.bool_(): st.booleans(),
    pa.decimal128(20, 3): st.decimals(-(10**9), 10**9, places=3),
    pa.timestamp("us"): st.datetimes(),
}


@given(data=st.data(), kind=st.sampled_from(list(VALUES)), direct=st.booleans())
def test_ranks_never_turn_two_values_around(
    data: st.DataObject, kind: pa.DataType, direct: bool
) -> None:
    """Whatever the sample has seen: a smaller value has no larger rank, nulls have the lowest."""
    values = data.draw(st.lists(st.none() | VALUES[kind], min_size=2, max_size=30))
    column = pa.table({"a": pa.array(values, kind), "b": pa.array([0] * len(values))})
    seen = data.draw(st.integers(0, len(values)))
    order = ZOrder(("a", "b"), 0 if direct else 100)
    fitted = order if direct else order.fitted(column.slice(0, seen))
    keys = list(zip(*(key.to_pylist() for key in fitted.keys(column)), strict=True))

    def sortable(value: object) -> tuple[object, ...]:
        if value is None:
            return (0,)
        if isinstance(value, float) and math.isnan(value):
            return (2,)
        return (1, value.encode() if isinstance(value, str) else value)

    known = column.column("a").to_pylist()
    pairs = sorted(zip(map(sortable, known), keys, strict=True), key=lambda pair: pair[0])
    assert [key for _, key in pairs] == sorted(key for _, key in pairs)


def clustered(bounds: Mapping[str, tuple[object, object] | None], number: int = 0) -> ClusteredFile:
    stat = WriteStat("p", f"g{number}-0", f"p/g{number}-0_0-0-0_2.parquet", file_size=60)
    return ClusteredFile(stat, bounds)


def test_the_commit_says_the_order_and_the_ratio_and_no_value_of_a_row() -> None:
    base = BaseFile("p", "f-0", "1", "0-0-0", size=200)
    files = (
        clustered({"a": (1, 5), "b": ("someone", b"\1")}),
        clustered({"a": (6, 9), "b": None}, 1),
    )
    told = Linear(("a", "b")).told([ClusteredGroup((FileSlice("p", "f-0", "1", base),), files)])
    assert told == {
        "hoodoo.clustering.order": "linear(a, b)", "hoodoo.clustering.ratio": "0.600"
    }  # fmt: skip
