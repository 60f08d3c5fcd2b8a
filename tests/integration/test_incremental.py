"""Incremental reads, against a dictionary and the reader of the package ``hudi``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError, CorruptTableError, SchemaError, UnsupportedTableError
from hudi_columns import COMMIT_TIME
from small_histories import SCHEMA, History, Kind, Row, rows_of

pytestmark = pytest.mark.sampled(4)

KINDS = [
    Kind(9), Kind(6), Kind(9, index="global_simple", ordered=True), Kind(6, ordered=True),
    Kind(9, True), Kind(6, True), Kind(9, True, "bucket", blocks="avro"), Kind(6, True, "bucket"),
    Kind(9, True, "global_simple", True), Kind(6, True, ordered=True, blocks="avro"),
]  # fmt: skip


def theirs(path: Path, since: str, until: str) -> dict[tuple[str, int], Row]:
    options = hudi.HudiReadOptions().with_query_type(hudi.HudiQueryType.Incremental)
    options = options.with_start_timestamp(since).with_end_timestamp(until)
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(options)
    return rows_of(pa.Table.from_batches(batches)) if batches else {}


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_every_range_of_a_random_history(tmp_path: Path, kind: Kind, seed: int) -> None:
    history = History(kind, tmp_path / "t", seed).run(7)
    last = len(history.states) - 1
    for until in range(last + 1):
        for since in range(until + 1):
            first, end = history.point(since), history.point(until)
            expected = history.written(since, until)
            scan = history.table.incremental(first, end, meta=True)
            assert rows_of(scan.to_arrow()) == expected, f"({since}, {until}]"
            if until and since:
                other = theirs(history.path, first, end)
                if kind.merged and kind.ordered:  # it gives rows of logs that lost, besides
                    other = {key: row for key, row in other.items() if key in expected}
                assert other == expected, f"hudi: ({since}, {until}]"
    newest = history.table.incremental(history.point(last - 1), meta=True)
    assert rows_of(newest.to_arrow()) == history.written(last - 1, last)


VERSIONS = pytest.mark.parametrize("version", [9, 6])


def create(path: Path, version: int = 9, **options: Any) -> hoodoo.Table:
    given = {key.replace("__", "."): value for key, value in options.items()}
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", table_version=version,
        options=given,
    )  # fmt: skip


def data(*rows: tuple[int, str, float]) -> pa.Table:
    ids, cities, fares = zip(*rows, strict=True)
    return pa.table([ids, cities, fares, [0] * len(rows)], schema=SCHEMA)


def fares(scan: Any) -> dict[int, float]:
    table = pa.table(scan)
    return dict(zip(table["id"].to_pylist(), table["fare"].to_pylist(), strict=True))


@VERSIONS
def test_an_instant_means_the_state_with_it(tmp_path: Path, version: int) -> None:
    table = create(tmp_path / "t", version)
    first = table.upsert(data((1, "oslo", 1.0)))
    second = table.upsert(data((2, "oslo", 2.0)))
    assert fares(table.incremental(first.instant)) == {2: 2.0}
    assert fares(table.incremental("earliest", first.instant)) == {1: 1.0}
    assert fares(table.incremental("0", second.instant)) == {1: 1.0, 2: 2.0}
    assert fares(table.incremental(first.instant, second.instant)) == {2: 2.0}
    assert fares(table.incremental(second.instant, second.instant)) == {}


@VERSIONS
def test_reading_on_from_the_end_gives_every_row_once(tmp_path: Path, version: int) -> None:
    table = create(tmp_path / "t", version)
    since, seen = "earliest", []
    for n in range(4):
        table.upsert(data((n, "oslo", float(n)), (9, "rome", float(n))))
        scan = table.incremental(since)
        seen.append(fares(scan))
        since = scan.plan.until
        again = table.incremental(since)
        assert fares(again) == {} and again.plan.until == since
        assert again.schema == table.read().schema
    assert seen == [{n: float(n), 9: float(n)} for n in range(4)]


def test_only_what_was_touched_is_read(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    first = table.upsert(data((1, "oslo", 1.0), (2, "rome", 2.0), (3, "paris", 3.0)))
    table.upsert(data((1, "oslo", 5.0), (2, "rome", 6.0), (4, "rome", 7.0)))
    scan = table.incremental(first.instant, columns=["fare", "id"], where=pc.field("fare") > 5.5)
    assert scan.schema.names == ["fare", "id"]
    assert {s.partition_path for s in scan.plan.slices} == {"oslo", "rome"}
    assert fares(scan) == {2: 6.0, 4: 7.0}
    rome = table.incremental(first.instant, where=pc.field("city") == "rome")
    assert [s.partition_path for s in rome.plan.slices] == ["rome"] * len(rome.plan.slices)
    assert fares(rome) == {2: 6.0, 4: 7.0}
    assert rome.count() == 2
    assert "since" in rome.explain() and "incremental" in rome.explain()


def test_empty_ranges(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    assert fares(table.incremental("earliest")) == {}
    commit = table.upsert(data((1, "oslo", 1.0)))
    assert commit.completed is not None
    assert fares(table.incremental("earliest", "2000-01-01T00:00:00Z")) == {}
    assert fares(table.incremental(commit.completed)) == {}
    assert table.incremental("earliest", "2000-01-01T00:00:00Z").schema == table.read().schema


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"since": "yesterday"}, ConfigError),
        ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, ConfigError),
        ({"since": "earliest", "columns": ["nothing"]}, SchemaError),
        ({"since": "earliest", "where": pc.field("nothing") == 1}, SchemaError),
        ({"since": "earliest", "where": ["id = 1"]}, ConfigError),
    ],
)
def test_bad_arguments(
    tmp_path: Path, arguments: dict[str, Any], error: type[hoodoo.errors.HoodooError]
) -> None:
    table = create(tmp_path / "t")
    table.upsert(data((1, "oslo", 1.0)))
    with pytest.raises(error) as raised:
        table.incremental(**arguments)
    assert COMMIT_TIME not in str(raised.value)


def test_rows_without_commit_times(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.upsert(data((1, "oslo", 1.0)))
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text() + "hoodie.populate.meta.fields=false\n")
    opened = hoodoo.open(str(tmp_path / "t"))
    for read in (opened.incremental, opened.changes):
        with pytest.raises(UnsupportedTableError, match="virtual keys"):
            read("earliest")


@VERSIONS
@pytest.mark.parametrize("merged", [False, True])
def test_a_state_that_was_cleaned_is_an_error(tmp_path: Path, version: int, merged: bool) -> None:
    history = History(Kind(version, merged), tmp_path / "t", 1)
    for n in range(5):
        row = Row(float(n), 0)
        history._upsert({("oslo", 1): row})
        if merged:
            history.table.compact()
    history.table.clean(commits_retained=1)
    for until in (1, 2):
        with pytest.raises(ConfigError, match="clean") as raised:
            history.table.incremental("earliest", history.point(until))
        assert "hoodie.clean.commits.retained" in str(raised.value)
    assert rows_of(
        pa.table(history.table.incremental(history.point(1), meta=True))
    ) == history.written(1, 5)
    assert rows_of(
        pa.table(history.table.incremental(history.point(4), history.point(5), meta=True))
    )


@VERSIONS
def test_a_file_that_is_lost(tmp_path: Path, version: int) -> None:
    table = create(tmp_path / "t", version)
    first = table.upsert(data((1, "oslo", 1.0)))
    second = table.upsert(data((1, "oslo", 2.0)))
    third = table.upsert(data((1, "oslo", 3.0)))
    (tmp_path / "t" / first.files[0]).unlink()
    with pytest.raises(CorruptTableError, match=first.files[0]):
        table.incremental("earliest", first.instant)
    with pytest.raises(CorruptTableError, match=first.files[0].split("/")[1]):
        table.changes(first.instant, second.instant)
    assert fares(table.incremental(first.instant, second.instant)) == {1: 2.0}
    assert table.changes(second.instant, third.instant).count() == 1


@VERSIONS
def test_ranges_that_begin_in_the_archive(tmp_path: Path, version: int) -> None:
    options = {
        "hoodie.clean.automatic": "false", "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1",
    }  # fmt: skip
    table = create(tmp_path / "t", version)
    table = hoodoo.open(str(tmp_path / "t"), options)
    commits = [table.upsert(data((n % 5, "oslo", float(n)), (9, "rome", 0.0))) for n in range(9)]
    active = {i.requested for i in table.timeline().writes()}
    assert commits[3].instant not in active, "nothing was archived"
    for since in range(9):
        wanted = {n % 5: float(n) for n in range(since + 1, 9)}
        found = fares(table.incremental(commits[since].completed or commits[since].instant))
        assert {k: v for k, v in found.items() if k != 9} == wanted, since
    # The files are all there: states and changes of archived commits can be read.
    assert fares(table.incremental(commits[1].instant, commits[2].instant)) == {2: 2.0, 9: 0.0}
    ops = pa.table(table.changes(commits[0].instant, commits[2].instant))["op"].to_pylist()
    assert sorted(ops) == ["insert", "insert", "update", "update"]


def test_a_write_that_took_long_is_in_the_range_of_its_completion(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    commits = [
        table.upsert(data((n, city, 1.0))) for n, city in enumerate(["oslo", "rome", "paris"])
    ]
    folder = tmp_path / "t" / ".hoodie" / "timeline"
    first, late = commits[0], f"{int(commits[2].completed or 0) + 5:017d}"
    (folder / f"{first.instant}_{first.completed}.commit").rename(
        folder / f"{first.instant}_{late}.commit"
    )
    table = hoodoo.open(str(tmp_path / "t"))
    since = commits[2].completed or ""
    assert fares(table.incremental(since)) == {0: 1.0}
    assert fares(table.incremental("earliest", since)) == {1: 1.0, 2: 1.0}
    assert pa.table(table.changes("earliest"))["instant"].to_pylist() == [
        commits[1].instant, commits[2].instant, first.instant
    ]  # fmt: skip


@pytest.mark.spark
@VERSIONS
def test_as_a_dataframe(
    tmp_path: Path, version: int, spark: Any, collected: Callable[[Any], pa.Table]
) -> None:
    history = History(Kind(version, True), tmp_path / "t", 3).run(6)
    last = len(history.states) - 1
    for since, until in ((0, last), (1, 3), (last, last)):
        first, end = history.point(since), history.point(until)
        frame = history.table.incremental(first, end, meta=True).to_spark(spark)
        assert rows_of(collected(frame)) == history.written(since, until)
    changes = history.table.changes(history.point(1))
    key = [("instant", "ascending"), ("op", "ascending")]
    ours, theirs = (sorted(map(repr, t.sort_by(key).to_pylist())) for t in (
        changes.to_arrow(), collected(changes.to_spark(spark))
    ))  # fmt: skip
    assert ours == theirs and ours
    nothing = history.table.changes(history.point(last)).to_spark(spark)
    assert nothing.count() == 0
