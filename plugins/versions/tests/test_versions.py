"""Upgrade and downgrade: rows and states stay what they were, and the table goes on."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    HoodooError,
    UnsupportedTableError,
)
from hoodoo.kernel.archived import load_archived
from hoodoo.testing.stores import Crash, GatedStorage
from hoodoo.timeline.decision import FOLDER as LEDGER
from hoodoo.timeline.names import parse_path
from lived_tables import ARCHIVING, INDEXED, KINDS, SCHEMA, answers, batch, check, lived


def opened(path: Path, **options: str) -> Any:
    return hoodoo.open(str(path), options=options)


def read_by_hudi(path: Path) -> list[tuple[Any, ...]]:
    import hudi

    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read()
    found = pa.Table.from_batches(batches).select(SCHEMA.names)
    return sorted(tuple(map(str, row.values())) for row in found.to_pylist())


# --- there and back -------------------------------------------------------------------------------
@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [{}, INDEXED], ids=["plain", "indexed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", [(9, 6), (8, 9, 8, 6)], ids=lambda way: "-".join(map(str, way)))
def test_there_and_back(
    tmp_path: Path, kind: str, options: dict[str, str], way: tuple[int, ...]
) -> None:
    path = tmp_path / "t"
    points = lived(path, 6, kind, options)
    opened(path).savepoint(points[1])
    before = answers(path, points)
    last = 6
    for version in way:
        table = opened(path)
        done = table.upgrade(version) if version > last else table.downgrade(version)
        assert (done.before, done.after, done.done) == (last, version, True)
        check(path, points, before, version)
        assert read_by_hudi(path) == before["now"]
        last = version
    assert [one.instant for one in opened(path).savepoints()] == [points[1]]


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("kind", KINDS)
def test_a_table_that_begins_at_version_9(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    points = lived(path, 9, kind, INDEXED, index="record_index")
    for version in (6, 9, 6):
        table = opened(path)
        before = answers(path, points)
        _ = table.downgrade(6) if version == 6 else table.upgrade(9)
        check(path, points, before, version)
        table = opened(path)
        assert "record_index" in table.config.metadata_partitions
        points.append(table.upsert(batch({1: "a", 9: "c"}, f"at {version}", 20)).instant)
        points.append(table.delete([3]).instant)
        assert read_by_hudi(path) == answers(path, [])["now"]
        assert not opened(path).verify().findings


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", [6, 9])
def test_no_partitions(tmp_path: Path, kind: str, version: int) -> None:
    path = tmp_path / "t"
    points = lived(path, version, kind, partition_by=())
    before = answers(path, points)
    other = 15 - version
    _ = opened(path).upgrade() if other == 9 else opened(path).downgrade()
    check(path, points, before, other)
    assert read_by_hudi(path) == before["now"]


@pytest.mark.parametrize("version", [6, 9])
def test_an_empty_table(tmp_path: Path, version: int) -> None:
    path = str(tmp_path / "t")
    table = hoodoo.create(path, SCHEMA, record_key="id", table_version=version)
    _ = table.upgrade(9) if version == 6 else table.downgrade(6)
    table = hoodoo.open(path)
    assert table.config.version == 15 - version
    table.upsert(batch({1: "a"}, "first", 1))
    assert table.count() == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_archived_instants(tmp_path: Path, kind: str, version: int) -> None:
    path = tmp_path / "t"
    points = lived(path, version, kind)
    for number in range(5):
        commit = opened(path).upsert(batch({1: "a"}, f"more {number}", 10 + number))
        points.append(commit.instant)
        if kind == "MERGE_ON_READ":
            points.append(opened(path).compact().instant)
    opened(path, **ARCHIVING).clean()
    archived = opened(path, **ARCHIVING).archive().instants
    assert archived
    start = opened(path).timeline().start
    points = [point for point in points if start <= point]
    before = answers(path, points)
    _ = opened(path).upgrade() if version == 6 else opened(path).downgrade()
    check(path, points, before, 15 - version)
    table = opened(path)
    again = load_archived(table.handle.storage, table.config)
    assert [(i.requested, i.action) for i in again] == sorted(
        (i.requested, i.action) for i in archived
    )
    for old in again:
        assert old.action == "clean" or old.metadata().stats is not None


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("version", [6, 9])
def test_clustered_and_rolled_back(tmp_path: Path, version: int) -> None:
    path = tmp_path / "t"
    points = lived(path, version, "COPY_ON_WRITE")
    table = opened(path)
    points.append(table.cluster(columns=["ts"]).instant)
    undone = table.upsert(batch({1: "a"}, "undone", 30)).instant
    table.rollback(undone)
    before = answers(path, points)
    _ = opened(path).upgrade() if version == 6 else opened(path).downgrade()
    check(path, points, before, 15 - version)
    names = os.listdir(path / ".hoodie" / ("timeline" if version == 6 else ""))
    assert any(".clustering.requested" in name for name in names) == (version == 6)


@pytest.mark.sampled(1, among="long")
def test_a_pending_compaction_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "t"
    points = lived(path, 6, "MERGE_ON_READ")
    table = opened(path)
    planned = table.schedule_compaction()
    points.append(table.upsert(batch({1: "a"}, "beside", 30)).instant)
    before = answers(path, points)
    opened(path).upgrade(9)
    check(path, points, before, 9)
    assert opened(path).handle.timeline().find(planned) is not None


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("bare", ["true", "false"])
def test_keys_of_one_column_stay_as_they_are(tmp_path: Path, bare: str) -> None:
    path = tmp_path / "t"
    points = lived(
        path, 6, "COPY_ON_WRITE", {"hoodie.write.complex.keygen.new.encoding": bare},
        key_generator="COMPLEX",
    )  # fmt: skip
    for version in (9, 6):
        before = answers(path, points)
        _ = opened(path).upgrade() if version == 9 else opened(path).downgrade()
        check(path, points, before, version)
        opened(path).upsert(batch({1: "a"}, "late", 4))
        assert answers(path, [])["now"] == before["now"]


@pytest.mark.sampled(1, among="long")
def test_types_of_partition_columns(tmp_path: Path) -> None:
    path = tmp_path / "t"
    points = lived(path, 6, "COPY_ON_WRITE", partition_by=["region:SIMPLE"], key_generator="CUSTOM")
    before = answers(path, points)
    opened(path).upgrade()
    check(path, points, before, 9)
    assert opened(path).config.get("hoodie.table.partition.fields") == "region:SIMPLE"
    opened(path).downgrade()
    check(path, points, before, 6)
    assert opened(path).config.get("hoodie.table.partition.fields") == "region"


# --- what is said before --------------------------------------------------------------------------
def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lived(path, 6, "MERGE_ON_READ", INDEXED)
    before = {p: p.stat().st_mtime_ns for p in path.rglob("*") if p.is_file()}
    found = opened(path).upgrade(9, dry_run=True)
    assert not found.done and (found.before, found.after) == (6, 9)
    assert "compact every file slice that has log files" in found.steps
    assert found.steps[-2] == "change the properties from version 6 to 8 to 9"
    assert "build the metadata table again" in found.steps[-1]
    assert {p: p.stat().st_mtime_ns for p in path.rglob("*") if p.is_file()} == before


@pytest.mark.sampled(1, among="long")
def test_what_a_downgrade_loses(tmp_path: Path) -> None:
    path = tmp_path / "t"
    points = lived(path, 9, "MERGE_ON_READ", INDEXED)
    opened(path).rebuild_index("partition_stats")
    before = answers(path, points)
    told = opened(path).downgrade(6, dry_run=True)
    done = opened(path).downgrade(6)
    assert done.lost == told.lost and "partition_stats" in told.lost[0]
    check(path, points, before, 6)
    assert opened(path).config.metadata_partitions == ("column_stats", "files", "record_index")


def test_a_downgrade_in_a_store_that_sets_no_times_says_so() -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.int64())])
    table = hoodoo.create(
        "memory://versions/t", schema, record_key="id", table_type="MERGE_ON_READ"
    )
    table.upsert([{"id": 1, "v": 1}])
    told = table.downgrade(6, dry_run=True)
    assert any("times of files, which this store does not set" in text for text in told.lost)
    assert table.downgrade(6).done
    assert table.read(["id", "v"]).to_pylist() == [{"id": 1, "v": 1}]


@pytest.mark.sampled(1, among="long")
def test_repeating_the_call_deletes_the_old_timeline(tmp_path: Path) -> None:
    path = tmp_path / "t"
    points = lived(path, 6, "COPY_ON_WRITE")
    before = answers(path, points)
    opened(path).upgrade()
    assert list((path / ".hoodie").glob("*.commit"))
    assert not opened(path).upgrade().done
    assert not list((path / ".hoodie").glob("*.commit"))
    check(path, points, before, 9)
    opened(path).downgrade()
    assert (path / ".hoodie/timeline").is_dir()
    opened(path).downgrade()
    assert not list((path / ".hoodie/timeline").glob("*.commit"))
    check(path, points, before, 6)


def test_files_keep_the_times_of_their_instants(tmp_path: Path) -> None:
    """Spark Hudi 1.x takes the time of a file of version 6 for that of its completion."""
    path = tmp_path / "t"
    lived(path, 9, "MERGE_ON_READ")
    ends = {i.requested: i.completed for i in opened(path).timeline().completed()}
    opened(path).downgrade()
    from hoodoo.timeline.instants import to_datetime

    for requested, completed in ends.items():
        (file,) = (path / ".hoodie").glob(f"{requested}.*commit")
        assert file.stat().st_mtime == pytest.approx(to_datetime(completed or "").timestamp())


# --- refused --------------------------------------------------------------------------------------
def test_the_other_way(tmp_path: Path) -> None:
    lived(tmp_path / "t", 6, "COPY_ON_WRITE")
    table = opened(tmp_path / "t")
    with pytest.raises(ConfigError, match=r"table.upgrade\(9\)"):
        table.downgrade(9)
    with pytest.raises(UnsupportedTableError, match="6, 8 and 9"):
        table.upgrade(7)
    table.upgrade(9)
    with pytest.raises(ConfigError, match=r"table.downgrade\(6\)"):
        table.upgrade(6)


def test_pending_plans_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lived(path, 9, "COPY_ON_WRITE")
    table = opened(path)
    planned = table.schedule_clustering(columns=["ts"])
    for dry_run in (True, False):
        with pytest.raises(CommitConflictError, match=planned):
            table.downgrade(6, dry_run=dry_run)
    assert not [i for i in table.timeline().pending() if i.action == "restore"]


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"ordering": ("ts", "v")}, "one"),
        ({"index": "partitioned_record_index"}, "switch_index"),
        ({"index": "growing_record_index"}, "switch_index"),
        (
            {"index": "record_index", "options": {"hoodie.populate.meta.fields": "false"}},
            "switch_index",
        ),
    ],
    ids=["ordering", "partitioned", "growing", "virtual"],
)
def test_what_version_6_lacks(tmp_path: Path, how: dict[str, Any], match: str) -> None:
    path = tmp_path / "t"
    how = dict(how)
    hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region",
        **{"ordering": "ts", **how},
    )  # fmt: skip
    opened(path).upsert(batch({1: "a"}, "x", 1))
    before = opened(path).config
    for dry_run in (True, False):
        with pytest.raises(HoodooError, match=match):
            opened(path).downgrade(6, dry_run=dry_run)
    assert opened(path).config == before


@pytest.mark.parametrize(
    ("index", "other"),
    [("partitioned_record_index", "simple"), ("growing_record_index", "global_simple")],
)
def test_the_way_to_version_6_leads_out(tmp_path: Path, index: str, other: str) -> None:
    """Of an index by partition path the fix named a global one, which refuses keys that lie in
    several paths."""
    path = tmp_path / "t"
    hoodoo.create(str(path), SCHEMA, name="t", record_key="id", partition_by="region", index=index)
    rows = batch({1: "a", 2: "b"}, "x", 1)
    opened(path).upsert(rows)
    if other == "simple":
        opened(path).upsert(batch({1: "b"}, "y", 2))
    before = opened(path).to_arrow().num_rows
    with pytest.raises(UnsupportedTableError) as caught:
        opened(path).downgrade(6)
    assert f"table.switch_index('{other}')" in caught.value.fix
    opened(path).switch_index(other)
    assert opened(path).downgrade(6).after == 6
    assert opened(path).upsert(rows).updated == 2
    assert opened(path).to_arrow().num_rows == before


@pytest.mark.sampled(1, among="long")
def test_a_write_that_overlapped_a_compaction(tmp_path: Path) -> None:
    """Version 9 has its log file in the slice of the compaction, version 6 in the one before."""
    path = tmp_path / "t"
    points = lived(path, 9, "MERGE_ON_READ")
    table = opened(path)
    planned: list[str] = []

    def gate(op: str, name: str) -> None:
        if op == "put_if_absent" and name.endswith(".deltacommit.inflight") and not planned:
            planned.append(opened(path).schedule_compaction())

    table.handle.storage = GatedStorage(table.handle.storage, gate)
    points.append(table.upsert(batch({1: "a", 3: "b"}, "beside", 9)).instant)
    opened(path).run_compaction(planned[0])
    before = answers(path, points)
    with pytest.raises(UnsupportedTableError, match="overlap a compaction"):
        opened(path).downgrade(6)
    check(path, points, before, 9)
    assert not opened(path).timeline().pending()
    opened(path).clean("by_versions", fileversions_retained=1)
    opened(path).downgrade(6)
    check(path, points[:0], {"now": before["now"]}, 6)


def test_columns_that_were_renamed(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lived(path, 9, "COPY_ON_WRITE")
    opened(path).alter(rename={"v": "w"})
    with pytest.raises(UnsupportedTableError, match="renamed"):
        opened(path).downgrade(6)


@pytest.mark.sampled(1, among="long")
def test_a_secondary_index_of_an_upgraded_table(tmp_path: Path) -> None:
    """Its log files of before the upgrade count only where their instant is completed; that of a write that keeps the
    index is not yet."""
    path = tmp_path / "t"
    lived(path, 6, "MERGE_ON_READ", INDEXED)
    opened(path).upgrade(9)
    opened(path).create_index("by_v", "v")
    opened(path).upsert(batch({1: "a", 60: "b"}, "new", 30))
    assert {row["id"] for row in opened(path).read(where="v = 'new'").to_pylist()} == {1, 60}
    assert not opened(path).verify().findings


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("ways", [(6, 8, 9), (8, 9, 8), (9, 8, 9)])
def test_version_8_with_its_indexes(tmp_path: Path, ways: tuple[int, ...]) -> None:
    """What version 9 has in a second version is made again; log files stay between 8 and 9."""
    path = tmp_path / "t"
    points = lived(path, ways[0], "MERGE_ON_READ", INDEXED)
    opened(path).rebuild_index("column_stats")
    for number, (last, version) in enumerate(pairwise(ways)):
        if last > 6 and "by_v" not in {index.name for index in opened(path).indexes()}:
            opened(path).create_index("by_v", "v")
        before = answers(path, points)
        _ = opened(path).upgrade(version) if version > last else opened(path).downgrade(version)
        check(path, points, before, version)
        told = json.loads((path / ".hoodie/.index_defs/index.json").read_text())
        said = {name: one["version"] for name, one in told["indexDefinitions"].items()}
        assert said.pop("record_index", "V1") == "V1"
        assert set(said.values()) == {"V1" if version == 8 else "V2"}
        assert len(said) == (2 if last > 6 else 1)
        opened(path).upsert(batch({1: "a", 60: "b"}, f"at {version}", 40 + number))
        found = opened(path).read(where=f"v = 'at {version}'").to_pylist()
        assert {row["id"] for row in found} == {1, 60}
        points = points[:0]


# --- beside others --------------------------------------------------------------------------------
@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("step", [".requested", ".inflight", "ledger"])
def test_beside_a_writer(tmp_path: Path, version: int, step: str) -> None:
    """Whatever a writer is at when the version changes: its rows are there, or it says so."""
    path = tmp_path / "t"
    lived(path, version, "COPY_ON_WRITE")
    table = opened(path)
    said: list[str] = []

    def gate(op: str, name: str) -> None:
        if op == "put_if_absent" and step in name and not said:
            said.append("begun")
            try:
                _ = opened(path).upgrade() if version == 6 else opened(path).downgrade()
            except CommitConflictError as error:
                said.append(str(error))

    table.handle.storage = GatedStorage(table.handle.storage, gate)
    table.upsert(batch({50: "a"}, "beside", 9))
    assert said
    assert opened(path).config.version == (version if len(said) > 1 else 15 - version)
    assert 50 in {row["id"] for row in opened(path).read().to_pylist()}
    assert not opened(path).verify().findings


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", [6, 9])
def test_a_writer_that_dies_beside_it(tmp_path: Path, version: int, kind: str) -> None:
    """What it has written is taken away by the next call."""
    path = tmp_path / "t"
    points = lived(path, version, kind)
    before = answers(path, points)
    writer, steps = opened(path), list[str]()

    def gate(op: str, name: str) -> None:
        if op == "put_if_absent" and name.endswith(".requested") and not steps:
            steps.append("asks for its instant")
            _ = opened(path).upgrade() if version == 6 else opened(path).downgrade()
        elif steps and (len(steps) > 1 or (op == "put_if_absent" and name.startswith(LEDGER))):
            steps.append("dead")
            raise Crash("here")

    writer.handle.storage = GatedStorage(writer.handle.storage, gate)
    with pytest.raises(Crash):
        writer.upsert(batch({1: "a", 60: "a"}, "lost", 90))
    assert len(steps) > 1
    assert answers(path, points) == before
    for folder in (path / ".hoodie/.heartbeat").glob("*"):
        folder.unlink()  # its process has ended
    table = opened(path)
    _ = table.upgrade() if version == 6 else table.downgrade()
    check(path, points, before, 15 - version)
    known = {i.requested for i in opened(path).timeline().instants}
    files = [f for f in map(parse_path, (str(p.relative_to(path)) for p in path.rglob("*"))) if f]
    assert {f.instant for f in files} <= known


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("version", [6, 9])
def test_readers_at_every_step(tmp_path: Path, version: int) -> None:
    path = tmp_path / "t"
    points = lived(path, version, "MERGE_ON_READ", INDEXED)
    before = answers(path, points[-2:])
    table = opened(path)
    seen: list[int] = []

    def gate(op: str, name: str) -> None:
        if op in ("put", "put_if_absent", "delete", "delete_prefix") and not name.startswith(
            (".hoodie/.heartbeat", ".hoodie/.temp")
        ):
            seen.append(1)
            if len(seen) % 5 == 0:
                assert answers(path, points[-2:]) == before, f"before {op} {name}"

    table.handle.storage = GatedStorage(table.handle.storage, gate)
    _ = table.upgrade() if version == 6 else table.downgrade()
    assert len(seen) > 20


def test_a_copy_of_the_timeline_that_was_cut_short_is_not_undone(tmp_path: Path) -> None:
    """A downgrade ends within its copy; the call for the version that the table has still deletes
    the copy, and no file of the table."""
    path = tmp_path / "t"
    points = lived(path, 9, KINDS[0], {})
    before = answers(path, points)
    table = opened(path)

    def gate(op: str, name: str) -> None:
        if op == "put" and re.fullmatch(r"\.hoodie/\d+\.(commit|deltacommit)", name):
            raise Crash(name)

    table.handle.storage = GatedStorage(table.handle.storage, gate)
    with pytest.raises(Crash):
        table.downgrade()
    assert list((path / ".hoodie").glob("*.inflight"))
    opened(path).upgrade()
    check(path, points, before, 9)
    assert not list((path / ".hoodie").glob("*.inflight"))


def test_a_repeated_call_beside_another_version(tmp_path: Path) -> None:
    """A process that has opened the table before looks at what is left of the other version."""
    path = tmp_path / "t"
    points = lived(path, 9, KINDS[0], {})
    before = answers(path, points)
    table = opened(path)
    left = [lambda: opened(path).downgrade()]

    def gate(op: str, name: str) -> None:
        if left and op == "list" and name == ".hoodie/archived":
            left.pop()()

    table.handle.storage = GatedStorage(table.handle.storage, gate)
    with pytest.raises(CommitConflictError):
        table.upgrade()
    assert not left
    check(path, points, before, 6)


def test_a_rollback_of_a_process_that_knows_the_old_version(tmp_path: Path) -> None:
    path = tmp_path / "t"
    points = lived(path, 6, KINDS[0], {})
    before = answers(path, points)
    table = opened(path)
    newest = table.timeline().writes()[-1].requested
    opened(path).upgrade()
    with pytest.raises(CommitConflictError, match="Open the table again"):
        table.rollback(newest)
    check(path, points, before, 9)


def test_a_restore_behind_the_upgrade(tmp_path: Path) -> None:
    """Log files of version 6 don't say by their names who wrote them: what is undone does not come
    back for other readers."""
    path = tmp_path / "t"
    lived(path, 6, KINDS[1], {})
    states = {}
    for text in ("one", "two", "three"):
        opened(path).upsert(batch({1: "a", 2: "b"}, text, 100 + len(states)))
        states[opened(path).timeline().writes()[-1].requested] = (logs(path), read_by_hudi(path))
    opened(path).upgrade()
    for instant in list(states)[1::-1]:
        opened(path).restore(instant)
        assert (logs(path), read_by_hudi(path)) == states[instant]
        assert not opened(path).verify().findings


def logs(path: Path) -> set[str]:
    return {file.name for file in path.rglob(".*.log.*")}
