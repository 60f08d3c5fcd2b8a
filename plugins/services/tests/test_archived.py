"""The archived timeline: what is put there is found there, by several writers, after crashes too."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pyarrow as pa
import pytest
from hoodoo.errors import CommitConflictError, CorruptTableError, StorageUnknownError
from hoodoo.kernel.archived import load_archived, oldest
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.model.log_block import MAGIC
from hoodoo.storage.api import Storage
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import FailingStorage, RecordingStorage
from hoodoo.timeline import codec, create, timeline, view
from hoodoo.timeline.layouts import LAYOUTS
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_services.archived import data_files as history_files
from hoodoo_services.archived import entries as archived_entries
from hoodoo_services.archived import levels as history_levels
from hoodoo_services.archived import log_files as archived_log
from hoodoo_services.archived import manifest as history
from hoodoo_services.archived import writer as history_write
from hoodoo_services.archived.levels import Levels
from hoodoo_services.archived.writer import HistoryRow

FOLDER = ".hoodie/timeline/history"


def t(n: int) -> str:
    return f"20240101{n:09d}"


def store(path: Path, version: int = 9) -> tuple[DirectoryStorage, TableConfig]:
    storage = DirectoryStorage(str(path))
    values = {"hoodie.table.name": "t", "hoodie.table.version": str(version)}
    return storage, create.init_table(storage, TableConfig(values))


def metadata(n: int) -> CommitMetadata:
    return CommitMetadata(Operation.UPSERT, (WriteStat("p", "f", f"p/f_{n}.parquet"),))


def row(n: int, action: str = "commit") -> HistoryRow:
    content = LAYOUTS[2].encode_commit(metadata(n), action)
    return HistoryRow(t(n), t(n + 1), action, content, b"plan" if action == "clean" else b"")


def names(storage: DirectoryStorage) -> set[str]:
    return {e.name for e in storage.list(FOLDER)} - {".keep"}


# --- versions 8 and 9 -----------------------------------------------------------------------------------
def test_rows_come_back(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    assert load_archived(storage, config) == () and oldest(storage, config) is None
    history_write.add(storage, config, [row(1), row(3, "clean"), row(5)])
    found = load_archived(storage, config)
    assert [(i.requested, i.completed, i.action) for i in found] == [
        (t(1), t(2), "commit"), (t(3), t(4), "clean"), (t(5), t(6), "commit"),
    ]  # fmt: skip
    assert found[0].metadata() == metadata(1) and found[1].plan_bytes() == b"plan"
    assert not found[0].plan_bytes() and found[0].instant.is_completed
    assert names(storage) == {f"{t(1)}_{t(5)}_0.parquet", "manifest_1", "_version_"}
    assert storage.get(f"{FOLDER}/_version_") == b"1"
    assert oldest(storage, config) == t(1)
    history_write.add(storage, config, [row(7)])
    assert [i.requested for i in load_archived(storage, config, t(6))] == [t(7)]


def test_logs_of_archived_writers_are_placed_by_when_these_completed(tmp_path: Path) -> None:
    """Hoodoo archives no writer that a base file overtook until there is a newer one; Spark Hudi does."""
    storage, config = store(tmp_path)
    layout = LAYOUTS[2]
    for n, done in ((1, 2), (3, 9), (6, 8), (20, 21)):
        action = "commit" if n == 6 else "deltacommit"
        if n < 20:
            content = layout.encode_commit(metadata(n), action)
            history_write.add(storage, config, [HistoryRow(t(n), t(done), action, content, b"")])
        else:
            instant = Instant(t(n), action, State.COMPLETED, t(done))
            name = f"{config.timeline_path}/{layout.file_name(instant)}"
            storage.put(name, layout.encode_commit(metadata(n), action))
    for file in (
        f"f-0_0-0-0_{t(1)}.parquet", f".f-0_{t(3)}.log.1_0-0-0", f"f-0_0-0-0_{t(6)}.parquet",
        f".f-0_{t(20)}.log.1_0-0-0",
    ):  # fmt: skip
        storage.put(f"p/{file}", b"1")
    line = timeline.load(storage, config)
    assert line.start == t(20)
    (found,) = view.build(Snapshot(storage, line)).slices
    assert found.instant == t(6)
    assert [log.instant for log in found.log_files] == [
        t(3),
        t(20),
    ]  # 3 completed after 6 had begun
    (before,) = view.build(Snapshot(storage, line), t(5)).slices
    assert (before.instant, [log.instant for log in before.log_files]) == (t(1), [t(3)])


def test_the_archived_timeline_is_read_once_for_logs(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    history_write.add(storage, config, [row(n, "deltacommit") for n in (1, 3, 5)])
    instant = Instant(t(20), "commit", State.COMPLETED, t(21))
    content = LAYOUTS[2].encode_commit(metadata(20), "commit")
    storage.put(f"{config.timeline_path}/{LAYOUTS[2].file_name(instant)}", content)
    storage.put(f"p/f-0_0-0-0_{t(20)}.parquet", b"1")
    for n in (1, 3, 5):
        storage.put(f"p/.f-0_{t(n)}.log.1_0-0-0", b"1")
    asked = RecordingStorage(storage)
    line = timeline.load(asked, config)
    view.build(Snapshot(asked, line))
    files = [path for op, path in asked.calls if path.endswith("_0.parquet") and "history" in path]
    assert len(set(files)) == len(files) == 1
    seen = len(asked.calls)
    view.build(Snapshot(asked, timeline.reload(asked, line)))
    assert not [path for op, path in asked.calls[seen:] if "history" in path]


def test_the_archived_timeline_is_read_no_further_back_than_need_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log file of a group that no compaction has reached is old, and its place is known."""
    storage, config = store(tmp_path)
    history_write.add(storage, config, [row(n, "deltacommit") for n in (1, 2, 3, 5)])
    instant = Instant(t(20), "commit", State.COMPLETED, t(21))
    content = LAYOUTS[2].encode_commit(metadata(20), "commit")
    storage.put(f"{config.timeline_path}/{LAYOUTS[2].file_name(instant)}", content)
    for file in (
        f"f-0_0-0-0_{t(3)}.parquet", f".f-0_{t(5)}.log.1_0-0-0", f"f-0_0-0-0_{t(20)}.parquet",
        f"g-0_0-0-0_{t(1)}.parquet", f".g-0_{t(2)}.log.1_0-0-0",
    ):  # fmt: skip
        storage.put(f"p/{file}", b"1")
    asked: list[str] = []
    read = view.ends_since

    def ends_since(storage: Storage, config: TableConfig, since: str) -> dict[str, str]:
        asked.append(since)
        return read(storage, config, since)

    monkeypatch.setattr(view, "ends_since", ends_since)
    slices = view.build(Snapshot(storage, timeline.load(storage, config))).slices
    assert asked == [t(5)]
    assert [(s.instant, len(s.log_files)) for s in slices] == [(t(20), 0), (t(1), 1)]


