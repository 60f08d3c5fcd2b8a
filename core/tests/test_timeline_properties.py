"""hoodie.properties: text, checksum, refusals, and a crash at every step of an update."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

import pytest
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    CorruptTableError,
    NotATableError,
    StorageUnknownError,
    TableExistsError,
    UnsupportedTableError,
)
from hoodoo.model.config import TableConfig
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import Crash, CrashingStorage, FailingStorage, GatedStorage
from hoodoo.timeline import create, heartbeat, javaprops, partitions, properties
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2024, 4, 18, 22, 35, 50, 847000, tzinfo=timezone.utc)


def store(path: Path) -> DirectoryStorage:
    return DirectoryStorage(str(path))


def config(version: int = 9, **more: str) -> TableConfig:
    return TableConfig({"hoodie.table.name": "trips", "hoodie.table.version": str(version), **more})


# --- text -------------------------------------------------------------------------------------
@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_text_round_trips(values: dict[str, str]) -> None:
    # Java strings can hold half a surrogate pair, UTF-8 files can't.
    clean = {
        k.encode("utf-8", "replace").decode(): v.encode("utf-8", "replace").decode()
        for k, v in values.items()
    }
    data = javaprops.render(clean)
    assert data.isascii()
    assert javaprops.parse(data) == clean


def test_text_as_java_reads_it() -> None:
    text = (
        b"# comment\n! another\n\n  a = 1\r\nb:2\nc 3\nd\n"
        b"e=one\\\n   two\nf\\:g\\ h=x\\u00e9\\=\\n\ni=a\\\\\nj==k:l\n"
    )
    assert javaprops.parse(text) == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d": "",
        "e": "onetwo",
        "f:g h": "x\u00e9=\n",
        "i": "a\\",
        "j": "=k:l",
    }


def test_text_as_hudi_writes_it() -> None:
    data = javaprops.render({"z": "1", javaprops.CHECKSUM: "7", "a": "{:}"}, now=NOW)
    assert data == (
        b"#Properties saved on 2024-04-18T22:35:50.847Z\n#Thu Apr 18 22:35:50 UTC 2024\n"
        b"a={\\:}\nz=1\nhoodie.table.checksum=7\n"
    )


def test_checksum_of_the_format_page() -> None:
    assert properties.checksum("v6_nonpartitioned", "default") == "1363530505"


# --- create and load --------------------------------------------------------------------------
@pytest.mark.parametrize(("version", "layout"), [(6, 1), (8, 2), (9, 2)])
def test_init_then_load(tmp_path: Path, version: int, layout: int) -> None:
    made = create.init_table(store(tmp_path), config(version))
    found = properties.load(store(tmp_path))
    assert found == made
    assert found.layout_version == layout
    assert found.timezone == "UTC"
    assert (found.get("hoodie.timeline.path") is None) == (version == 6)
    assert found.get("hoodie.table.format") == ("native" if version == 9 else None)
    # Java lists the timeline directory even where there is no commit yet
    assert (tmp_path / found.timeline_path).is_dir()
    last = (tmp_path / properties.PATH).read_bytes().splitlines()[-1]
    assert last.startswith(b"hoodie.table.checksum=")
    with pytest.raises(TableExistsError):
        create.init_table(store(tmp_path), config(version))


@pytest.mark.parametrize("name", ["timeline/20240101000000000.commit.requested"])
def test_init_over_a_headless_timeline_is_refused(tmp_path: Path, name: str) -> None:
    store(tmp_path).put(f".hoodie/{name}", b"")
    with pytest.raises(CorruptTableError, match="hoodie.properties"):
        create.init_table(store(tmp_path), config())


def test_create_whose_answer_is_lost_still_succeeds(tmp_path: Path) -> None:
    lost = FailingStorage(store(tmp_path), 2, after=True, ops={"put_if_absent"})
    made = create.init_table(lost, config(), NOW)
    assert properties.load(store(tmp_path)) == made


def test_not_a_table(tmp_path: Path) -> None:
    with pytest.raises(NotATableError, match="hoodoo.create"):
        properties.load(store(tmp_path))
    store(tmp_path).put(".hoodie/other", b"")
    with pytest.raises(NotATableError, match="no hoodie.properties"):
        properties.load(store(tmp_path))


@pytest.mark.parametrize(
    ("version", "layout", "said"),
    [("5", "1", "version 5"), ("10", "2", "version 10"), ("6", "2", "layout 1"), ("x", "2", "'x'")],
)
def test_unsupported(tmp_path: Path, version: str, layout: str, said: str) -> None:
    values = {
        "hoodie.table.name": "t",
        "hoodie.table.version": version,
        "hoodie.timeline.layout.version": layout,
        "hoodie.table.checksum": properties.checksum("t"),
    }
    store(tmp_path).put(properties.PATH, javaprops.render(values))
    with pytest.raises(UnsupportedTableError, match=said):
        properties.load(store(tmp_path))


def test_which_file_counts(tmp_path: Path) -> None:
    s = store(tmp_path)
    good = javaprops.render({**create.with_defaults(config()).properties, "k": "main"})
    signed = {**javaprops.parse(good), javaprops.CHECKSUM: properties.checksum("trips")}
    main, backup = javaprops.render(signed), javaprops.render({**signed, "k": "backup"})
    wrong = javaprops.render({**signed, javaprops.CHECKSUM: "1"})

    def read(main: bytes | None, backup: bytes | None) -> str | None:
        for path, data in ((properties.PATH, main), (properties.BACKUP, backup)):
            s.delete(path)
            if data is not None:
                s.put(path, data)
        return properties.load(s).get("k")

    assert read(main, backup) == "main"
    assert read(None, backup) == "backup"
    assert read(wrong, backup) == "backup"
    assert read(good, None) == "main"  # no checksum
    assert read(good, backup) == "backup"  # might be cut short
    for pair in ((wrong, None), (None, wrong), (good, wrong), (b"", wrong)):
        with pytest.raises(CorruptTableError, match="checksum"):
            read(*pair)


def test_every_cut_is_noticed(tmp_path: Path) -> None:
    s = store(tmp_path)
    create.init_table(s, config())
    data = s.get(properties.PATH)
    for length in range(len(data) - 1):  # without the last newline it is still whole
        s.put(properties.PATH, data[:length])
        s.put(properties.BACKUP, data)
        assert properties.recover(s)
        assert s.get(properties.PATH) == data


# --- update -----------------------------------------------------------------------------------
def test_update(tmp_path: Path) -> None:
    s = store(tmp_path)
    made = create.init_table(s, config(unknown="kept"))
    new = properties.update(s, made, {"a": "1", "hoodie.archivelog.folder": None})
    assert new == properties.load(s)
    assert new.get("a") == "1" and new.get("unknown") == "kept"
    assert new.get("hoodie.archivelog.folder") is None
    renamed = properties.update(s, new, {"hoodie.table.name": "other"})
    assert properties.load(s) == renamed and renamed.name == "other"
    with pytest.raises(CommitConflictError, match="'other'"):
        properties.update(s, new, {"a": "2"})
    with pytest.raises(ConfigError):
        properties.update(s, renamed, {javaprops.CHECKSUM: "1"})
    assert not properties.recover(s)


def test_update_takes_hadoops_checksum_away(tmp_path: Path) -> None:
    s = store(tmp_path)
    stale = ".hoodie/.hoodie.properties.crc"
    s.put(stale, b"crc of what was here")
    made = create.init_table(s, config())
    assert s.head(stale) is None
    s.put(stale, b"crc of the old text")
    properties.update(s, made, {"a": "1"})
    assert s.head(stale) is None


def test_update_starts_from_the_file_not_from_the_caller(tmp_path: Path) -> None:
    s = store(tmp_path)
    made = create.init_table(s, config())
    properties.update(s, made, {"a": "1"})
    assert properties.update(s, made, {"b": "2"}).get("a") == "1"


def test_no_change_is_lost_between_the_look_and_the_backup(tmp_path: Path) -> None:
    """Another writer changes another property, whose update ends before this one's backup is put."""
    inner = store(tmp_path)
    old = properties.create(inner, config())
    left = [{"a": "theirs"}]

    def gate(op: str, path: str) -> None:
        if left and (op, path) == ("put_if_absent", properties.BACKUP):
            properties.update(inner, old, left.pop())

    made = properties.update(GatedStorage(inner, gate), old, {"b": "ours"})
    assert made == properties.load(inner)
    assert (made.get("a"), made.get("b")) == ("theirs", "ours")
    assert inner.head(properties.BACKUP) is None


