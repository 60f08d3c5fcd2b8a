"""What replacecommits took out is read once by a process, and again where the file is another one."""

from __future__ import annotations

import builtins
import gzip
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from zlib import crc32

import pytest
from attrs import evolve
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Entry, Storage
from hoodoo.testing.stores import FailingStorage, RecordingStorage
from hoodoo.timeline import replaced, replaced_note, timeline
from hoodoo_standard.storage.local import LocalStorage

CONFIG = TableConfig({"hoodie.table.version": "9", "hoodie.timeline.layout.version": "2"})
FOLDER = ".hoodie/timeline"


def put(folder: Path, number: int, group: str) -> Path:
    layout = timeline.from_names((), CONFIG).layout
    said = CommitMetadata(Operation.CLUSTER, (), {"p": (group,)})
    requested = 20240101000000000 + 10 * number
    path = folder / FOLDER / f"{requested}_{requested + 1}.replacecommit"
    path.write_bytes(layout.encode_commit(said, "replacecommit"))
    return path


@pytest.mark.parametrize("count", [5, 40])
def test_many_are_read_once(tmp_path: Path, count: int) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    paths = [put(tmp_path, n, f"g{n}") for n in range(count)]
    storage = RecordingStorage(LocalStorage(str(tmp_path)))

    def found() -> tuple[set[str], int]:
        before = len(storage.calls)
        groups = timeline.load(storage, CONFIG).replaced_file_groups(storage)
        reads = [p for op, p in storage.calls[before:] if op == "get" and p != replaced_note.PATH]
        return {file_id for _, file_id in groups}, len(reads)

    first = {f"g{n}" for n in range(count)}
    assert found() == (first, count)
    assert found() == (first, 0 if count > 16 else count)  # another handle
    paths.append(put(tmp_path, count, "new"))
    assert found() == (first | {"new"}, 1 if count > 16 else count + 1)
    # A table that was taken away, and another one of the same instants in its place.
    put(tmp_path, 0, "xx")
    os.utime(paths[0], (1, 1))
    groups, reads = found()
    assert groups == first - {"g0"} | {"new", "xx"}
    assert reads == (1 if count > 16 else count + 1)
    limit = paths[0].name[:17]
    now = timeline.load(storage, CONFIG)
    assert list(now.replaced_file_groups(storage, limit)) == [("p", "xx")]


@pytest.fixture
def many(tmp_path: Path) -> Iterator[tuple[RecordingStorage, Path]]:
    """A table of 200 replacecommits, which a writer has noted; nothing is remembered of it."""
    (tmp_path / FOLDER).mkdir(parents=True)
    for n in range(200):
        put(tmp_path, n, f"g{n}")
    storage = RecordingStorage(LocalStorage(str(tmp_path)))
    now = timeline.load(storage, CONFIG)
    now.note_replaced(storage)  # nothing is known yet
    assert not (tmp_path / replaced_note.PATH).exists()
    now.replaced_file_groups(storage)
    now.note_replaced(storage)
    forget()
    yield storage, tmp_path
    forget()


def forget() -> None:
    """What a new process does not know."""
    replaced._seen.clear()
    replaced_note._known.clear()


def add(folder: Path, numbers: Iterable[int]) -> None:
    for n in numbers:
        put(folder, n, f"g{n}")


def note(storage: Storage) -> None:
    """As a writer does after a write."""
    now = timeline.load(storage, CONFIG)
    now.replaced_file_groups(storage)
    now.note_replaced(storage)


class Tagged(RecordingStorage):
    """A store that tags the bytes of an object, as an object store does by its ETag."""

    def __init__(self, inner: Storage, salt: str = "") -> None:
        super().__init__(inner)
        self.salt = salt

    def list(self, prefix: str = "", recursive: bool = False) -> builtins.list[Entry]:
        found = super().list(prefix, recursive)
        return [
            evolve(e, tag=f"{crc32(self.inner.get(e.path))}{self.salt}")
            for e in found
            if not e.is_dir
        ]


