"""After each service of one side the metadata table is right for the other one, which writes on."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
from both import Both
from indexed import check, doubts, made, newest, procedure, rows, said, setup, written

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
GONE = [f"k{n}" for n in range(60)]
QUIET = {
    "hoodie__clean__automatic": "false",
    "hoodie__archive__automatic": "false",
    "hoodie__keep__min__commits": "2",
    "hoodie__keep__max__commits": "3",
    "hoodie__clean__commits__retained": "1",
}


def begin(both: Both, kind: str, partition: str = "region") -> None:
    """Made by Hoodoo, and three writes old."""
    made(both, kind, partition, **QUIET)
    dotted = {key.replace("__", "."): value for key, value in QUIET.items()}
    both.options.update({k: v for k, v in dotted.items() if "automatic" in k})
    both.hoodoo_upsert(rows(range(24), 1, "first"))
    both.hoodoo_upsert(rows(range(12, 32), 2, "second"))
    both.hoodoo_delete(rows([3, 20], 2, ""))


def clean(both: Both) -> None:
    assert both.hoodoo().clean(commits_retained=1).files


def compaction(both: Both) -> None:
    assert both.hoodoo().compact().instant


def archive(both: Both) -> None:
    """Everything that can be: the metadata table has the instants for longer."""
    for ts in (3, 4, 5):
        both.hoodoo_upsert(rows(range(ts, ts + 8), ts, "more"))
    compact_metadata(both)
    clean(both)
    assert both.hoodoo().archive().instants


def rollback(both: Both) -> None:
    then = copy.deepcopy(both.model.rows)
    both.hoodoo_upsert(rows(range(28, 40), 3, "undone"))
    both.hoodoo_delete(rows(range(4), 3, ""))
    for _ in range(2):
        both.hoodoo().rollback(newest(both))
    both.model.rows = then


def rollback_of_compacted(both: Both) -> None:
    """Of a write that a compaction of the metadata table has put into base files."""
    then = copy.deepcopy(both.model.rows)
    both.hoodoo_upsert(rows(range(28, 40), 3, "undone"))
    assert both.hoodoo().compact_metadata()
    both.hoodoo().rollback(newest(both))
    both.model.rows = then


def restore(both: Both) -> None:
    kept = both.hoodoo().savepoint()
    then = copy.deepcopy(both.model.rows)
    both.hoodoo_upsert(rows(range(28, 40), 3, "undone"))
    if both.options.get("hoodie.datasource.write.table.type") == MOR:
        both.hoodoo().compact()
    both.hoodoo_delete(rows(range(4), 3, ""))
    assert both.hoodoo().restore(kept).undone
    both.model.rows = then
    both.hoodoo().delete_savepoint(kept)


def delete_partitions(both: Both) -> None:
    both.hoodoo().delete_partitions("eu")
    both.model.drop("region", "eu")


def insert_overwrite(both: Both) -> None:
    kept = rows([6, 8, 50], 3, "over")
    both.hoodoo().insert_overwrite(written(both, both.model.replace(kept, "region")))


def insert_overwrite_table(both: Both) -> None:
    kept = rows([6, 7, 50], 3, "over")
    both.hoodoo().insert_overwrite_table(written(both, both.model.replace(kept)))


def rebuild(both: Both) -> None:
    assert set(both.hoodoo().rebuild_index()) >= {"files", "record_index"}


def rebuild_one(both: Both) -> None:
    for name in ("record_index", "column_stats"):
        assert both.hoodoo().rebuild_index(name) == (name,)


def compact_metadata(both: Both) -> None:
    """Until each group has base files of several compactions, log files, and slices that are gone."""
    before = hfiles(both)
    for ts in (3, 4, 5):
        both.hoodoo_upsert(rows([ts, 40 + ts], ts, "more"))
        done = both.hoodoo().compact_metadata()
        assert done or both.version == 6  # the write may have done it, and there it has one a write
    both.hoodoo_upsert(rows([30, 49], 6, "more"))
    both.hoodoo_delete(rows([30, 44], 6, ""))
    assert before - hfiles(both), "nothing was cleaned"
    assert len({name.rpartition("_")[2] for name in hfiles(both)}) >= 2


def hfiles(both: Both) -> set[str]:
    return {p.name for p in _folder(both, "record_index").glob("*.hfile")}


def _folder(both: Both, partition: str) -> Path:
    return both.path / ".hoodie" / "metadata" / partition


Service = Callable[[Both], None]
DONE: list[tuple[Service, str, str]] = [
    (clean, COW, "region"),
    (compaction, MOR, "region"),
    (archive, MOR, "region"),
    (rollback, COW, "region"),
    (rollback, MOR, "region"),
    (rollback_of_compacted, COW, ""),
    (restore, COW, ""),
    (restore, MOR, "region"),
    (delete_partitions, COW, "region"),
    (insert_overwrite, MOR, "region"),
    (insert_overwrite_table, COW, "region"),
    (insert_overwrite_table, MOR, ""),
    (rebuild, MOR, "region"),
    (rebuild_one, COW, "region"),
    (compact_metadata, MOR, "region"),
]


@pytest.mark.parametrize(
    ("service", "kind", "partition"),
    DONE,
    ids=[f"{s.__name__}-{'mor' if k == MOR else 'cow'}{'' if p else '-plain'}" for s, k, p in DONE],
)
def test_after_hoodoos(both: Both, service: Service, kind: str, partition: str) -> None:
    begin(both, kind, partition)
    service(both)
    at = said(both)
    check(both, "after the service", keys=GONE)
    both.spark_upsert(rows([1, 3, 6, 7, 20, 29, 30, 44, 50, 51], 7, "spark"))
    assert doubts(both, at) == []
    check(both, "Spark writes on", spark=False, keys=GONE)
    both.hoodoo_upsert(rows([0, 3, 7, 21, 29, 51, 52], 8, "hoodoo"))
    check(both, "Hoodoo writes on", keys=GONE)


def test_after_sparks_compaction(both: Both) -> None:
    """By a session that keeps all partitions; Hoodoo goes on."""
    begin(both, MOR)
    options = "hoodie.compact.inline.max.delta.commits=1,hoodie.datasource.write.recordkey.field=id"
    for step in ("schedule", "run"):
        assert procedure(both, "run_compaction", op=step, options=options)
    check(both, "after the service", keys=GONE)
    both.hoodoo_upsert(rows([0, 3, 7, 21, 29, 51, 52], 8, "hoodoo"))
    both.spark_upsert(rows([1, 3, 6, 7, 20, 29, 30, 44, 50, 51], 9, "spark"))
    check(both, "both write on", keys=GONE)


def test_spark_adds_partitions_after_an_indexing_action(both: Both) -> None:
    """Where such an action is the newest instant, Spark makes each partition at its instant, and undoes the
    one before; so Hoodoo's is older than what there is."""
    setup(both, COW, "region")
    both.opened = {"options": {}}
    few = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "false"}
    both.create(few, index="simple")
    both.hoodoo_upsert(rows(range(24), 1, "first"))
    both.hoodoo().rebuild_index()
    both.spark_upsert(rows([1, 3, 30], 2, "spark"))
    both.opened = {"options": {"hoodie.index.type": "RECORD_INDEX"}}
    check(both, "Spark has made all partitions", keys=GONE)
    both.hoodoo_upsert(rows([1, 4, 31], 3, "hoodoo"))
    check(both, "Hoodoo writes on", keys=GONE)
