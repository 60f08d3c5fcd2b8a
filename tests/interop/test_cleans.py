"""Cleans by turns: each side cleans what both wrote, and goes on where the other one cleaned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mor
import pytest
from both import Both
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_services.clean.plan import MADE_BY, last_clean, pending_cleans, read_plan
from model import SCHEMA, Model
from mor import rows_for

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
kinds = pytest.mark.parametrize(("version", "kind"), [(9, COW), (6, COW), (9, MOR), (6, MOR)])
ONE = {"hoodie.clean.commits.retained": "1"}
NOT = {"hoodie.clean.automatic": "false"}
# Spark's compaction follows its clean: what it superseded is cleaned after the next write.
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


def setup(both: Both, version: int, kind: str) -> None:
    if kind == MOR:
        mor.setup(both, version)
    else:
        both.setup(Model(), SCHEMA, version, partition_by=["region"])
    both.opened = {"options": {**both.opened.get("options", {}), **NOT}}
    both.create()


def hoodoo_writes(both: Both, times: int, ts: int) -> None:
    for n in range(times):
        both.hoodoo_upsert(rows_for(both, range(8), ts + n, f"hoodoo{ts + n}"))
        if both.hoodoo().config.table_type == MOR:
            both.hoodoo().compact()


def spark_writes(both: Both, times: int, ts: int, **options: str) -> None:
    compact = COMPACT if both.hoodoo().config.table_type == MOR else {}
    for n in range(times):
        both.spark_upsert(
            rows_for(both, range(8), ts + n, f"spark{ts + n}"), **{**ONE, **compact, **options}
        )


def check(both: Both, where: str) -> None:
    mor.check(both, where)


def data_files(both: Both) -> set[str]:
    found = [*mor.base_files(both), *mor.log_files(both)]
    return {str(path.relative_to(both.path)) for path in found}


def newest(both: Both) -> tuple[str, bool]:
    """The last completed clean, and whether it was Hoodoo's."""
    table = both.hoodoo()
    last = last_clean(Snapshot(table.handle.storage, table.timeline()))
    assert last is not None
    return last.instant.requested, MADE_BY in last.extra


@kinds
def test_by_turns(both: Both, version: int, kind: str) -> None:
    setup(both, version, kind)
    hoodoo_writes(both, 4, 1)
    before = data_files(both)
    cleaned = both.hoodoo().clean(commits_retained=1)
    assert set(cleaned.files) == before - data_files(both) != set()
    assert newest(both) == (cleaned.instant, True)
    check(both, "cleaned by Hoodoo")
    before = data_files(both)
    spark_writes(both, 3, 10)
    instant, ours = newest(both)
    assert instant > cleaned.instant and not ours, "Spark has cleaned"
    assert before - data_files(both)
    check(both, "cleaned by Spark")
    hoodoo_writes(both, 2, 20)
    again = both.hoodoo().clean(commits_retained=1)
    assert again.files and newest(both) == (again.instant, True)
    check(both, "cleaned by Hoodoo again")
    versions = both.hoodoo().clean("by_versions", fileversions_retained=1)
    assert versions.files and len(mor.base_files(both)) == 2
    check(both, "one version left")
    spark_writes(both, 2, 30)
    assert not newest(both)[1]
    check(both, "Spark goes on")
    mor.check_travel(both, mor.instants(both)[-1])


@kinds
def test_spark_finishes_hoodoos(both: Both, version: int, kind: str) -> None:
    setup(both, version, kind)
    hoodoo_writes(both, 4, 1)
    table = both.hoodoo()
    instant = table.schedule_clean(commits_retained=1)
    planned = set(read_plan(Snapshot(table.handle.storage, table.timeline()), _pending(both)).files)
    assert instant and planned <= data_files(both)
    (both.path / min(planned)).unlink()  # Hoodoo had begun
    spark_writes(both, 1, 10)
    assert not planned & data_files(both)
    assert newest(both) == (instant, True)
    check(both, "finished by Spark")
    hoodoo_writes(both, 2, 20)
    assert both.hoodoo().clean(commits_retained=1).files
    check(both, "and Hoodoo goes on")


@kinds
def test_hoodoo_finishes_sparks(both: Both, version: int, kind: str) -> None:
    setup(both, version, kind)
    spark_writes(both, 4, 1)
    instant, ours = newest(both)
    assert not ours
    for path in _files_of(both, instant):
        if "requested" not in path.name:
            path.unlink()
    assert _pending(both).requested == instant
    hoodoo_writes(both, 2, 10)
    assert both.hoodoo().clean(commits_retained=1).files
    assert not pending_cleans(both.hoodoo().timeline())
    assert instant in {i.requested for i in both.hoodoo().timeline().completed()}
    check(both, "finished by Hoodoo")
    spark_writes(both, 2, 20)
    check(both, "and Spark goes on")


@kinds
def test_a_partition_that_is_gone_and_comes_back(both: Both, version: int, kind: str) -> None:
    setup(both, version, kind)
    hoodoo_writes(both, 1, 1)
    both.hoodoo().delete_partitions("eu")
    both.model.drop("region", "eu")
    us = [row for row in rows_for(both, range(8), 2, "us") if row["region"] == "us"]
    both.hoodoo_upsert(us)
    cleaned = both.hoodoo().clean("by_versions", fileversions_retained=1)
    assert cleaned.partitions == ("eu",)
    assert not [p for p in (both.path / "eu").glob("**/*") if p.is_file()]
    check(both, "without a partition")
    spark_writes(both, 1, 10)
    check(both, "with it, by Spark")
    assert (both.path / "eu" / ".hoodie_partition_metadata").is_file()


def _pending(both: Both) -> Any:
    (found,) = pending_cleans(both.hoodoo().timeline())
    return found


def _files_of(both: Both, instant: str) -> list[Path]:
    return sorted(both.path.glob(f".hoodie/**/*{instant}*.clean*"))
