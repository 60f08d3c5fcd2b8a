"""Rewriting keys: an existing table's files stop to store them, and everything else stays."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo import Table
from hoodoo.errors import CommitConflictError, ConfigError, HoodooWarning
from hoodoo.model.meta import COMMIT_TIME, META_COLUMNS, RECORD_KEY
from hoodoo.testing.steps import before
from hoodoo_services import rewrite
from virtual_tables import (
    COW,
    KINDS,
    MOR,
    STORED_UNTIL,
    VERSIONS,
    base_files,
    check,
    create,
    footers,
    ours,
    rows,
    stored,
    told,
)

pytestmark = pytest.mark.sampled(4)

# Enough rows for the keys to weigh something.
MANY = 3000
KEYS = ["k2", "id"]


def many(path: Path, kind: str = COW, version: int = 9, index: str = "simple") -> Table:
    """Two partitions; some rows were updated: in a table that is merged on read these are in logs."""
    table = create(path, record_key=KEYS, table_type=kind, table_version=version, index=index)
    table.upsert(rows(range(MANY), "old", 1))
    table.upsert(rows(range(0, 40, 4), "new", 2))
    return table


def expected() -> dict[int, str]:
    return {i: "new" if i < 40 and i % 4 == 0 else "old" for i in range(MANY)}


def groups(table: Table) -> set[tuple[str, str]]:
    return {(s.partition_path, s.file_id) for s in table.file_slices()}


def size(table: Table) -> int:
    root = Path(table.path.removeprefix("file://"))
    return sum(os.path.getsize(root / s.base_file.path)
               for s in table.file_slices() if s.base_file is not None)  # fmt: skip


def whole(table: Table, **more: Any) -> list[str]:
    """All rows and the times of their commits."""
    found = table.read(columns=[COMMIT_TIME, "id", "k2", "v", "ts", "region"], **more).to_arrow()
    return sorted(map(repr, found.to_pylist()))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_rewrite(tmp_path: Path, kind: str, version: int) -> None:
    table = many(tmp_path, kind, version)
    ids, before, had = groups(table), whole(table), size(table)
    instants = [i.requested for i in table.timeline().writes()]
    then = {instant: whole(table, as_of=instant) for instant in instants}
    done = table.rewrite_keys()
    assert done.groups == len(ids) == 2 and not done.left
    assert groups(table) == ids
    assert whole(table) == before
    check(table, tmp_path, expected())
    assert size(table) < 0.95 * had
    meta = stored(table)
    assert set(meta[RECORD_KEY]) == {None} and None not in meta[COMMIT_TIME]
    assert all(set(meta[n]) == {None} for n in META_COLUMNS if n != COMMIT_TIME)
    assert not footers(table)
    assert not any(s.log_files for s in table.file_slices())
    # On the timeline like any commit.
    now = [i.requested for i in table.timeline().writes()]
    assert sorted(now) == sorted([*instants, *done.instants]) and done.instants
    assert STORED_UNTIL not in table.config.properties
    assert not table.verify().findings
    # A second run finds nothing.
    again = table.rewrite_keys()
    assert not again.instants and not again.groups and not again.left
    assert len(table.timeline().writes()) == len(now)
    with told() as said:
        assert hoodoo.open(str(tmp_path)).read().count() == MANY
    assert not said
    # No row has changed.
    assert table.incremental(since=instants[-1]).to_arrow().num_rows == 0
    assert table.changes(since=instants[-1]).to_arrow().num_rows == 0
    # The old state, until it is cleaned.
    for instant, shown in then.items():
        assert whole(table, as_of=instant) == shown
    table.clean(commits_retained=1)
    table.upsert(rows([1, MANY], "more", 3))
    table.clean(commits_retained=1)
    with pytest.raises(ConfigError, match="clean"):
        table.read(as_of=instants[0]).to_arrow()
    check(table, tmp_path, {**expected(), 1: "more", MANY: "more"})


@pytest.mark.parametrize("kind", KINDS)
def test_enabled_before_and_written_since(tmp_path: Path, kind: str) -> None:
    """Only the groups that store keys are rewritten."""
    table = many(tmp_path, kind)
    table.enable_virtual_keys()
    table.upsert(rows([MANY + 1], "younger", 3))  # region b
    if kind == MOR:
        table.compact()
    others = {s.base_file.name for s in table.file_slices("29990101000000000")
              if s.base_file and s.partition_path == "b"}  # fmt: skip
    shown = {**expected(), MANY + 1: "younger"}
    done = table.rewrite_keys()
    assert done.groups == 1 if kind == COW else done.groups <= 1
    assert others <= {s.base_file.name for s in table.file_slices() if s.base_file}
    check(table, tmp_path, shown)
    assert set(stored(table)[RECORD_KEY]) == {None}


def test_a_table_without_rows(tmp_path: Path) -> None:
    table = create(tmp_path)
    done = table.rewrite_keys()
    assert not done.instants and not done.left and not table.config.populate_meta_fields
    table.upsert(rows(range(3), "a", 1))
    check(table, tmp_path, dict.fromkeys(range(3), "a"))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_read_that_began_before(tmp_path: Path, kind: str, version: int) -> None:
    table = many(tmp_path, kind, version)
    scans = [hoodoo.open(str(tmp_path)).read(columns=["id", "v", *more]) for more in ((), ("k2",))]
    keyed = hoodoo.open(str(tmp_path)).read(columns=["id", RECORD_KEY])
    begun = scans[1].to_batches()
    first = next(iter(begun))
    table.rewrite_keys()
    assert first.num_rows + sum(batch.num_rows for batch in begun) == MANY
    for scan in scans:
        found = scan.to_arrow()
        assert dict(zip(*(found.column(n).to_pylist() for n in ("id", "v")))) == expected()
    assert keyed.to_arrow().column(RECORD_KEY).null_count == 0  # what it was then


# --- beside others ------------------------------------------------------------------------------------
@pytest.mark.parametrize("index", ["simple", "bucket"])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_that_comes_in_between(
    tmp_path: Path, kind: str, version: int, index: str
) -> None:
    """Its rows stand: the rewrite of the file groups that it touched is repeated."""
    table = create(tmp_path, table_type=kind, table_version=version, index=index)
    table.bulk_insert(rows(range(40), "old", 1))
    table.enable_virtual_keys()

    def others() -> None:
        other = hoodoo.open(str(tmp_path))
        other.upsert(rows([1, 2, 77], "between", 5))
        other.delete([3])

    with before("complete", others):
        done = table.rewrite_keys()
    shown = {**dict.fromkeys(range(40), "old"), 1: "between", 2: "between", 77: "between"}
    del shown[3]
    check(table, tmp_path, shown)
    # What it has put into log files waits for a compaction: the run says so, and the next one does it.
    assert bool(done.left) == (kind == MOR)
    assert set(done.left) <= groups(table)
    assert not table.rewrite_keys().left
    check(table, tmp_path, shown)
    assert set(stored(table)[RECORD_KEY]) == {None}
    assert not table.verify().findings
    table.upsert(rows([2, 78], "later", 6))
    check(table, tmp_path, {**shown, 2: "later", 78: "later"})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_rewrite_that_comes_in_between(tmp_path: Path, kind: str, version: int) -> None:
    """The write is repeated, and finds its rows in the new files. It began when keys were stored."""
    table = create(tmp_path, table_type=kind, table_version=version)
    table.upsert(rows(range(20), "old", 1))
    with before("complete", lambda: hoodoo.open(str(tmp_path)).rewrite_keys()):
        table.upsert(rows([1, 2, 77], "new", 5))
    shown = {**dict.fromkeys(range(20), "old"), 1: "new", 2: "new", 77: "new"}
    check(table, tmp_path, shown)
    again = hoodoo.open(str(tmp_path))
    again.upsert(rows([1, 3], "more", 6))
    check(again, tmp_path, {**shown, 1: "more", 3: "more"})
    assert not again.verify().findings


@pytest.mark.parametrize("kind", KINDS)
def test_enabling_while_a_write_is_under_way(tmp_path: Path, kind: str) -> None:
    """Its files store keys although these are virtual by the time it is done: nobody minds."""
    table = create(tmp_path, table_type=kind)
    table.upsert(rows(range(20), "old", 1))
    with before("complete", lambda: hoodoo.open(str(tmp_path)).enable_virtual_keys()):
        table.upsert(rows([1, 77], "new", 2))
    shown = {**dict.fromkeys(range(20), "old"), 1: "new", 77: "new"}
    check(table, tmp_path, shown)
    found = table.read(columns=[RECORD_KEY]).to_arrow()
    assert found.column(0).null_count == 21
    table.upsert(rows([1, 2, 77], "more", 3))
    shown |= {1: "more", 2: "more", 77: "more"}
    check(table, tmp_path, shown)
    table.rewrite_keys()
    check(table, tmp_path, shown)


def test_other_writers_again_and_again(tmp_path: Path) -> None:
    """The order's patience ends, what has been committed stands, and the next run does the rest."""
    table = hoodoo.open(
        str(create(tmp_path).path), {"hoodie.write.num.retries.on.conflict.failures": "0"}
    )
    table.upsert(rows(range(8), "old", 1))
    with before("complete", lambda: hoodoo.open(str(tmp_path)).upsert(rows([1], "x", 9))):
        with pytest.raises(CommitConflictError):
            table.rewrite_keys()
    shown = {**dict.fromkeys(range(8), "old"), 1: "x"}
    check(table, tmp_path, shown)
    assert not table.timeline().pending()
    assert not table.rewrite_keys().left
    check(table, tmp_path, shown)