def looked(storage: RecordingStorage) -> tuple[dict[tuple[str, str], str], int]:
    """What is found, and how many files are read for it."""
    before = len(storage.calls)
    found = timeline.load(storage, CONFIG).replaced_file_groups(storage)
    return found, [op for op, _path in storage.calls[before:]].count("get")


def groups(numbers: Iterable[int]) -> dict[tuple[str, str], str]:
    return {("p", f"g{n}"): str(20240101000000000 + 10 * n) for n in numbers}


def test_a_new_process_reads_the_note(many: tuple[RecordingStorage, Path]) -> None:
    storage, path = many
    assert looked(storage) == (groups(range(200)), 2)
    forget()
    add(path, range(200, 210))
    assert looked(storage) == (groups(range(210)), 12)
    before = (path / replaced_note.PATH).read_bytes()
    note(storage)  # ten more are no reason
    assert (path / replaced_note.PATH).read_bytes() == before
    add(path, range(210, 280))
    note(storage)
    assert (path / replaced_note.PATH).read_bytes() != before
    forget()
    assert looked(storage) == (groups(range(280)), 2)


def test_few_need_no_note(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    add(tmp_path, range(64))
    storage = RecordingStorage(LocalStorage(str(tmp_path)))
    note(storage)
    assert [op for op, path in storage.calls if path == replaced_note.PATH] == []


def test_the_note_says_nothing_of_what_was_restored_or_archived(
    many: tuple[RecordingStorage, Path],
) -> None:
    storage, path = many
    files = sorted((path / FOLDER).iterdir())
    for file in files[:20] + files[-20:]:
        file.unlink()
    assert looked(storage) == (groups(range(20, 180)), 2)
    put(path, 199, "other")  # at the same requested time, completed at another one
    again = path / FOLDER / "20240101000001990_20240101000001991.replacecommit"
    again.rename(again.with_name("20240101000001990_20240101000001992.replacecommit"))
    forget()
    assert looked(storage)[0] == {**groups(range(20, 180)), ("p", "other"): "20240101000001990"}


@pytest.mark.parametrize("what", ["torn", "no gzip", "no JSON", "no note", "empty", "newer"])
def test_a_damaged_note_is_none(many: tuple[RecordingStorage, Path], what: str) -> None:
    storage, path = many
    file = path / replaced_note.PATH
    whole = file.read_bytes()
    file.write_bytes({
        "torn": whole[:-5], "no gzip": b"x" * 99, "no JSON": gzip.compress(b"{"), "empty": b"",
        "no note": gzip.compress(b"[1]"), "newer": gzip.compress(b'{"version": 2}'),
    }[what])  # fmt: skip
    assert looked(storage) == (groups(range(200)), 201)
    note(storage)  # the next writer makes another one
    forget()
    assert looked(storage) == (groups(range(200)), 2)


def test_a_note_of_another_table_is_none(many: tuple[RecordingStorage, Path]) -> None:
    storage, path = many
    for n in range(200):
        put(path, n, f"h{n}")
    assert {file_id for _, file_id in looked(storage)[0]} == {f"h{n}" for n in range(200)}


def test_a_file_that_was_put_anew_is_read_again(tmp_path: Path) -> None:
    """Where the store tags bytes, as object stores do: any of them, not the newest alone."""
    (tmp_path / FOLDER).mkdir(parents=True)
    add(tmp_path, range(100))
    storage = Tagged(LocalStorage(str(tmp_path)))
    note(storage)
    forget()
    assert looked(storage) == (groups(range(100)), 2)
    forget()
    put(tmp_path, 50, "other")
    found, reads = looked(storage)
    assert reads == 3
    assert found == {**groups([*range(50), *range(51, 100)]), ("p", "other"): "20240101000000500"}
    forget()


def test_a_writer_notes_the_bytes_that_it_read(tmp_path: Path) -> None:
    """A file that was put anew while the process of the writer runs is another one for all that come later."""
    (tmp_path / FOLDER).mkdir(parents=True)
    add(tmp_path, range(100))
    storage = Tagged(LocalStorage(str(tmp_path)))
    now = timeline.load(storage, CONFIG)
    now.replaced_file_groups(storage)
    put(tmp_path, 50, "other")
    now = timeline.reload(storage, now)
    now.replaced_file_groups(storage)
    now.note_replaced(storage)
    forget()
    found, reads = looked(storage)
    assert found["p", "other"] and ("p", "g50") not in found
    assert reads == 3
    forget()


def test_a_copy_with_other_tags_is_noted_again(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    add(tmp_path, range(100))
    note(Tagged(LocalStorage(str(tmp_path))))
    forget()
    storage = Tagged(LocalStorage(str(tmp_path)), "encrypted")
    assert looked(storage) == (groups(range(100)), 101)
    note(storage)
    forget()
    assert looked(storage) == (groups(range(100)), 2)
    forget()


def test_a_writer_reads_nothing_again_after_its_own_commit(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    add(tmp_path, range(100))
    storage = Tagged(LocalStorage(str(tmp_path)))
    note(storage)
    forget()
    now = timeline.load(storage, CONFIG)
    now.replaced_file_groups(storage)
    reads = len(storage.calls)
    path = put(tmp_path, 100, "own")
    own = now.layout.parse_instant(path.name)
    assert own is not None
    after = now.followed_by(own)
    after.note(own, CommitMetadata(Operation.CLUSTER, (), {"p": ("g100",)}))
    assert after.replaced_file_groups(storage) == groups(range(101))
    assert storage.calls[reads:] == []
    forget()


def test_names_without_both_times_are_not_noted(tmp_path: Path) -> None:
    """Those of timeline layout 1: an instant may be rolled back, and be done again under its name."""
    (tmp_path / ".hoodie").mkdir()
    config = TableConfig({"hoodie.table.version": "6", "hoodie.timeline.layout.version": "1"})
    layout = timeline.from_names((), config).layout
    for n in range(100):
        said = CommitMetadata(Operation.CLUSTER, (), {"p": (f"g{n}",)})
        content = layout.encode_commit(said, "replacecommit")
        file = tmp_path / f".hoodie/{20240101000000000 + 10 * n}.replacecommit"
        file.write_bytes(content)
    storage = RecordingStorage(LocalStorage(str(tmp_path)))
    now = timeline.load(storage, config)
    assert now.replaced_file_groups(storage) == groups(range(100))
    now.note_replaced(storage)
    assert [op for op, path in storage.calls if path == replaced_note.PATH] == []


def test_what_is_too_long_is_not_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    add(tmp_path, range(100))
    storage = RecordingStorage(LocalStorage(str(tmp_path)))
    monkeypatch.setattr(replaced_note, "_MOST_IDS", 99)
    note(storage)
    assert not (tmp_path / replaced_note.PATH).exists()
    monkeypatch.setattr(replaced_note, "_MOST_IDS", 100)
    note(storage)
    assert (tmp_path / replaced_note.PATH).exists()


@pytest.mark.parametrize("after", [False, True])
def test_a_store_that_takes_no_note_is_no_error(tmp_path: Path, after: bool) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    add(tmp_path, range(100))
    storage = FailingStorage(LocalStorage(str(tmp_path)), 1, ops=frozenset({"put"}), after=after)
    note(storage)
    assert storage.count == 1
    forget()
    assert looked(RecordingStorage(storage.inner))[0] == groups(range(100))
    forget()


def test_one_that_fails_to_read_it_reads_the_replacecommits(
    many: tuple[RecordingStorage, Path],
) -> None:
    storage, _path = many
    failing = FailingStorage(storage, 1, ops=frozenset({"get"}), once=True)
    now = timeline.load(failing, CONFIG)
    assert now.replaced_file_groups(failing) == groups(range(200))
