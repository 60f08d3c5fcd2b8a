"""Savepoint, restore and the rollback of completed writes, through the public API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pytest
from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.model.instant import State
from hoodoo.testing.stores import Crash, GatedStorage
from hoodoo.testing.tables import opened_in
from hoodoo.timeline import publish
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.codec import avro
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.view import list_data
from hoodoo_rows.testing.tables import dicts
from hoodoo_services.outcome import Restored
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("v", pa.string()), ("ts", pa.int64())]
)
META = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key"]
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
KINDS = [(COW, 9), (COW, 6), (MOR, 9), (MOR, 6)]
BOTH = pytest.mark.parametrize(("kind", "version"), KINDS)
MERGED = pytest.mark.parametrize("version", [9, 6])
# Cleaning and compaction happen when a test says so.
QUIET = {"hoodie.clean.automatic": "false", "hoodie.compact.inline": "false"}


def create(
    path: Path, kind: str, version: int, options: Mapping[str, str] | None = None
) -> hoodoo.Table:
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="day", ordering="ts",
        table_type=kind, table_version=version, options={**QUIET, **(options or {})},
    )  # fmt: skip


def data(ids: Sequence[int], v: str, ts: int) -> pa.Table:
    """Three days, by the rest of the id."""
    days = [f"d{n % 3}" for n in ids]
    return pa.table([ids, days, [v] * len(ids), [ts] * len(ids)], schema=SCHEMA)


def everything(table: hoodoo.Table, as_of: str | None = None) -> list[dict[str, Any]]:
    """All columns but the file name, which a compaction changes."""
    return dicts(
        table, [n for n in [*META, *SCHEMA.names] if n != "_hoodie_file_name"], as_of=as_of
    )


def test_a_rollback_beside_a_restore_whose_process_died_says_what_ends_it(tmp_path: Path) -> None:
    """It said "Open the table again.", which changes nothing."""
    table = create(tmp_path / "t", COW, 9)
    first, _, newest = (table.upsert(data([1, 2], v, 1)).instant for v in "abc")

    def gate(op: str, path: str) -> None:
        if path.endswith(".rollback.requested"):
            raise Crash(path)

    store = GatedStorage(LocalStorage(str(tmp_path / "t")), gate)
    with pytest.raises(Crash):
        opened_in(store, engine=LocalEngine(1)).restore(first)
    fix = r"If its process died, the next write or table\.rollback\(\) ends it"
    with pytest.raises(CommitConflictError, match=fix):
        table.rollback(newest)
    assert newest in table.rollback()
    assert [w.requested for w in table.timeline().writes()] == [first]


def theirs(path: Path) -> list[tuple[Any, ...]]:
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    return sorted((r["id"], r["v"], r["ts"]) for b in batches for r in b.to_pylist())


def brief(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(r["id"], r["v"], r["ts"]) for r in found]


def names(path: Path) -> list[str]:
    """Files of the timeline."""
    table = hoodoo.open(str(path))
    folder = path / table.config.timeline_path
    return sorted(p.name for p in folder.iterdir() if p.is_file() and p.name[:1].isdigit())


def data_files(path: Path) -> list[str]:
    found = (e.path for e in list_data(LocalStorage(f"file://{path}")))
    return sorted(p for p in found if parse_path(p) is not None)


def live(table: hoodoo.Table, path: Path) -> list[dict[str, Any]]:
    """The rows now; another reader agrees."""
    found = everything(table)
    assert theirs(path) == brief(found)
    return found


def life(table: hoodoo.Table) -> dict[str, list[dict[str, Any]]]:
    """Writes of every kind: instant -> the rows behind it."""
    seen: dict[str, list[dict[str, Any]]] = {}

    def note() -> None:
        seen[table.timeline().writes()[-1].requested] = everything(table)

    table.insert(data(range(9), "a", 1))
    note()
    table.upsert(data([0, 1, 2, 9], "b", 2))
    note()
    table.upsert(data([0, 3, 4], "c", 3))
    note()
    table.delete(data([1, 5], "", 9))
    note()
    if table.config.table_type == MOR:
        table.compact()
        note()
    table.upsert(data([0, 2, 10], "d", 4))
    note()
    table.insert_overwrite(data([0, 3, 12], "e", 5))
    note()
    table.upsert(data([0, 1, 2, 20], "f", 6))
    note()
    table.delete_partitions(["d1"])
    note()
    table.upsert(data([1, 2], "g", 7))
    note()
    return seen


@BOTH
def test_restore_to_every_write(tmp_path: Path, kind: str, version: int) -> None:
    """Backwards, one write after another: the rows are exactly those of then, and those who come
    later write on."""
    table = create(tmp_path / "t", kind, version)
    seen = life(table)
    for instant, expected in reversed(list(seen.items())[:-1]):
        assert everything(table, as_of=instant) == expected
        restored = table.restore(instant)
        assert restored.point == instant and len(restored.undone) == 1
        assert live(table, tmp_path / "t") == expected
        assert not [n for n in names(tmp_path / "t") if restored.undone[0] in n[:17]]
    first = next(iter(seen))
    assert len(data_files(tmp_path / "t")) == 3
    table.upsert(data([0, 30], "again", 9))
    after = brief(live(table, tmp_path / "t"))
    assert after == [(0, "again", 9), *brief(seen[first])[1:], (30, "again", 9)]


@BOTH
def test_restore_at_once(tmp_path: Path, kind: str, version: int) -> None:
    """To the first write in one go; what is left is what a table with one write has."""
    path = tmp_path / "t"
    table = create(path, kind, version)
    seen = life(table)
    first, *later = seen
    restored = table.restore(first)
    assert set(restored.undone) == set(later)
    assert live(table, path) == seen[first]
    assert everything(hoodoo.open(str(path)), as_of=first) == seen[first]
    # Files of version 6's log files in the first slices may stay, with blocks that take others back.
    files = data_files(path)
    assert len([f for f in files if f.endswith(".parquet")]) == 3
    assert version == 6 or len(files) == 3
    assert {n.split(".", 1)[1] for n in names(path) if n[:17] != first} == {
        "restore", "restore.inflight", "restore.requested"
    }  # fmt: skip
    assert not any(p.is_file() for p in (path / ".hoodie/.temp").rglob("*"))


@BOTH
def test_the_metadata_of_a_restore(tmp_path: Path, kind: str, version: int) -> None:
    """As Spark Hudi writes it: plan, empty inflight, one rollback metadata for each instant."""
    path = tmp_path / "t"
    table = create(path, kind, version)
    table.insert(data(range(6), "a", 1))
    first = table.timeline().writes()[-1].requested
    table.upsert(data([0, 9], "b", 2))
    table.insert_overwrite(data([1], "c", 3))
    overwritten, upserted = (i.requested for i in table.timeline().writes()[:0:-1])
    restored = table.restore(first)
    timeline = table.timeline()
    storage = LocalStorage(f"file://{path}")
    done = next(i for i in timeline.completed() if i.action == "restore")
    plan = timeline.contents(storage, done.at(State.REQUESTED))
    upsert = "commit" if kind == COW else "deltacommit"
    told = [
        {"commitTime": overwritten, "action": "replacecommit"},
        {"commitTime": upserted, "action": upsert},
    ]
    assert plan == {
        "instantsToRollback": told, "version": 2, "savepointToRestoreTimestamp": first
    }  # fmt: skip
    assert storage.get(timeline.path(done.at(State.INFLIGHT))) == b""
    found = timeline.contents(storage, done)
    assert found["startRestoreTime"] == done.requested == restored.restore
    assert found["instantsToRollback"] == [overwritten, upserted] == list(restored.undone)
    assert found["restoreInstantInfo"] == told
    assert set(found["hoodieRestoreMetadata"]) == {overwritten, upserted}
    (one,) = found["hoodieRestoreMetadata"][overwritten]
    assert one["commitsRollback"] == [overwritten] and one["instantsRollback"] == told[:1]
    assert one["totalFilesDeleted"] == 1
    (deleted,) = one["partitionMetadata"]["d1"]["successDeleteFiles"]
    assert deleted.startswith(str(path / "d1")) and overwritten in deleted
    assert f"d1/{Path(deleted).name}" in restored.files


@BOTH
def test_a_savepoint_names_files(tmp_path: Path, kind: str, version: int) -> None:
    path = tmp_path / "t"
    table = create(path, kind, version)
    table.insert(data(range(6), "a", 1))
    table.upsert(data([0], "b", 2))
    table.insert_overwrite(data([1], "c", 3))
    expected = {
        f.path for s in table.file_slices()
        for f in [*s.log_files, *([s.base_file] if s.base_file else [])]
    }  # fmt: skip
    point = table.savepoint(comment="before the move", user="me")
    assert point == table.timeline().writes()[-1].requested
    (kept,) = table.savepoints()
    assert (kept.instant, kept.user, kept.comment) == (point, "me", "before the move")
    assert kept.files == expected and kept.made > 1_700_000_000_000
    assert next(n for n in names(path) if "savepoint" in n).startswith(point)
    assert table.savepoint(point) == point and len(table.savepoints()) == 1
    table.delete_savepoint(point)
    assert table.savepoints() == () and not [n for n in names(path) if "savepoint" in n]
    with pytest.raises(ConfigError, match="is not in this table"):
        table.delete_savepoint(point)
    with pytest.raises(ConfigError, match="no completed write"):
        table.savepoint("20200101000000000")


@BOTH
def test_a_savepoint_holds_what_cleaning_takes(tmp_path: Path, kind: str, version: int) -> None:
    """Without one the same restore is refused, nothing changed, and the file named."""
    table = create(tmp_path / "t", kind, version)
    table.insert(data(range(3), "a", 1))
    table.upsert(data([0], "b", 2))
    kept = table.savepoint()
    expected = everything(table)
    for n in range(3):
        table.upsert(data([0, 1], f"c{n}", 3 + n))
        if kind == MOR:
            table.compact()
    # The first compaction, or the first write, whose base files nobody keeps.
    middle, newest = (table.timeline().writes()[n].requested for n in (2 + (kind == MOR), -1))
    assert table.clean("by_versions", fileversions_retained=1).files
    before = names(tmp_path / "t"), data_files(tmp_path / "t")
    with pytest.raises(ConfigError, match=r"a clean has deleted files that it needs: d0/"):
        table.restore(middle)
    with pytest.raises(ConfigError, match=r"a clean has deleted files that it needs: d0/"):
        table.savepoint(middle)
    with pytest.raises(ConfigError, match="a clean has deleted"):
        table.rollback(newest)
    assert (names(tmp_path / "t"), data_files(tmp_path / "t")) == before
    assert newest in table.restore(kept).undone
    assert live(table, tmp_path / "t") == expected
    assert [s.instant for s in table.savepoints()] == [kept], "it stays"
    table.upsert(data([0, 50], "z", 99))
    assert len(live(table, tmp_path / "t")) == 4


@MERGED
def test_a_compaction_that_was_undone_and_run_again_is_archived(
    tmp_path: Path, version: int
) -> None:
    """Spark Hudi undoes one that failed, and leaves its plan. Its instant is no undone one when it is archived before
    the rollback: archiving again deletes nothing of it."""
    options = {
        "hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4", "hoodie.archive.automatic": "false",
        "hoodie.clean.commits.retained": "1", "hoodie.compact.inline.max.delta.commits": "1",
    }  # fmt: skip
    table = create(tmp_path / "t", MOR, version, options)
    table.upsert(data(range(6), "a", 1))
    table.upsert(data(range(6), "b", 2))
    planned = table.schedule_compaction()
    for n in range(8):
        table.upsert(data(range(3), f"c{n}", 3 + n))
    put_rollback(table, planned)
    table = hoodoo.open(str(tmp_path / "t"), {**QUIET, **options})
    table.run_compaction(planned)
    expected, files = everything(table), data_files(tmp_path / "t")
    assert planned in {i.requested for i in table.archive().instants}
    assert any(i.action == "rollback" for i in table.timeline().instants)
    table.archive()
    table.upsert(data([9], "d", 20))
    assert set(files) <= set(data_files(tmp_path / "t"))
    assert everything(table)[:6] == expected


def put_rollback(table: hoodoo.Table, instant: str) -> None:
    """A completed one of a compaction, as Spark Hudi writes it."""
    storage, timeline = table.handle.storage, table.timeline()
    said = {
        "startRollbackTime": instant, "timeTakenInMillis": 1, "totalFilesDeleted": 0, "version": 1,
        "commitsRollback": [instant], "partitionMetadata": {},
        "instantsRollback": [{"commitTime": instant, "action": "compaction"}],
    }  # fmt: skip
    mine = publish.request(Snapshot(storage, timeline), "rollback", b"")
    mine = publish.inflight(Snapshot(storage, timeline), mine)
    content = avro.encode("HoodieRollbackMetadata", said)
    publish.complete(Snapshot(storage, timeline), mine, content)


@BOTH
def test_a_savepoint_is_restored_again(tmp_path: Path, kind: str, version: int) -> None:
    """What cleans took before the first restore was of writes that this one has undone: nobody needs it any more."""
    table = create(tmp_path / "t", kind, version)
    table.upsert(data(range(3), "kept", 1))
    saved, expected = table.savepoint(), everything(table)
    for _ in range(2):
        for v in "abc":
            table.upsert(data(range(3), v, 2))
            if kind == MOR:
                table.compact()
        assert table.clean("by_versions", fileversions_retained=1).files
        table.restore(saved)
        assert live(table, tmp_path / "t") == expected
    table.upsert(data(range(3), "last", 3))
    assert sorted(table.changes(since=saved).to_arrow()["op"].to_pylist()) == ["update"] * 3
    table.rollback(table.timeline().writes()[-1].requested)
    assert live(table, tmp_path / "t") == expected
    assert table.verify().ok


@BOTH
def test_later_savepoints_stand_in_the_way(tmp_path: Path, kind: str, version: int) -> None:
    table = create(tmp_path / "t", kind, version)
    instants = []
    for n in range(3):
        table.upsert(data(range(3), "abc"[n], n))
        instants.append(table.savepoint())
    with pytest.raises(ConfigError, match=f"savepoints of later writes.*{instants[1]}"):
        table.restore(instants[0])
    with pytest.raises(ConfigError, match="is kept by a savepoint"):
        table.rollback(instants[2])
    table.delete_savepoint(instants[1])
    table.delete_savepoint(instants[2])
    assert len(table.restore(instants[0]).undone) == 2
    assert brief(live(table, tmp_path / "t")) == [(n, "a", 0) for n in range(3)]


@BOTH
def test_rollback_of_the_newest_write(tmp_path: Path, kind: str, version: int) -> None:
    """One after another, down to an empty table."""
    path = tmp_path / "t"
    table = create(path, kind, version)
    seen = life(table)
    instants = list(seen)
    with pytest.raises(ConfigError, match=r"not the newest completed write.*table\.restore"):
        table.rollback(instants[3])
    for n in range(len(instants) - 1, -1, -1):
        done = table.rollback(instants[n])
        assert done.instant == instants[n] and done.rollback > done.instant
        assert not [n for n in names(path) if n[:17] == done.instant]
        expected = seen[instants[n - 1]] if n else []
        assert everything(table) == expected
        if n:
            assert theirs(path) == brief(expected)
    assert [f for f in data_files(path) if f.endswith(".parquet")] == []
    with pytest.raises(ConfigError, match="is not a write"):
        table.rollback(instants[0])
    table.insert(data(range(3), "new", 1))
    assert len(live(table, path)) == 3


@MERGED
def test_a_compaction_is_undone(tmp_path: Path, version: int) -> None:
    """Its log files are read again; so they are by the next compaction."""
    path = tmp_path / "t"
    table = create(path, MOR, version)
    table.insert(data(range(3), "a", 1))
    table.upsert(data([0, 1], "b", 2))
    expected = everything(table)
    commit = table.compact()
    assert not any(s.log_files for s in table.file_slices())
    table.rollback(commit.instant)
    assert [len(s.log_files) for s in table.file_slices()] == [1, 1, 0]
    assert live(table, path) == expected
    assert not [n for n in names(path) if n.startswith(commit.instant)], "the plan goes, too"
    table.upsert(data([1], "c", 3))
    table.compact()
    assert brief(live(table, path)) == [(0, "b", 2), (1, "c", 3), (2, "a", 1)]


@MERGED
def test_a_planned_compaction(tmp_path: Path, version: int) -> None:
    """Planned behind the point, it goes; planned before, it stays, with what was written beside it."""
    path = tmp_path / "t"
    table = create(path, MOR, version)
    table.insert(data(range(3), "a", 1))
    table.upsert(data([0, 1], "b", 2))
    point = table.timeline().writes()[-1].requested
    before = everything(table)
    planned = table.schedule_compaction()
    assert planned is not None
    table.upsert(data([0, 2], "c", 3))
    beside = table.timeline().writes()[-1].requested
    between = everything(table)
    table.upsert(data([0, 1, 2], "d", 4))
    table.restore(beside)
    assert everything(table) == between
    assert [i.requested for i in table.timeline().pending()] == [planned]
    table.run_compaction(planned)
    assert everything(table) == between
    table.restore(point)
    assert live(table, path) == before
    again = table.schedule_compaction()
    assert again is not None
    if version == 6:
        table.upsert(data([0], "e", 5))
        with pytest.raises(ConfigError, match="already has newer log files"):
            table.rollback(again)
    else:
        table.rollback(again)
        assert table.timeline().pending() == ()
        assert live(table, path) == before


@BOTH
def test_a_restore_is_resumed(tmp_path: Path, kind: str, version: int) -> None:
    """Planned only, and then run by another object; and to the same point again: nothing to do."""
    path = tmp_path / "t"
    table = create(path, kind, version)
    seen = life(table)
    point = list(seen)[2]
    planned = table.schedule_restore(point)
    assert planned is not None and table.schedule_restore(point) == planned
    with pytest.raises(CommitConflictError, match=r"in progress.*run_restore"):
        table.restore(list(seen)[1])
    done = hoodoo.open(str(path)).run_restore(planned)
    assert done.undone and done.files and live(table, path) == seen[point]
    assert table.run_restore(planned) == done, "told again"
    assert table.restore(point) == Restored(point, "")
    with pytest.raises(ConfigError, match="is not in this table"):
        table.run_restore(point)


@BOTH
def test_batches_of_undone_writes_count_as_not_applied(
    tmp_path: Path, kind: str, version: int
) -> None:
    table = create(tmp_path / "t", kind, version)
    batches = [Batch("s", n) for n in range(3)]
    for n, batch in enumerate(batches):
        table.upsert(data([n], "a", n), batch=batch)
    table.restore(table.timeline().writes()[0].requested)
    assert not table.upsert(data([0], "x", 9), batch=batches[0]).instant
    assert table.upsert(data([1], "a", 1), batch=batches[1]).instant
    assert brief(live(table, tmp_path / "t")) == [(0, "a", 0), (1, "a", 1)]