def test_a_few_groups_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short after the first commit, it is begun again where it stopped."""
    monkeypatch.setattr(rewrite, "GROUPS", 1)
    table = create(tmp_path, index="bucket")
    table.upsert(rows(range(60), "old", 1))
    ids = groups(table)
    assert len(ids) == 4
    real: Any = rewrite.Writes.files
    calls: list[Any] = []

    def cut_short(*args: Any) -> Any:
        if len(calls) == 1:
            raise KeyboardInterrupt
        calls.append(args)
        return real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(rewrite.Writes, "files", cut_short)
        with pytest.raises(KeyboardInterrupt):
            table.rewrite_keys()
    assert len(table.timeline().writes()) == 2
    assert sum(k is None for k in stored(table)[RECORD_KEY]) in range(1, 60)
    with told() as said:
        check(hoodoo.open(str(tmp_path)), tmp_path, dict.fromkeys(range(60), "old"))
    assert "3 of 4 file groups" in said[0]
    done = hoodoo.open(str(tmp_path)).rewrite_keys()
    assert len(done.instants) == done.groups == 3 and not done.left
    assert groups(table) == ids
    check(table, tmp_path, dict.fromkeys(range(60), "old"))


def test_a_task_that_ran_twice_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = many(tmp_path)
    real, strays = rewrite.new_files, []

    def twice(target: Any, slices: Any, instant: Any) -> Any:
        stats = real(target, slices, instant)
        for stat in stats:
            name = stat.path.rpartition("/")[2]
            file_id, _token, rest = name.split("_")
            strays.append(tmp_path / stat.partition_path / f"{file_id}_7-1-1_{rest}")
            shutil.copy(tmp_path / stat.path, strays[-1])
        return stats

    monkeypatch.setattr(rewrite, "new_files", twice)
    table.rewrite_keys()
    assert len(strays) == 2 and not any(stray.exists() for stray in strays)
    check(table, tmp_path, expected())
    assert not table.verify().findings


@pytest.mark.parametrize("version", VERSIONS)
def test_a_pending_compaction_is_run_first(tmp_path: Path, version: int) -> None:
    table = many(tmp_path, MOR, version)
    table.schedule_compaction()
    table.upsert(rows([2], "since", 3))
    shown = {**expected(), 2: "since"}
    table.rewrite_keys()
    assert not table.timeline().pending()
    check(table, tmp_path, shown)
    assert not table.rewrite_keys().left
    assert set(stored(table)[RECORD_KEY]) == {None}
    check(table, tmp_path, shown)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_groups_of_a_pending_clustering_are_left_to_it(
    tmp_path: Path, kind: str, version: int
) -> None:
    """Else its plan would name files that are not the newest ones any more."""
    table = many(tmp_path, kind, version)
    options = {"hoodoo.clustering.with.log.files": "true"} if kind == MOR else {}
    planned = table.schedule_clustering(
        plan="size", order="linear", columns=["id"], options=options
    )
    assert planned
    assert set(table.rewrite_keys().left) == groups(table), "the plan has both"
    check(table, tmp_path, expected())
    table.run_clustering(planned)
    assert not table.rewrite_keys().left
    assert set(stored(table)[RECORD_KEY]) == {None}
    check(table, tmp_path, expected())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_restored_to_before(tmp_path: Path, kind: str, version: int) -> None:
    """Files that store keys come back, and these are not looked at."""
    table = create(tmp_path, table_type=kind, table_version=version)
    saved = table.upsert(rows(range(10), "old", 1)).instant
    table.savepoint(saved)
    table.rewrite_keys()
    table.upsert(rows([1], "new", 2))
    table.restore(saved)
    check(table, tmp_path, dict.fromkeys(range(10), "old"))
    assert table.read(columns=[RECORD_KEY]).to_arrow().column(0).null_count == 10
    table.upsert(rows([1, 11], "again", 2))
    check(table, tmp_path, {**dict.fromkeys(range(10), "old"), 1: "again", 11: "again"})


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
def test_on_spark(tmp_path: Path, spark: Any) -> None:
    for kind in KINDS:
        table = many(tmp_path / kind, kind)
        ids, had = groups(table), size(table)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HoodooWarning)
            done = table.rewrite_keys(engine="spark")
        assert not done.left and done.groups == 2
        assert groups(table) == ids and size(table) < had
        check(table, tmp_path / kind, expected())
        assert set(stored(table)[RECORD_KEY]) == {None}
        table.upsert(rows([1, MANY], "new", 3), engine="spark")
        assert ours(table) == {**expected(), 1: "new", MANY: "new"}
        frame = table.read(columns=["id", RECORD_KEY]).to_spark(spark)
        assert frame.where("_hoodie_record_key is null").count() == MANY + 1


def test_each_file_is_asked_what_it_stores(tmp_path: Path) -> None:
    """Not only the schema: a column of nulls is there, and takes no room."""
    table = many(tmp_path)
    table.rewrite_keys()
    for file in base_files(table):
        assert file.schema_arrow.field(RECORD_KEY).type == pa.string()
        at = file.schema_arrow.names.index(RECORD_KEY)
        column = file.metadata.row_group(0).column(at)
        assert column.total_compressed_size < 100
