"""The local store: the shared contract, and what is its own."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hoodoo.errors import StorageError, StorageUnknownError
from hoodoo.storage import temporaries, uri
from hoodoo.storage.processes import process_lives
from hoodoo.testing.contracts.storage import StorageContract
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)


class TestLocal(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> LocalStorage:
        return LocalStorage(tmp_path / "table")


class TestLocalWithoutFsync(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> LocalStorage:
        return LocalStorage(str(tmp_path), durable=False)


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path)


def _temporaries(storage: LocalStorage) -> list[Path]:
    top = Path(storage.base, temporaries.TEMP_DIR)
    return sorted(path for path in top.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("text", "scheme", "rest"),
    [
        ("/data/trips", "", "/data/trips"),
        ("data/trips", "", "data/trips"),
        ("file:///data/trips", "file", "/data/trips"),
        ("file:/data/trips", "file", "/data/trips"),
        ("FILE:///data", "file", "/data"),
        ("file:///a%20b#c", "file", "/a%20b#c"),
        ("s3://bucket/key", "s3", "bucket/key"),
        ("C:/tables", "", "C:/tables"),
        ("a:b", "", "a:b"),
        ("", "", ""),
    ],
)
def test_split(text: str, scheme: str, rest: str) -> None:
    assert uri.split(text) == (scheme, rest)


def test_roots_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = f"file://{tmp_path}/t"
    for given in (
        "t",
        "./x/../t",
        f"file://{tmp_path}/t",
        f"file:{tmp_path}/t",
        tmp_path / "t",
    ):
        assert LocalStorage(given).root == expected
    assert LocalStorage(expected).root == expected
    assert uri.absolute("t") == expected
    assert uri.absolute("s3://b/k/") == "s3://b/k"


@pytest.mark.parametrize("bad", ["s3://bucket/x", "file://host/x", ""])
def test_roots_that_are_not_local(bad: str) -> None:
    with pytest.raises(StorageError) as caught:
        LocalStorage(bad)
    assert caught.value.obj and caught.value.rule and caught.value.fix


def test_making_and_reading_a_store_creates_nothing(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "t")
    assert storage.list() == [] and storage.head("x") is None and storage.delete("x") is False
    assert storage.delete_prefix("x") == 0
    assert not (tmp_path / "t").exists()


def test_no_temporary_stays(storage: LocalStorage) -> None:
    storage.put("a", b"1")
    storage.put_if_absent("b", b"1")
    storage.put_if_absent("b", b"1")
    local = Path(storage.scratch(), "f")
    local.write_bytes(b"1")
    storage.put_file_if_absent("c", str(local))
    assert _temporaries(storage) == []


def test_put_file_moves_without_a_copy(storage: LocalStorage) -> None:
    local = Path(storage.scratch(), "f")
    local.write_bytes(b"1")
    number = local.stat().st_ino
    storage.put_file_if_absent("p/f", str(local))
    assert os.stat(Path(storage.base, "p/f")).st_ino == number
    assert not local.exists()


def test_put_file_across_devices_copies_first(
    storage: LocalStorage,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    local = tmp_path_factory.mktemp("other-device") / "f"
    local.write_bytes(b"bytes")
    link = os.link

    def refusing(source: str, target: str) -> None:
        if Path(source) == local:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        link(source, target)

    monkeypatch.setattr(os, "link", refusing)
    assert storage.put_file_if_absent("f", str(local)) is True
    assert storage.get("f") == b"bytes"
    assert not local.exists() and _temporaries(storage) == []


def test_a_link_whose_answer_was_lost_is_ours(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network file system repeats the request and finds the name it made itself."""
    link = os.link

    def twice(source: str, target: str) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", twice)
    assert storage.put_if_absent("x", b"1") is True