def test_what_is_there_is_not_put_again(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    history_write.add(storage, config, [row(1), row(3)])
    history_write.add(storage, config, [row(1), row(3)])
    assert len(history.snapshot(storage, config).files) == 1
    history_write.add(storage, config, [row(3), row(5)])
    assert [i.requested for i in load_archived(storage, config)] == [t(1), t(3), t(5)]
    assert f"{t(5)}_{t(5)}_0.parquet" in names(storage)


def test_a_file_that_no_manifest_names_is_taken_up(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    history_write.add(storage, config, [row(1), row(3)])
    for name in ("manifest_1", "_version_"):  # the crash was before them
        storage.delete(f"{FOLDER}/{name}")
    assert load_archived(storage, config) == ()
    history_write.add(storage, config, [row(1), row(3), row(5)])
    assert [i.requested for i in load_archived(storage, config)] == [t(1), t(3), t(5)]
    assert len(history.snapshot(storage, config).files) == 2


def test_a_torn_file_of_another_tool_is_written_anew(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    storage.put(f"{FOLDER}/{t(1)}_{t(3)}_0.parquet", b"PAR1 half")
    history_write.add(storage, config, [row(1), row(3)])
    assert [i.metadata() for i in load_archived(storage, config)] == [metadata(1), metadata(3)]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    history_write.add(storage, config, [row(1)])
    storage.put(f"{FOLDER}/{t(1)}_{t(1)}_0.parquet", b"PAR1 half")
    with pytest.raises(CorruptTableError, match=f"{t(1)}_{t(1)}_0.parquet"):
        load_archived(storage, config)
    storage.delete(f"{FOLDER}/{t(1)}_{t(1)}_0.parquet")
    with pytest.raises(CorruptTableError, match="it is missing"):
        load_archived(storage, config)


def test_who_comes_second_sees_the_first(tmp_path: Path) -> None:
    """Another archiver's manifest between the look and the put."""
    inner, config = store(tmp_path)

    class Second(RecordingStorage):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            if path.endswith("manifest_1"):
                history_write.add(inner, config, [row(7)])
            return super().put_if_absent(path, data)

    history_write.add(Second(inner), config, [row(1)])
    assert [i.requested for i in load_archived(inner, config)] == [t(1), t(7)]
    assert inner.get(f"{FOLDER}/_version_") == b"2"


def test_the_version_follows_the_newest_manifest(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    history_write.add(storage, config, [row(1)])
    history_write.add(storage, config, [row(3)])
    storage.put(f"{FOLDER}/_version_", b"1")  # the slower of two put it last
    history.point(storage, config)
    assert storage.get(f"{FOLDER}/_version_") == b"2"
    storage.delete(f"{FOLDER}/_version_")
    history_write.add(storage, config, [row(3)])  # changes nothing else
    assert storage.get(f"{FOLDER}/_version_") == b"2"


def test_too_many_others(tmp_path: Path) -> None:
    inner, config = store(tmp_path)

    class Never(RecordingStorage):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            return False if "manifest" in path else super().put_if_absent(path, data)

    with pytest.raises(CommitConflictError, match="faster"):
        history_write.add(Never(inner), config, [row(1)])


@pytest.mark.parametrize("version", [9, 6])
def test_answers_that_get_lost(tmp_path: Path, version: int) -> None:
    for at in range(1, 4):
        inner, config = store(tmp_path / str(at), version)
        storage = FailingStorage(inner, at, after=True, ops={"put_if_absent"})
        if version == 9:
            history_write.add(storage, config, [row(1)])
        else:
            archived_log.append(storage, config, [_entry(1)], 10)
        assert [i.requested for i in load_archived(inner, config)] == [t(1)]


def test_levels(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    levels = Levels(batch=2, manifests=1)
    for n in range(1, 16, 2):
        history_write.add(storage, config, [row(n)])
        history_levels.tidy(storage, config, levels)
    files = history.snapshot(storage, config).files
    assert [(f.first, f.last, f.level) for f in files] == [(t(1), t(15), 3)]
    assert [i.metadata() for i in load_archived(storage, config)] == [
        metadata(n) for n in range(1, 16, 2)
    ]
    history_write.add(storage, config, [row(17)])
    history_levels.tidy(storage, config, levels)
    kept = {"_version_", files[0].name, f"{t(17)}_{t(17)}_0.parquet"}
    numbered = {n for n in names(storage) if n.startswith("manifest")}
    assert names(storage) == kept | numbered and len(numbered) == 1


def test_large_files_are_not_merged(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    for n in (1, 3, 5):
        history_write.add(storage, config, [row(n)])
    assert history_levels.tidy(storage, config, Levels(batch=2, largest=10)) == 0
    assert [f.level for f in history.snapshot(storage, config).files] == [0, 0, 0]
    size = history.snapshot(storage, config).files[0].size
    assert history_levels.tidy(storage, config, Levels(batch=3, largest=size + 1)) == 1
    assert [f.level for f in history.snapshot(storage, config).files] == [0, 1]


def test_a_reader_holds_what_is_merged_under_it(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    history_write.add(storage, config, [row(1)])
    held = load_archived(storage, config)[0]
    history_write.add(storage, config, [row(3)])
    history_levels.tidy(storage, config, Levels(batch=2, manifests=1))
    storage.delete(f"{FOLDER}/{t(1)}_{t(1)}_0.parquet")
    assert held.metadata() == metadata(1)
    for entry in storage.list(FOLDER):
        storage.delete(entry.path)
    with pytest.raises(CorruptTableError, match=t(1)):
        held.metadata()


def test_one_row_group_is_read_for_one_instant(tmp_path: Path) -> None:
    storage, config = store(tmp_path)
    history_write.add(storage, config, [row(n) for n in range(1, 501, 2)])
    path = f"{FOLDER}/{t(1)}_{t(499)}_0.parquet"
    start, table = history_files.read_group(storage, path, 240)
    assert start == 200 and table.num_rows == 50
    assert load_archived(storage, config)[240].metadata() == metadata(481)
    with pytest.raises(CorruptTableError, match="no row 250"):
        history_files.read_group(storage, path, 250)
    assert isinstance(history_files.read_rows(storage, path, ("action",)), pa.Table)


# --- version 6 ------------------------------------------------------------------------------------------
def _entry(n: int, state: str = "COMPLETED", action: str = "commit") -> dict[str, object]:
    contents = codec.decode(LAYOUTS[1].encode_commit(metadata(n), action), "x")
    given = {} if state == "REQUESTED" else contents
    return archived_entries.entry(t(n), action, state, t(n), given)


def test_entries_come_back(tmp_path: Path) -> None:
    storage, config = store(tmp_path, 6)
    states = ("REQUESTED", "INFLIGHT", "COMPLETED")
    first = [_entry(n, state) for n in (1, 3, 5, 7) for state in states]
    assert (
        archived_log.append(storage, config, first, 5)
        == ".hoodie/archived/.commits_.archive.1_1-0-1"
    )
    assert archived_log.append(storage, config, [_entry(9)], 5).endswith(".2_1-0-1")
    assert storage.get(".hoodie/archived/.commits_.archive.1_1-0-1").count(b"#HUDI#") == 3
    found = load_archived(storage, config)
    assert [(i.requested, i.completed) for i in found] == [(t(n), None) for n in (1, 3, 5, 7, 9)]
    assert [i.metadata().stats[0].path for i in found] == [
        metadata(n).stats[0].path for n in (1, 3, 5, 7, 9)
    ]
    assert oldest(storage, config) == t(1)
    assert [i.requested for i in load_archived(storage, config, t(7))] == [t(7), t(9)]


def test_the_folder_is_the_tables(tmp_path: Path) -> None:
    storage, config = store(tmp_path, 6)
    config = config.with_properties(**{"hoodie.archivelog.folder": "history"})
    assert archived_log.append(storage, config, [_entry(1)], 5).startswith(
        ".hoodie/history/.commits_"
    )


def test_a_number_that_is_taken(tmp_path: Path) -> None:
    inner, config = store(tmp_path, 6)

    class Second(RecordingStorage):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            if path.endswith(".1_1-0-1"):
                archived_log.append(inner, config, [_entry(7)], 10)
            return super().put_if_absent(path, data)

    archived_log.append(Second(inner), config, [_entry(1)], 10)
    assert [i.requested for i in load_archived(inner, config)] == [t(1), t(7)]


def test_a_damaged_archive_file_is_named(tmp_path: Path) -> None:
    storage, config = store(tmp_path, 6)
    path = archived_log.append(storage, config, [_entry(1)], 5)
    data = storage.get(path)
    for bad in (data[:-9], data[:40], b"nothing", data[:-60] + b"\xff" * 48 + data[-12:]):
        storage.put(path, bad)
        with pytest.raises(CorruptTableError, match="archive.1_1-0-1"):
            [i.metadata() for i in load_archived(storage, config)]


def test_an_unknown_answer_is_not_hidden(tmp_path: Path) -> None:
    inner, config = store(tmp_path, 6)

    class Lost(RecordingStorage):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            raise StorageUnknownError(path, "no answer", "")

    with pytest.raises(StorageUnknownError):
        archived_log.append(Lost(inner), config, [_entry(1)], 10)


@pytest.mark.parametrize(
    "kind",
    [["null", "E"], {"type": "array", "items": "null"}],
    ids=["contains itself", "nulls in no bytes"],
)
def test_an_entry_of_a_schema_without_bound_is_refused(tmp_path: Path, kind: object) -> None:
    storage, config = store(tmp_path, 6)
    fields = [{"name": "f", "type": kind}]
    schema = json.dumps({"type": "record", "name": "E", "fields": fields}).encode()
    datum = struct.pack(">i", 6) + b"\x80\x84\xaf\x5f\0\0"
    content = struct.pack(">ii", 3, 1) + datum
    inner = 8 + 4 + 8 + len(schema) + 8 + len(content) + 4 + 8
    data = (
        MAGIC + struct.pack(">qii", inner, 1, 3) + struct.pack(">iii", 1, 2, len(schema)) + schema
    )
    data += struct.pack(">q", len(content)) + content + bytes(4) + struct.pack(">q", inner + 6)
    path = ".hoodie/archived/.commits_.archive.1_1-0-1"
    storage.put(path, data)
    with pytest.raises(CorruptTableError, match=r"archive.1_1-0-1: .*its schema"):
        load_archived(storage, config)
