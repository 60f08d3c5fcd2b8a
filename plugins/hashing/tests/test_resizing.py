"""Tables whose buckets are split and merged, beside writers: no row is lost, none is there twice."""

from __future__ import annotations

from collections.abc import Callable

import hoodoo
import pytest
from hashed_rows import MERGE, OPTIONS, SPLIT, contents, expected, in_their_buckets, ring, rows
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    PendingClusteringError,
    UnsupportedTableError,
)

pytestmark = pytest.mark.sampled(4)

Make = Callable[..., hoodoo.Table]
versions = pytest.mark.parametrize("version", [9, 6])
UPDATES = "hoodie.clustering.updates.strategy"


@versions
def test_split_and_merged(made: Make, version: int) -> None:
    table = made(version=version)
    one, two = rows(range(90), 1), rows(range(60, 120), 2, "b")
    table.upsert(one)
    table.upsert(two)
    table.delete(rows([5, 70], 3).select(["id", "region"]))
    there = expected(one, two, without=[5, 70])
    assert contents(table) == there
    assert table.cluster(options=SPLIT).instant
    assert contents(table) == there
    assert len(ring(table, "eu").ring) == len(ring(table, "us").ring) == 8
    in_their_buckets(table)
    three = rows(range(100, 150), 4, "c")
    table.upsert(three)
    table.delete(rows([6], 5).select(["id", "region"]))
    there = expected(one, two, three, without=[5, 70, 6])
    assert contents(table) == there
    assert table.cluster(options=MERGE).instant
    assert len(ring(table, "eu").ring) == 2
    assert contents(table) == there
    in_their_buckets(table)
    table.compact()
    assert contents(table) == there
    assert table.verify().ok


@versions
def test_rows_that_come_while_a_resize_is_pending_are_in_both(made: Make, version: int) -> None:
    table = made(version=version)
    one, two = rows(range(60), 1), rows(range(40, 80), 2, "b")
    table.upsert(one)
    instant = table.schedule_clustering(options=SPLIT)
    assert instant is not None
    table.upsert(two)
    table.delete(rows([7, 50], 3).select(["id", "region"]))
    there = expected(one, two, without=[7, 50])
    assert contents(table) == there
    three = rows(range(70, 90), 4, "c")
    table.upsert(three)
    there = expected(one, two, three, without=[7, 50])
    assert contents(table) == there
    in_their_buckets(table)
    assert table.run_clustering(instant).instant == instant
    assert contents(table) == there
    in_their_buckets(table)
    four = rows(range(30, 75), 5, "d")
    table.upsert(four)
    assert contents(table) == expected(one, two, three, four, without=[7])
    assert table.verify().ok
    table.compact()
    assert contents(table) == expected(one, two, three, four, without=[7])


@versions
def test_cancelled_under_writers(made: Make, version: int) -> None:
    table = made(version=version)
    one, two, three = rows(range(60), 1), rows(range(40, 80), 2, "b"), rows(range(50, 95), 3, "c")
    table.upsert(one)
    instant = table.schedule_clustering(options=SPLIT)
    table.upsert(two)
    table.cancel_clustering(instant)
    assert contents(table) == expected(one, two)
    table.upsert(three)
    assert contents(table) == expected(one, two, three)
    assert (
        not list(table.handle.storage.list(".hoodie/.bucket_index")) or ring(table, "eu").seq == 0
    )
    assert table.cluster(options=SPLIT).instant
    assert contents(table) == expected(one, two, three)
    in_their_buckets(table)
    assert table.verify().ok


@versions
def test_a_write_beside_a_resize_is_rolled_back(made: Make, version: int) -> None:
    table = made(version=version)
    one, two = rows(range(60), 1), rows(range(40, 80), 2, "b")
    table.upsert(one)
    instant = table.schedule_clustering(options=SPLIT)
    commit = table.upsert(two)
    table.rollback(commit.instant)
    assert contents(table) == expected(one)
    table.run_clustering(instant)
    assert contents(table) == expected(one)
    in_their_buckets(table)


