"""Log compactions: what one side has merged is read by the other, and what it has planned is run by it."""

from __future__ import annotations

import pytest
from both import Both
from hoodoo.model.commit import Operation
from hoodoo.model.instant import Instant, State
from hoodoo.timeline import publish
from hoodoo.timeline.snapshot import Snapshot
from mor import check, check_travel, log_files, rows, setup

KINDS = [(9, "SIMPLE"), (9, "BUCKET"), (6, "SIMPLE")]
kinds = pytest.mark.parametrize(("version", "index"), KINDS)
THRESHOLD = {"hoodie.log.compaction.blocks.threshold": "3"}
INLINE = {**THRESHOLD, "hoodie.log.compaction.inline": "true"}
# How Spark Hudi reads at the place of the merged blocks, and not once more.
OPTIMIZED = {"hoodie__optimized__log__blocks__scan__enable": "true"}


def prepared(both: Both, version: int, index: str) -> None:
    """Base files (simple index) or none (buckets), with log files of both, and a delete."""
    setup(both, version, index, "parquet" if index == "SIMPLE" else "avro").create()
    both.opened["options"].update(THRESHOLD)
    both.hoodoo_upsert(rows(range(16), 1, "first"))
    both.hoodoo_upsert(rows(range(8), 2, "second"))
    both.spark_upsert(rows(range(4, 12), 3, "third"))
    both.hoodoo_upsert(rows(range(2), 4, "", True) + rows(range(10, 12), 4, "fourth"))
    check(both, "before")


def merged(both: Both) -> list[str]:
    """The instants of completed log compactions."""
    timeline, storage = both.hoodoo().timeline(), both.hoodoo().handle.storage
    done = timeline.writes()
    told = {i.requested: timeline.metadata(storage, i).operation for i in done}
    return [i for i, operation in told.items() if operation is Operation.LOG_COMPACT]


def write_on(both: Both) -> None:
    both.spark_upsert(rows(range(6, 20), 6, "spark"))
    both.hoodoo_upsert(rows(range(8, 24), 7, "hoodoo"))
    both.spark_delete(rows(range(20, 22), 7, ""))
    check(both, "both write on")
    both.spark_read(**OPTIMIZED)
    both.hoodoo().compact()
    check(both, "compacted")


@kinds
def test_spark_reads_what_hoodoo_has_merged(both: Both, version: int, index: str) -> None:
    prepared(both, version, index)
    earlier = [i.requested for i in both.hoodoo().timeline().writes()]
    done = both.hoodoo().run("logcompaction")
    assert merged(both) == [done.instant]
    check(both, "merged by Hoodoo")
    both.model.expect(both.spark_read(**OPTIMIZED), "read by Spark, as log compactions are meant")
    for instant in earlier[1:]:
        check_travel(both, instant)
    write_on(both)


@kinds
def test_hoodoo_reads_what_spark_has_merged(both: Both, version: int, index: str) -> None:
    prepared(both, version, index)
    both.spark_upsert(rows(range(4), 5, "spark"), **INLINE)
    assert len(merged(both)) == 1
    check(both, "merged by Spark")
    write_on(both)


@kinds
def test_spark_runs_what_hoodoo_has_planned(both: Both, version: int, index: str) -> None:
    prepared(both, version, index)
    instant = both.hoodoo().schedule("logcompaction")
    assert instant is not None
    both.spark_upsert(rows(range(4), 5, "spark"), **INLINE)
    assert instant in merged(both)
    check(both, "planned by Hoodoo, run by Spark")
    write_on(both)


@pytest.mark.parametrize("begun", [False, True], ids=["planned", "begun"])
def test_hoodoo_runs_or_undoes_what_spark_has_planned(both: Both, begun: bool) -> None:
    prepared(both, 9, "SIMPLE")
    before = {*log_files(both)}
    both.spark_upsert(rows(range(4), 5, "spark"), **INLINE)
    (instant,) = merged(both)
    table = both.hoodoo()
    storage, timeline = table.handle.storage, table.timeline()
    plan = storage.get(timeline.path(Instant(instant, "logcompaction", State.REQUESTED)))
    table.rollback(instant)
    assert not any(instant in log.name for log in {*log_files(both)} - before)
    # The same plan again: what was undone is never completed.
    requested = publish.request(Snapshot(storage, both.hoodoo().timeline()), "logcompaction", plan)
    instant = requested.requested
    if begun:
        publish.inflight(Snapshot(storage, both.hoodoo().timeline()), requested)
        done = both.hoodoo().run("logcompaction")
        assert done.instant not in ("", instant)
    else:
        assert both.hoodoo().run_planned("logcompaction", instant).instant == instant
    assert not both.hoodoo().timeline().pending()
    check(both, "planned by Spark")
    write_on(both)