def test_errors_name_object_rule_and_fix(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(os, "replace", full)
    for call in (storage.put_if_absent, storage.put):
        with pytest.raises(StorageError) as caught:
            call("d/x", b"1")
        assert type(caught.value) is StorageError
        assert caught.value.obj == f"{storage.root}/d/x"
        assert "No space left" in caught.value.rule
        assert "Free space" in caught.value.fix
    assert storage.head("d/x") is None and _temporaries(storage) == []


@pytest.mark.parametrize("call", ["put", "put_if_absent", "delete"])
def test_a_name_that_may_not_be_durable_is_unknown(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    storage.put("d/there", b"1")
    storage.put_if_absent("d/z", b"1")
    fsync = os.fsync
    directory = os.stat(Path(storage.base, "d")).st_ino

    def failing(descriptor: int) -> None:
        if os.fstat(descriptor).st_ino == directory:
            raise OSError(errno.EIO, "Input/output error")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(StorageUnknownError, match="Input/output"):
        if call == "delete":
            storage.delete("d/there")
        else:
            getattr(storage, call)("d/new", b"1")


def test_bytes_names_and_new_directories_are_synced(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def noting(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    storage.put_if_absent("a/b/x", b"1")
    base = Path(storage.base)
    for path in (base / "a/b/x", base / "a/b", base / "a", base):
        assert path.stat().st_ino in synced, path


def test_put_is_never_seen_half(storage: LocalStorage) -> None:
    """``put`` replaces by rename: an open reader keeps the old bytes."""
    storage.put("x", b"old")
    with storage.open("x") as file:
        storage.put("x", b"newer")
        assert file.read() == b"old"


def test_sweep_takes_old_temporaries_only(storage: LocalStorage) -> None:
    storage.put("kept", b"1")
    old, young = Path(storage.scratch(), "old"), Path(storage.scratch(), "young")
    old.write_bytes(b"1")
    young.write_bytes(b"1")
    dead = Path(storage.base, temporaries.TEMP_DIR, "scratch-1-dead")
    dead.mkdir()
    (dead / "f").write_bytes(b"1")
    (old.parent.parent / temporaries.new_name()).write_bytes(b"1")
    long_ago = time.time() - 1000
    for path in (old, dead / "f", dead):
        os.utime(path, (long_ago, long_ago))
    assert storage.sweep(older_than=900) == 2
    assert not old.exists() and not dead.exists() and young.exists()
    assert storage.sweep(older_than=900) == 0
    assert storage.sweep(older_than=-1) == 2
    assert storage.get("kept") == b"1"
    assert Path(storage.scratch()).is_dir()


def test_sweep_takes_what_a_killed_process_left(storage: LocalStorage, tmp_path: Path) -> None:
    """At once, where the machine says that it has ended; who only is of another machine is given time."""
    code = (
        "import os, signal, sys; from pathlib import Path; from hoodoo.storage import temporaries;"
        "base = sys.argv[1]; folder = Path(temporaries.scratch(base)); (folder / 'f').touch();"
        "folder.with_name(temporaries.new_name()).touch(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, storage.base])
    assert done.returncode == -signal.SIGKILL
    mine = Path(storage.scratch(), "f")
    mine.touch()
    top = mine.parent.parent
    (left,) = (p for p in top.glob("scratch-*") if p != mine.parent)
    name = left.name.removeprefix("scratch-")
    machine, _, rest = name.partition(".")
    elsewhere = [f"{machine[::-1]}.{rest}", f".{rest}", "1-2-of-a-version-before"]
    for other in elsewhere:
        (top / other).touch()
    assert storage.sweep() == 2
    assert not left.exists() and mine.exists()
    assert {p.name for p in top.iterdir() if p.is_file()} == set(elsewhere)


def test_sweep_of_a_store_that_is_not_there(tmp_path: Path) -> None:
    assert LocalStorage(tmp_path / "nothing").sweep(0) == 0


def test_delete_prefix_spares_what_others_are_writing(storage: LocalStorage) -> None:
    storage.put(".hoodie/.temp/2024/marker", b"")
    under = Path(storage.scratch(), "f")
    under.write_bytes(b"1")
    assert storage.delete_prefix(".hoodie/.temp") == 1
    assert under.exists()
    assert storage.put_file_if_absent("f", str(under)) is True


def test_delete_prefix_of_everything(storage: LocalStorage) -> None:
    storage.put("a/b", b"1")
    assert storage.delete_prefix("") == 1
    assert storage.list() == []


def test_processes_have_their_own_scratch(storage: LocalStorage) -> None:
    code = "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1])).scratch())"
    other = subprocess.run(
        [sys.executable, "-c", code, pickle.dumps(storage).hex()],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    assert other != storage.scratch()
    assert Path(other).parent == Path(storage.scratch()).parent


def test_on_windows_no_folder_is_opened_and_no_process_is_signalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fake of what differs there: a folder can't be opened, and a signal, also 0, ends the process."""
    honest = os.open

    def opening(path: Any, *more: Any, **others: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", str(path))
        return honest(path, *more, **others)

    def ending(pid: int, signal: int) -> None:
        raise AssertionError(f"the process {pid} would have ended")

    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "kill", ending)
    with pytest.raises(StorageError):
        LocalStorage(tmp_path).put_if_absent("a/b", b"1")
    monkeypatch.setattr(sys, "platform", "win32")
    storage = LocalStorage(tmp_path)
    assert storage.put_if_absent("a/c", b"1") and storage.get("a/c") == b"1"
    assert storage.delete("a/c")
    assert process_lives({"pid": 2**22 + 7, "started": ""})


def test_an_empty_object_needs_no_temporary(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file of a write has a marker: a link, and what it links to, would be more calls than the file itself."""
    synced: list[str] = []
    monkeypatch.setattr(os, "link", None)
    monkeypatch.setattr(LocalStorage, "_sync", lambda self, local: synced.append(local))
    assert storage.put_if_absent("a/b/marker", b"") is True
    assert storage.put_if_absent("a/b/marker", b"") is False
    assert storage.get("a/b/marker") == b"" and _temporaries(storage) == []
    assert synced[-1] == os.path.join(storage.base, "a", "b"), "its name is durable"


def test_of_many_that_create_an_empty_object_one_has(storage: LocalStorage) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: storage.put_if_absent("d/x", b""), range(32)))
    assert found.count(True) == 1


def test_a_folder_is_never_emptied_through_a_link(storage: LocalStorage, tmp_path: Path) -> None:
    """A link to a directory in place of a folder that is to go, or in it: the link goes, what it leads to stays."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    (outside / "below").mkdir(parents=True)
    (outside / "file").write_text("x")
    (outside / "below" / "file").write_text("x")
    storage.put("a/b/one", b"1")
    Path(storage.base, "a", "link").symlink_to(outside, target_is_directory=True)
    Path(storage.base, "a", "b", "link").symlink_to(outside / "file")
    Path(storage.base, "a", "b", "dangling").symlink_to(outside / "nothing")
    Path(storage.base, "top").symlink_to(outside, target_is_directory=True)
    assert storage.delete_prefix("top") == 1
    assert storage.delete_prefix("a/") == 4
    assert os.listdir(storage.base) == [".hoodie"]
    assert sorted(p.name for p in outside.rglob("*")) == ["below", "file", "file"]


def test_temporaries_are_not_swept_through_a_link(storage: LocalStorage, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    os.utime(outside / "precious", (1, 1))
    top = Path(storage.base, temporaries.TEMP_DIR)
    top.parent.mkdir(parents=True, exist_ok=True)
    top.symlink_to(outside, target_is_directory=True)
    assert storage.sweep() == 0
    assert (outside / "precious").exists()


def test_a_table_that_went_away_is_not_made_again(storage: LocalStorage, tmp_path: Path) -> None:
    """Not even by a copy of the store in another process; who deletes it by the store may."""
    storage.put(".hoodie/hoodie.properties", b"p")
    storage.get(".hoodie/hoodie.properties")
    copy: LocalStorage = pickle.loads(pickle.dumps(storage))
    assert copy == storage
    os.rename(tmp_path / ".hoodie", tmp_path.parent / "moved")
    for store in (storage, copy):
        calls: list[Any] = [
            store.scratch,
            lambda store=store: store.put("a", b"1"),
            lambda store=store: store.put_if_absent(".hoodie/a", b""),
            lambda store=store: store.put_if_absent(".hoodie/timeline/a", b"1"),
        ]
        for call in calls:
            with pytest.raises(StorageError, match=r"was deleted or moved away\. Fix: Open the"):
                call()
    assert os.listdir(tmp_path) == []
    storage.delete_prefix(".hoodie")
    storage.put("a", b"1")
    assert storage.get("a") == b"1"