def test_an_update_that_is_in_progress_excludes_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands before its new text while another one begins: that one gives up, and takes no
    backup away."""
    monkeypatch.setattr(properties, "_UPDATE_ATTEMPTS", 2)
    inner = store(tmp_path)
    old = create.init_table(inner, config())
    said: list[str] = []

    def gate(op: str, path: str) -> None:
        if not said and (op, path) == ("put", properties.PATH):
            said.append("begun")
            with pytest.raises(CommitConflictError):
                properties.update(inner, old, {"a": "theirs"})
            assert properties.recovered(inner) == old

    made = properties.update(GatedStorage(inner, gate), old, {"b": "ours"})
    assert said and properties.load(inner) == made
    assert (made.get("a"), made.get("b")) == (None, "ours")
    assert properties.update(inner, old, {"a": "later"}).get("b") == "ours"


def test_a_backup_of_another_machine_says_how_long_it_excludes_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(properties, "_UPDATE_ATTEMPTS", 2)
    s = store(tmp_path)
    old = create.init_table(s, config())
    with monkeypatch.context() as there:
        owner = {**heartbeat.identity(), "host": "elsewhere", "process": "another"}
        there.setattr(heartbeat, "identity", lambda: owner)
        with pytest.raises(Crash):
            properties.update(CrashingStorage(s, 2, "before"), old, {"a": "1"})
    with pytest.raises(CommitConflictError, match="on elsewhere died, others wait 120 seconds"):
        properties.update(s, old, {"a": "2"})
    entry = s.head(properties.BACKUP)
    assert entry is not None
    os.utime(tmp_path / properties.BACKUP, (entry.modified - 121, entry.modified - 121))
    assert properties.update(s, old, {"a": "2"}).get("a") == "2"


@pytest.mark.parametrize("when", ["before", "torn", "after"])
@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_interrupted_update(
    tmp_path: Path, step: int, when: Literal["before", "after", "torn"]
) -> None:
    s = store(tmp_path)
    old = create.init_table(s, config())
    crashing = CrashingStorage(s, step, when)
    with pytest.raises(Crash):
        properties.update(crashing, old, {"a": "1"})
    seen = properties.load(s)
    assert seen.properties in (old.properties, {**old.properties, "a": "1"})
    # the next writer needs no manual step, even if it crashes while recovering
    for inner in range(1, 6):
        again = CrashingStorage(s, inner, when)
        try:
            properties.recover(again)
        except Crash:
            assert properties.load(s) == seen
    properties.recover(s)
    assert properties.load(s) == seen
    assert s.head(properties.BACKUP) is None
    assert properties.update(s, seen, {"b": "2"}).get("b") == "2"


def test_update_takes_four_steps(tmp_path: Path) -> None:
    s = store(tmp_path)
    old = create.init_table(s, config())
    counting = CrashingStorage(s)
    properties.update(counting, old, {"a": "1"})
    assert counting.count == 4  # what test_interrupted_update walks through


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_update_whose_answer_is_lost(tmp_path: Path, step: int) -> None:
    s = store(tmp_path)
    old = create.init_table(s, config())
    lost = FailingStorage(s, step, after=True, ops={"put", "put_if_absent", "delete"})
    with pytest.raises(StorageUnknownError):
        properties.update(lost, old, {"a": "1"})
    assert properties.load(s).get("a") == ("1" if step > 2 else None)
    assert properties.update(s, old, {"b": "2"}).get("b") == "2"


# --- partition metadata -----------------------------------------------------------------------
@pytest.mark.parametrize(("path", "depth"), [("", 0), ("a", 1), ("a=1/b=2", 2)])
def test_partition_metadata(tmp_path: Path, path: str, depth: int) -> None:
    s = store(tmp_path)
    assert partitions.ensure(s, path, "20240101000000000")
    assert not partitions.ensure(s, path, "20250101000000000")
    found = partitions.parse(s.get(partitions.path_of(path)))
    assert found == partitions.PartitionMetadata("20240101000000000", depth)
    with pytest.raises(CorruptTableError):
        partitions.parse(b"commitTime=1")


def test_properties_are_there_at_every_step_of_an_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that looks for remains of an update takes the backup of one that is going on."""
    here = store(tmp_path)
    made = create.init_table(here, config())
    storage = type(here)

    def looked(name: str) -> None:
        real = getattr(storage, name)

        def step(self: Any, *args: Any) -> Any:
            done = real(self, *args)
            if args[0] == properties.BACKUP and name == "put_if_absent":
                monkeypatch.undo()
                properties.recover(self)  # another writer
                looked("delete")
            elif name == "delete":
                properties.load(self)
            return done

        monkeypatch.setattr(storage, name, step)

    looked("put_if_absent")
    changed = properties.update(here, made, {"hoodoo.x": "1"})
    assert changed.get("hoodoo.x") == properties.load(here).get("hoodoo.x") == "1"