@versions
def test_a_resize_is_taken_back(made: Make, version: int) -> None:
    table = made(version=version)
    one, two = rows(range(60), 1), rows(range(40, 80), 2, "b")
    table.upsert(one)
    commit = table.cluster(options=SPLIT)
    table.rollback(commit.instant)
    assert ring(table, "eu").seq == 0
    assert contents(table) == expected(one)
    table.upsert(two)
    assert contents(table) == expected(one, two)
    in_their_buckets(table)


@versions
def test_rows_in_the_place_of_others(made: Make, version: int) -> None:
    """All buckets are new ones: the file groups of those before have left the table for good."""
    table = made(version=version)
    one, two, three = rows(range(60), 1), rows(range(1, 60, 3), 2, "b"), rows(range(80), 3, "c")
    table.upsert(one)
    table.insert_overwrite(two)
    kept = expected(one.filter([r == "us" for r in one["region"].to_pylist()]), two)
    assert contents(table) == kept
    table.upsert(three)
    assert contents(table) == expected(three)
    in_their_buckets(table)
    table.delete_partitions("eu")
    table.upsert(two)
    us = three.filter([r == "us" for r in three["region"].to_pylist()])
    assert contents(table) == expected(us, two)
    in_their_buckets(table)
    assert table.verify().ok


@versions
@pytest.mark.parametrize("then", ["cluster", "insert_overwrite"])
def test_a_resize_that_is_archived_counts(made: Make, version: int, then: str) -> None:
    """No writer came to the partition path before it was archived, so that nobody noted it: it was taken for one that
    was undone, and the next resize refused."""
    table = made(version=version)
    one = rows(range(60), 1)
    table.upsert(one)
    resized = table.cluster(options=SPLIT).instant
    few = {
        "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1",
    }  # fmt: skip
    writer = hoodoo.open(table.path, {**OPTIONS, **few})
    more = [rows(range(0, 60, 3), number, "b") for number in range(2, 9)]  # all of one path
    for some in more:
        writer.upsert(some)
    writer.archive()
    assert resized not in {i.requested for i in writer.timeline().instants}
    assert ring(writer, "eu").seq == 1
    new = rows(range(1, 60, 3), 20, "c")
    if then == "cluster":
        assert writer.cluster(options=SPLIT).instant
        assert contents(writer) == expected(one, *more)
    else:
        writer.insert_overwrite(new)
        us = one.filter([region == "us" for region in one["region"].to_pylist()])
        assert contents(writer) == expected(us, *more, new)
    assert ring(writer, "eu").seq == 2
    in_their_buckets(writer)
    assert writer.verify().ok


def test_rows_are_refused_or_go_first_where_that_is_said(made: Make) -> None:
    table = made()
    one, two = rows(range(60), 1), rows(range(40, 80), 2, "b")
    table.upsert(one)
    instant = table.schedule_clustering(options=SPLIT)
    refusing = hoodoo.open(table.path, options={UPDATES: "reject"})
    with pytest.raises(PendingClusteringError, match=str(instant)):
        refusing.upsert(two)
    hoodoo.open(table.path, options={UPDATES: "allow"}).upsert(two)
    with pytest.raises(CommitConflictError, match="has been changed since"):
        table.run_clustering(instant)
    assert contents(table) == expected(one, two)
    assert table.cluster(options=SPLIT).instant
    assert contents(table) == expected(one, two)


def test_in_order_of_columns(made: Make) -> None:
    table = made()
    one = rows(range(200), 1)
    table.upsert(one)
    assert table.cluster(
        columns="v", options={**SPLIT, "hoodie.bucket.index.split.threshold": "9"}
    ).instant
    assert len(ring(table, "eu").ring) == 4 and ring(table, "eu").seq == 1
    assert contents(table) == expected(one)
    in_their_buckets(table)


