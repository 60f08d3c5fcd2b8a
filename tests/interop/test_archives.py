"""Archiving by turns: each side archives what both wrote, and goes on where the other one archived."""

from __future__ import annotations

import mor
import pytest
from both import Both
from hoodoo.kernel.archived import load_archived
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo_standard.storage.local import LocalStorage
from model import SCHEMA, Model
from mor import rows_for

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
kinds = pytest.mark.parametrize(("version", "kind"), [(9, COW), (6, COW), (9, MOR), (6, MOR)])
KEEP = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clean.commits.retained": "1",
    "hoodie.timeline.compaction.batch.size": "2",  # so that both merge what both have written
}
NOT = {"hoodie.archive.automatic": "false"}
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
WRITES = ("commit", "deltacommit", "replacecommit")


def setup(both: Both, version: int, kind: str) -> None:
    if kind == MOR:
        mor.setup(both, version)
    else:
        both.setup(Model(), SCHEMA, version, partition_by=["region"])
    compact = COMPACT if kind == MOR else {}
    both.opened = {"options": {**both.opened.get("options", {}), **KEEP, **compact}}
    both.options.update({**KEEP, **compact})
    both.create()


def hoodoo_writes(both: Both, times: int, ts: int) -> None:
    for n in range(times):
        both.hoodoo_upsert(rows_for(both, range(4 + n), ts + n, f"hoodoo{ts + n}"))


def spark_writes(both: Both, times: int, ts: int, **options: str) -> None:
    for n in range(times):
        both.spark_upsert(rows_for(both, range(4 + n), ts + n, f"spark{ts + n}"), **options)


def archived(both: Both) -> dict[tuple[str, str], ArchivedInstant]:
    table = both.hoodoo()
    return {
        (i.requested, i.action): i for i in load_archived(LocalStorage(table.path), table.config)
    }


def active(both: Both) -> set[tuple[str, str]]:
    return {(i.requested, i.action) for i in both.hoodoo().timeline().completed()}


def check_told(both: Both) -> None:
    """Spark tells of the same instants as Hoodoo, and knows what they wrote."""
    sql, call = both.spark.worker.sql, both.spark.worker.call
    sql(f"create table told using hudi location '{both.path}'")
    try:
        ours = archived(both)
        found = call("show_timeline(table => 'told', showArchived => true, limit => 1000)")
        theirs = {
            (i["instant_time"], i["action"]) for i in found if i["timeline_type"] == "ARCHIVED"
        }
        done = {k for k in theirs if k[1] not in ("compaction", "clustering")}
        assert done == set(ours)
        commits = call(
            "show_archived_commits(table => 'told', limit => 1000, "
            "start_ts => '20000101000000000', end_ts => '30000101000000000')"
        )
        written = {
            c["commit_time"]: int(c["total_files_added"]) + int(c["total_files_updated"])
            for c in commits
        }
        for (requested, action), instant in ours.items():
            if action in WRITES and requested in written:
                assert written[requested] == len(instant.metadata().stats)
        assert set(written) >= {r for r, action in ours if action == "commit"}
    finally:
        sql("drop table told")


@kinds
def test_by_turns(both: Both, version: int, kind: str) -> None:
    setup(both, version, kind)
    seen: set[tuple[str, str]] = set()
    hoodoo_writes(both, 6, 0)
    seen |= active(both) | set(archived(both))
    first = archived(both)
    assert len([k for k in first if k[1] in WRITES]) >= 4, "Hoodoo archives"
    mor.check(both, "archived by Hoodoo")
    check_told(both)
    spark_writes(both, 3, 20)
    seen |= active(both) | set(archived(both))
    second = archived(both)
    assert set(first) < set(second), "Spark goes on"
    assert {first[k].metadata_bytes() for k in first} <= {
        i.metadata_bytes() for i in second.values()
    }
    mor.check(both, "archived by Spark")
    hoodoo_writes(both, 3, 40)
    third = archived(both)
    assert set(second) < set(third), "and Hoodoo again"
    assert seen <= set(third) | active(both), "nothing is forgotten"
    mor.check(both, "and by Hoodoo again")
    check_told(both)
    assert all(i.metadata().stats for i in third.values() if i.action in WRITES)


@kinds
def test_each_archives_what_only_the_other_wrote(both: Both, version: int, kind: str) -> None:
    """Compactions, cleans and all, in one run."""
    setup(both, version, kind)
    spark_writes(both, 5, 0, **NOT)
    both.hoodoo().archive()
    ours = archived(both)
    assert len([k for k in ours if k[1] in WRITES]) >= 3
    mor.check(both, "Spark's, archived by Hoodoo")
    check_told(both)
    both.opened["options"].update(NOT)
    hoodoo_writes(both, 4, 20)
    assert set(archived(both)) == set(ours)
    spark_writes(both, 1, 40)
    assert set(archived(both)) > set(ours)
    mor.check(both, "Hoodoo's, archived by Spark")
    check_told(both)
