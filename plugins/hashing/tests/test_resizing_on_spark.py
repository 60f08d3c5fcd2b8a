"""Consistent hashing on the Spark engine: buckets are split and merged as on the local one, beside writers too, and
keys lie in the same buckets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hashed_rows import MERGE, SCHEMA, SPLIT, contents, expected, in_their_buckets, ring, rows

pytestmark = pytest.mark.spark

Make = Callable[..., hoodoo.Table]
ENGINES = ("spark", "local")
versions = pytest.mark.parametrize("version", [9, pytest.param(6, marks=pytest.mark.trial)])


def framed(spark: Any, data: pa.Table) -> Any:
    """The same rows as a DataFrame."""
    return spark.createDataFrame(data.to_pylist(), "id string, region string, ts long, v string")


def buckets(table: hoodoo.Table) -> dict[tuple[str, int], list[str]]:
    """Which keys each bucket of the rings has; a split gives it another name each time, and the same end."""
    rows = table.read(["id", "region"]).to_arrow()
    ends = {
        (path, node.file_id): node.value
        for path in ("eu", "us")
        for node in ring(table, path).ring.nodes
    }
    found: dict[tuple[str, int], list[str]] = {}
    for row in table.locate(rows).to_pylist():
        place = (row["partition_path"], ends[row["partition_path"], row["file_id"]])
        found.setdefault(place, []).append(row["record_key"])
    return {place: sorted(keys) for place, keys in found.items()}


class Both:
    """One table for each engine; whatever is done, they have the rows that are expected, in the same buckets."""

    def __init__(self, made: Make, spark: Any, version: int) -> None:
        self.spark = spark
        paths = {engine: made(engine, version).path for engine in ENGINES}
        self.tables = {engine: hoodoo.open(path, engine=engine) for engine, path in paths.items()}

    def upsert(self, data: pa.Table) -> None:
        for engine, table in self.tables.items():
            table.upsert(framed(self.spark, data) if engine == "spark" else data)

    def each(self, call: Callable[[hoodoo.Table], object]) -> list[Any]:
        return [call(table) for table in self.tables.values()]

    def check(self, there: list[dict[str, Any]], sizes: int | None = None) -> None:
        opened = [hoodoo.open(table.path) for table in self.tables.values()]
        for table in opened:
            assert contents(table) == there
            in_their_buckets(table)
            if sizes is not None:
                assert len(ring(table, "eu").ring) == len(ring(table, "us").ring) == sizes
        on_spark, local = map(buckets, opened)
        assert on_spark == local

    def read_by_spark(self) -> list[dict[str, Any]]:
        frame = self.tables["spark"].read(SCHEMA.names).to_spark()
        return sorted((row.asDict() for row in frame.collect()), key=lambda row: str(row["id"]))


@versions
@pytest.mark.sampled(2, among="long, on Spark")
def test_split_and_merged(made: Make, spark: Any, version: int) -> None:
    both = Both(made, spark, version)
    one, two, three = rows(range(60), 1), rows(range(40, 80), 2, "b"), rows(range(70, 100), 4, "c")
    both.upsert(one)
    both.upsert(two)
    both.each(lambda table: table.cluster(options=SPLIT))
    both.check(expected(one, two), sizes=8)
    both.upsert(three)
    both.each(lambda table: table.delete(rows([5, 75], 5).select(["id", "region"])))
    both.check(expected(one, two, three, without=[5, 75]))
    both.each(lambda table: table.cluster(options=MERGE))
    both.check(expected(one, two, three, without=[5, 75]), sizes=2)
    four = rows(range(90, 110), 6, "d")
    both.upsert(four)
    both.each(lambda table: table.compact())
    there = expected(one, two, three, four, without=[5, 75])
    both.check(there, sizes=2)
    assert both.read_by_spark() == there
    assert all(hoodoo.open(table.path).verify().ok for table in both.tables.values())


@versions
@pytest.mark.sampled(2, among="long, on Spark")
def test_writers_beside_a_resize(made: Make, spark: Any, version: int) -> None:
    """What comes while it is pending goes into the bucket of before and the one to come. The other engine runs it."""
    both = Both(made, spark, version)
    one, two, three = rows(range(60), 1), rows(range(40, 80), 2, "b"), rows(range(30, 75), 4, "c")
    both.upsert(one)
    instants = both.each(lambda table: table.schedule_clustering(options=SPLIT))
    both.upsert(two)
    both.each(lambda table: table.delete(rows([7, 50], 3).select(["id", "region"])))
    both.check(expected(one, two, without=[7, 50]), sizes=4)
    for engine, instant in zip(ENGINES, instants, strict=True):
        (other,) = set(ENGINES) - {engine}
        path = both.tables[engine].path
        assert hoodoo.open(path, engine=other).run_clustering(instant).instant == instant
        both.tables[engine] = hoodoo.open(path, engine=engine)
    both.check(expected(one, two, without=[7, 50]), sizes=8)
    both.upsert(three)
    both.check(expected(one, two, three, without=[7]), sizes=8)
    assert both.read_by_spark() == expected(one, two, three, without=[7])
