"""A compaction that one side has planned, or left half done, is finished by the other, while both write."""

from __future__ import annotations

import pytest
from both import Both
from hoodoo.table.table import Table
from hoodoo.testing.stores import Crash, CrashingStorage
from hoodoo.timeline import properties
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage
from mor import base_files, check, check_travel, instants, log_files, rows, setup, spark_compact

KINDS = [(9, "SIMPLE"), (9, "BUCKET"), (6, "SIMPLE"), (6, "BUCKET")]
kinds = pytest.mark.parametrize(("version", "index"), KINDS)


def prepared(both: Both, version: int, index: str) -> None:
    """Base files (simple index) or none (buckets), with log files."""
    setup(both, version, index, "parquet" if index == "SIMPLE" else "avro").create()
    both.hoodoo_upsert(rows(range(16), 1, "first"))
    both.hoodoo_upsert(rows(range(8), 2, "second"))
    both.spark_delete(rows(range(2), 2, ""))
    check(both, "before")


def scheduled(both: Both, by: str) -> str:
    if by == "spark":
        return str(spark_compact(both, "schedule")[0]["timestamp"])
    instant = both.hoodoo().schedule_compaction()
    assert instant is not None
    return instant


def write_meanwhile(both: Both) -> None:
    """`hudi` does not see what is written under a pending compaction of version 6."""
    others = both.version > 6
    both.hoodoo_upsert(rows(range(4, 10), 3, "hoodoo") + rows(range(20, 23), 1, "hoodoo"))
    check(both, "Hoodoo writes under the plan", others)
    both.spark_upsert(rows(range(6, 12), 4, "spark") + rows(range(30, 33), 1, "spark"))
    both.spark_delete(rows(range(4, 6), 4, ""))
    check(both, "Spark writes under the plan", others)
    both.hoodoo_upsert(rows(range(7, 14), 5, "again") + rows(range(6, 8), 5, "", True))
    both.hoodoo_delete(rows(range(10, 12), 5, ""))
    check(both, "and Hoodoo again", others)


def write_on(both: Both) -> None:
    both.spark_upsert(rows(range(12, 34), 6, "spark"))
    both.hoodoo_upsert(rows(range(8, 20), 7, "hoodoo"))
    check(both, "both write on")


@kinds
@pytest.mark.parametrize("by", ["spark", "hoodoo"])
def test_planned_by_one_run_by_the_other(both: Both, version: int, index: str, by: str) -> None:
    prepared(both, version, index)
    instant = scheduled(both, by)
    write_meanwhile(both)
    if by == "spark":
        both.hoodoo().run_compaction(instant)
    else:
        assert spark_compact(both, "run")[0]["timestamp"] == instant
    assert instant in instants(both)
    check(both, f"planned by {by}, run by the other")
    for earlier in instants(both)[1:3]:
        check_travel(both, earlier)
    write_on(both)


@pytest.mark.parametrize("version", [9, 6])
def test_spark_finishes_hoodoos(both: Both, version: int) -> None:
    """The run dies when its base files are there, before it is published."""
    prepared(both, version, "SIMPLE")
    before = len(base_files(both))
    instant = scheduled(both, "hoodoo")
    for at in range(1, 100):
        store = CrashingStorage(LocalStorage(str(both.path)), at)
        try:
            Table(store, properties.load(store), {}, LocalEngine(1)).run_compaction(instant)
        except Crash:
            if len(base_files(both)) > before:
                break
        else:
            pytest.fail("the run was never seen with a base file and without a commit")
    check(both, "after the crash")
    write_meanwhile(both)
    spark_compact(both, "run")
    assert instant in instants(both)
    check(both, "run again by Spark")
    write_on(both)


@pytest.mark.parametrize("version", [9, 6])
def test_hoodoo_finishes_sparks(both: Both, version: int) -> None:
    """Spark's run was never published: its base files are there, its commit file is not."""
    prepared(both, version, "SIMPLE")
    instant = scheduled(both, "spark")
    before = len(base_files(both))
    spark_compact(both, "run")
    assert len(base_files(both)) > before
    (done,) = both.path.glob(f".hoodie/**/{instant}*.commit")
    done.unlink()
    done.with_name(f".{done.name}.crc").unlink(missing_ok=True)
    check(both, "without the commit file")
    write_meanwhile(both)
    both.hoodoo().run_compaction(instant)
    assert instant in instants(both)
    check(both, "run again by Hoodoo")
    write_on(both)


@pytest.mark.parametrize("version", [9, 6])
def test_next_write_leaves_the_plan(both: Both, version: int) -> None:
    """A plan is no failed write: neither side's next write rolls it back, nor loses its log files."""
    prepared(both, version, "SIMPLE")
    instant = scheduled(both, "spark")
    both.hoodoo_upsert(rows(range(3, 6), 3, "hoodoo"))
    both.spark_upsert(rows(range(5, 8), 4, "spark"))
    pending = [i.requested for i in both.hoodoo().timeline().pending()]
    assert pending == [instant]
    logs = len(log_files(both))
    both.hoodoo().compact()
    assert [i for i in both.hoodoo().timeline().pending()] == []
    assert len(log_files(both)) == logs
    check(both, "compacted, twice if need be")
    write_on(both)
