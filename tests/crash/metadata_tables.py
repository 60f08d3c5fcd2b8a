"""Tables with a metadata table of five partitions, and what has to hold of them: for the trials beside
this module."""

from __future__ import annotations

from pathlib import Path

import hoodoo
from crash_leaks import leaks
from crash_trials import (
    NEXT,
    SCHEMA,
    Operation,
    State,
    age_temporaries,
    opened,
    ours,
    rows,
    state,
)
from effort import MORE
from hoodoo.table.table import Table
from hoodoo.timeline import properties
from hoodoo_metadata.table.metadata_table import listed
from merge_on_read import with_options

KINDS = ("on-write", "on-read")
# The same in table version 6.
KINDS_6 = tuple(f"{kind}-6" for kind in KINDS)
# The same with a growing record index, whose buckets are full soon. It does not bring the other partitions.
KINDS_GROWING = tuple(f"{kind}-growing" for kind in KINDS)
GROWING = {
    "hoodie.metadata.enable": "true", "hoodoo.index.buckets": "2", "hoodoo.index.bucket.cap": "1",
}  # fmt: skip
FILES = {
    "hoodie.metadata.record.level.index.min.filegroup.count": "1",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    # One: names of files are random, and with them which group has their filter.
    "hoodie.metadata.index.bloom.filter.file.group.count": "1",
}
# One at a time, so that the n-th operation is the same in each trial.
CLEANING = {"hoodie.clean.parallelism": "1"}


def create(path: Path, kind: str, **more: str) -> Table:
    if kind in KINDS_GROWING:
        more = {**GROWING, **more}
    return hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        index="growing_record_index" if kind in KINDS_GROWING else "record_index",
        table_type="MERGE_ON_READ" if kind.startswith("on-read") else "COPY_ON_WRITE",
        table_version=6 if kind in KINDS_6 else 9, options={**FILES, **more},
    )  # fmt: skip


def build(path: Path, kind: str) -> Path:
    """Four commits old: keys in two partitions, one that was deleted, slices that a clean takes."""
    create(path, kind)
    table = opened(path)
    table.insert(rows({1: "a", 2: "a", 3: "b", 4: "b", 5: "b"}, "old", 1))
    table.upsert(rows({2: "a", 3: "b"}, "mid", 2))
    table.delete([5])
    if kind.startswith("on-read"):
        table.compact()
    table.upsert(rows({2: "a", 6: "b"}, "late", 2))
    return path


def _upsert(table: Table) -> object:
    return table.upsert(rows({1: "a", 6: "b", 7: "c"}, "new", 3))


def _pending(table: Table) -> object:
    """Of a write that died before its end."""
    return table.rollback()


def _newest(table: Table) -> str:
    return table.timeline().writes()[-1].requested


def _second(table: Table) -> str:
    return table.timeline().writes()[1].requested


def _overwrite(table: Table) -> object:
    return table.insert_overwrite(rows({8: "a", 2: "a"}, "new", 3))


def _clean(table: Table) -> object:
    return with_options(table, CLEANING).clean(commits_retained=1)


OPERATIONS: dict[str, Operation] = {
    "insert": lambda t: t.insert(rows({8: "a", 9: "c"}, "new", 3)),
    "upsert": _upsert,
    "delete": lambda t: t.delete([1, 3]),
    "insert_overwrite": _overwrite,
    "delete_partitions": lambda t: t.delete_partitions("a"),
    "compaction": lambda t: t.compact(),
    "clean": _clean,
    "rollback": lambda t: t.rollback(_newest(t)),
    "rollback_pending": _pending,
    "rollback_compacted": lambda t: t.rollback(_newest(t)),
    "restore": lambda t: t.restore(_second(t)),
    "rebuild_index": lambda t: t.rebuild_index(),
    # By the table's own property: a rebuild that died may have left no index that is listed.
    "rebuild_records": lambda t: t.rebuild_index(
        (t.config.get("hoodoo.index.type") or "record_index").lower()
    ),
    "compact_metadata": lambda t: t.compact_metadata(),
    "inline_compaction": lambda t: _upsert(
        with_options(t, {"hoodie.metadata.compact.max.delta.commits": "2"})
    ),
}
# The others leave the rows as they are.
CHANGING = frozenset({
    "insert", "upsert", "delete", "insert_overwrite", "delete_partitions", "rollback",
    "rollback_compacted", "restore", "inline_compaction",
})  # fmt: skip


# Of version 6, and with a growing index, in each run.
_FEW = frozenset(
    {("upsert", "on-read-6"), ("compact_metadata", "on-write-6"), ("rollback", "on-write-6"),
     ("upsert", "on-write-growing"), ("compact_metadata", "on-read-growing"), ("restore", "on-write-growing")}
)  # fmt: skip


def cases() -> list[tuple[str, str]]:
    found = [(n, k) for n in OPERATIONS for k in (*KINDS, *KINDS_6, *KINDS_GROWING)]
    found = [(n, k) for n, k in found if n != "compaction" or k.startswith("on-read")]
    return found if MORE else [case for case in found if case[1] in KINDS or case in _FEW]


def some(what: str) -> list[tuple[str, str]]:
    """Every other case, one kind of table for each action, others than of another test; or all."""
    if MORE:
        return cases()
    other = what == "error"
    return [c for n, c in enumerate(cases()) if n % 2 == other]


def seen(path: Path) -> State:
    """What both readers see. `hudi` passes over log files of version 6 that come behind a planned compaction."""
    timeline = opened(path).timeline()
    behind = any(i.action == "compaction" for i in timeline.pending())
    return ours(path) if behind and timeline.layout.log_names_slice else state(path)


def check_reads(path: Path, allowed: set[State], where: str) -> State:
    """Before anybody recovers anything: both readers see the same, and one of ``allowed``. The other reader
    does not carry out what was decided, so Hoodoo looks first."""
    mine = ours(path)
    assert mine in allowed, f"{where}: {mine}"
    if not (path / properties.BACKUP).exists():  # `hudi` does not look at it
        assert seen(path) == mine, where
    return mine


def check_goes_on(path: Path, found: State, allowed: set[State], where: str) -> None:
    """The next write is an upsert of one new key and of all that were ``found``: none is there twice then,
    and the index knows of all where they are. Nothing is left behind. What others had decided is finished
    before: the table is one of ``allowed`` then."""
    age_temporaries(path)
    key, text, region = NEXT
    names = {k: r for k, _, r in found}
    opened(path).upsert(rows({**names, key: region}, text, 9))
    mine = [(k, text, r) for k, r in {**names, key: region}.items()]
    after = {
        tuple(sorted([*mine, *(row for row in rows_ if row[0] not in names)])) for rows_ in allowed
    }
    expected = seen(path)
    assert expected in after, f"{where}: the next write: {expected}"
    check_whole(path, where)
    opened(path).delete([key])
    assert seen(path) == tuple(row for row in expected if row[0] != key), f"{where}: a delete"
    assert leaks(path, services=True) == [], where


def check_whole(path: Path, where: str) -> None:
    """What the metadata table says is what the files say."""
    config = opened(path).config
    count = 4 if config.version == 6 else 5
    assert len(listed(config)) == count, f"{where}: {listed(config)}"
    report = opened(path).verify()
    assert report.ok, f"{where}: {[str(f) for f in report.findings]}"