def test_what_is_no_plan_of_buckets_is_refused(made: Make) -> None:
    table = made()
    table.upsert(rows(range(20), 1))
    with pytest.raises(UnsupportedTableError, match="would move rows away"):
        table.cluster("size")
    with pytest.raises(UnsupportedTableError, match="would move rows away"):
        table.cluster(order="linear", columns="v")
    with pytest.raises(UnsupportedTableError, match="MERGE_ON_READ"):
        hoodoo.create(
            f"{table.path}-cow", table.schema, name="t", record_key="id", index="bucket",
            options=OPTIONS,
        )  # fmt: skip


@pytest.mark.parametrize("engine", ["SIMPLE", "CONSISTENT_HASHING"])
def test_only_fields_of_the_key_are_hashed(made: Make, engine: str) -> None:
    options = {"hoodie.index.bucket.engine": engine, "hoodie.bucket.index.hash.field": "id,v"}
    with pytest.raises(ConfigError, match="v is not among the record key fields id"):
        made(options=options)


def test_another_index_waits_for_the_resize(made: Make) -> None:
    """It could not run it, and each write that clusters would fail."""
    table = made()
    one = rows(range(30), 1)
    table.upsert(one)
    table.compact()
    instant = table.schedule_clustering(options=SPLIT)
    with pytest.raises(CommitConflictError, match="clustering pending"):
        table.switch_index("simple")
    table.cancel_clustering(instant)
    table.switch_index("simple")
    assert contents(table) == expected(one)


def test_nothing_to_do(made: Make) -> None:
    table = made()
    table.upsert(rows(range(20), 1))
    quiet = {**SPLIT, "hoodie.bucket.index.split.threshold": "9"}
    assert not table.cluster(options=quiet).instant


def test_beside_a_record_index_writes_wait(made: Make) -> None:
    """It would take the file groups to come for the places of the keys."""
    table = made(
        options={"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
    )
    one, two = rows(range(60), 1), rows(range(40, 80), 2, "b")
    table.upsert(one)
    instant = table.schedule_clustering(options=SPLIT)
    with pytest.raises(PendingClusteringError, match="without a record index"):
        table.upsert(two)
    table.run_clustering(instant)
    table.upsert(two)
    assert contents(table) == expected(one, two)
    assert table.verify().ok


@versions
@pytest.mark.parametrize("cancelled", [False, True])
def test_an_index_is_made_while_a_resize_is_pending(
    made: Make, version: int, cancelled: bool
) -> None:
    table = made(version=version)
    one, two, three = rows(range(60), 1), rows(range(40, 80), 2, "b"), rows(range(70, 90), 4, "c")
    table.upsert(one)
    instant = table.schedule_clustering(options=SPLIT)
    assert instant is not None
    table.upsert(two)
    table.rebuild_index()
    table.upsert(three)
    there = expected(one, two, three)
    assert contents(table) == there
    if cancelled:
        table.cancel_clustering(instant)
    else:
        table.run_clustering(instant)
    assert contents(hoodoo.open(table.path)) == there
    table.compact()
    assert contents(table) == there
    assert table.verify().ok


@pytest.mark.parametrize("index", ["record_index", "growing_record_index", "by_v"])
def test_no_index_is_made_while_a_resize_waits(
    made: Callable[..., hoodoo.Table], index: str
) -> None:
    """Rows that come meanwhile are in old and new buckets, and an index that is made of the old ones would lose them."""
    table = made(partition_by=None)
    table.upsert(rows(range(10), 1))
    resize = table.schedule_clustering(options=SPLIT)
    table.upsert(rows([100], 1))
    with pytest.raises(CommitConflictError, match="has a clustering pending"):
        if index == "by_v":
            table.create_index(index, "v")
        else:
            table.create_index(index, kind=index)
    if index == "growing_record_index":  # both ways that the message names lead out
        table.cancel_clustering(resize)
    else:
        table.run_clustering(resize)
    table.create_index("record_index", kind="record_index")
    assert table.read(where="id = '100'").count() == 1
    assert table.verify().ok
