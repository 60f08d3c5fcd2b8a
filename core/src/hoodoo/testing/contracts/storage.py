"""What every store promises: the contract of :class:`hoodoo.storage.api.Storage` as tests.

Usage::

    class TestMine(StorageContract):
        @pytest.fixture
        def storage(self, tmp_path):
            return MyStorage(tmp_path)

``storage`` must be an empty store, a new one for each test. A store whose objects are not visible
to a second instance made by pickling (an in-memory one) sets ``picklable = False`` and says so in
its documentation: it cannot be used with an engine that has worker processes.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from typing import ClassVar

import pyarrow as pa
import pytest

from hoodoo.errors import StorageError
from hoodoo.storage.api import Storage, has_plain_files, is_shared, names_in
from hoodoo.testing.another_process import racing


def race(count: int, run: Callable[[int], object]) -> list[object]:
    """``run(i)`` in ``count`` threads that start together; their answers, errors as values."""
    barrier = threading.Barrier(count)
    answers: list[object] = [None] * count

    def one(number: int) -> None:
        barrier.wait()
        try:
            answers[number] = run(number)
        except Exception as exc:
            answers[number] = exc

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


class StorageContract:
    """Subclass, and answer the fixture ``storage``."""

    picklable: ClassVar[bool] = True

    @pytest.fixture
    def storage(self) -> Storage:
        raise NotImplementedError("override the fixture `storage` with an empty store")

    def _scratch_file(self, storage: Storage, name: str, data: bytes) -> str:
        local = os.path.join(storage.scratch(), name)
        with open(local, "wb") as file:
            file.write(data)
        return local

    # --- shape --------------------------------------------------------------------------------
    def test_obeys_the_protocol(self, storage: Storage) -> None:
        assert isinstance(storage, Storage)

    def test_root_is_an_absolute_uri(self, storage: Storage) -> None:
        assert "://" in storage.root
        assert not storage.root.endswith("/")

    def test_is_empty_at_first(self, storage: Storage) -> None:
        assert storage.list() == []
        assert storage.list(recursive=True) == []

    # --- put and get --------------------------------------------------------------------------
    @pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 4096])
    def test_put_then_get(self, storage: Storage, data: bytes) -> None:
        storage.put("a/b/c.bin", data)
        assert storage.get("a/b/c.bin") == data

    def test_put_replaces(self, storage: Storage) -> None:
        storage.put("x", b"a long first version")
        storage.put("x", b"second")
        assert storage.get("x") == b"second"
        assert [entry.path for entry in storage.list(recursive=True)] == ["x"]

    @pytest.mark.parametrize(
        "path", ["p=a b/ä€.txt", "a%20b/c%2Fd", ".hidden/.x", "q=1#2/?&+;", "20240101_2.commit"]
    )
    def test_names_are_taken_as_spelt(self, storage: Storage, path: str) -> None:
        assert storage.put_if_absent(path, b"1") is True
        assert storage.get(path) == b"1"
        assert [entry.path for entry in storage.list(recursive=True)] == [path]

    def test_reading_what_is_not_there(self, storage: Storage) -> None:
        storage.put("d/x", b"1")
        for path in ("nothing", "d/nothing", "d", "d/x/below"):
            with pytest.raises(FileNotFoundError):
                storage.get(path)
            with pytest.raises(FileNotFoundError):
                storage.open(path)
            assert storage.head(path) is None

    @pytest.mark.parametrize(
        "path", ["../x", "a/../../x", "/etc/x", "", "a//b", "a/", "./a", "a/./b"]
    )
    def test_paths_stay_below_the_root(self, storage: Storage, path: str) -> None:
        for call in (
            lambda: storage.put(path, b"1"),
            lambda: storage.put_if_absent(path, b"1"),
            lambda: storage.get(path),
            lambda: storage.open(path),
            lambda: storage.delete(path),
        ):
            with pytest.raises(StorageError):
                call()

    @pytest.mark.parametrize("prefix", ["..", "../x", "/etc", "a/../.."])
    def test_prefixes_stay_below_the_root(self, storage: Storage, prefix: str) -> None:
        with pytest.raises(StorageError):
            storage.list(prefix)
        with pytest.raises(StorageError):
            storage.delete_prefix(prefix)

    # --- put_if_absent ------------------------------------------------------------------------
    def test_put_if_absent_creates_once(self, storage: Storage) -> None:
        assert storage.put_if_absent("t/1.commit", b"first") is True
        assert storage.put_if_absent("t/1.commit", b"second") is False
        assert storage.get("t/1.commit") == b"first"

    def test_put_if_absent_after_delete(self, storage: Storage) -> None:
        assert storage.put_if_absent("x", b"1") is True
        assert storage.delete("x") is True
        assert storage.put_if_absent("x", b"2") is True
        assert storage.get("x") == b"2"

    def test_put_if_absent_leaves_nothing_else_behind(self, storage: Storage) -> None:
        storage.put_if_absent("t/1", b"1")
        storage.put_if_absent("t/1", b"2")
        storage.put("t/2", b"2")
        assert [entry.path for entry in storage.list(recursive=True)] == ["t/1", "t/2"]

    def test_put_if_absent_has_one_winner(self, storage: Storage) -> None:
        """Threads race for one name, many times: one True each, and the winner's bytes are
        there."""
        payloads = [bytes([number]) * 5000 for number in range(8)]
        for round_number in range(20):
            path = f"race/{round_number}/x"

            def one(number: int, path: str = path) -> bool:
                return storage.put_if_absent(path, payloads[number])

            answers = race(8, one)
            assert sorted(answers, key=str) == [False] * 7 + [True], answers
            assert storage.get(path) == payloads[answers.index(True)]

    def test_put_if_absent_has_one_winner_among_processes(self, storage: Storage) -> None:
        """As threads do, two processes race for each of many names."""
        if not self.picklable:
            pytest.skip("other processes do not see its objects")
        wins = racing(storage, [f"processes/{number}" for number in range(300)])
        if wins is None:
            pytest.skip("its class can't be imported in another process")
        twice = {path for path in wins[0] if path in wins[1]}
        assert not twice, f"{len(twice)} names have two winners"
        assert len(wins[0]) + len(wins[1]) == 300

    def test_put_if_absent_is_whole_or_not_there(self, storage: Storage) -> None:
        """A reader that polls while the object is created sees all of it or none of it."""
        data = os.urandom(1 << 20)
        done = threading.Event()
        seen: list[bytes] = []

        def poll() -> None:
            while not done.is_set() or not seen:
                try:
                    seen.append(storage.get("big"))
                except FileNotFoundError:
                    continue

        reader = threading.Thread(target=poll)
        reader.start()
        try:
            assert storage.put_if_absent("big", data) is True
        finally:
            done.set()
            reader.join()
        assert all(found == data for found in seen)

    def test_creation_in_new_directories_races(self, storage: Storage) -> None:
        answers = race(8, lambda number: storage.put_if_absent(f"new/deep/er/{number}", b"1"))
        assert answers == [True] * 8
        assert len(storage.list("new", recursive=True)) == 8

    # --- put_file_if_absent -------------------------------------------------------------------
    def test_put_file_creates_once(self, storage: Storage) -> None:
        first = self._scratch_file(storage, "one", b"first")
        second = self._scratch_file(storage, "two", b"second")
        assert storage.put_file_if_absent("p/f.parquet", first) is True
        assert storage.put_file_if_absent("p/f.parquet", second) is False
        assert storage.get("p/f.parquet") == b"first"

    def test_deleting_the_local_file_is_harmless(self, storage: Storage) -> None:
        local = self._scratch_file(storage, "one", b"first")
        storage.put_file_if_absent("p/f.parquet", local)
        if os.path.exists(local):
            os.unlink(local)
        assert storage.get("p/f.parquet") == b"first"

    def test_put_file_from_elsewhere(
        self, storage: Storage, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        local = tmp_path_factory.mktemp("elsewhere") / "f"
        local.write_bytes(b"from elsewhere")
        assert storage.put_file_if_absent("p/f", str(local)) is True
        assert storage.get("p/f") == b"from elsewhere"

    def test_put_file_has_one_winner(self, storage: Storage) -> None:
        locals_ = [self._scratch_file(storage, f"f{n}", bytes([n]) * 5000) for n in range(8)]
        answers = race(8, lambda number: storage.put_file_if_absent("p/f", locals_[number]))
        assert sorted(answers, key=str) == [False] * 7 + [True], answers
        assert storage.get("p/f") == bytes([answers.index(True)]) * 5000

    def test_scratch_is_a_directory_that_no_list_shows(self, storage: Storage) -> None:
        assert os.path.isdir(storage.scratch())
        self._scratch_file(storage, "under-construction", b"1")
        assert storage.list(recursive=True) == []

    # --- open and head ------------------------------------------------------------------------
    def test_open_reads_at_any_place(self, storage: Storage) -> None:
        storage.put("x", bytes(range(256)))
        with storage.open("x") as file:
            assert isinstance(file, pa.NativeFile)
            assert file.size() == 256
            assert file.read_at(4, 250) == bytes(range(250, 254))
            file.seek(10)
            assert file.read(2) == b"\x0a\x0b"

    def test_open_an_empty_object(self, storage: Storage) -> None:
        storage.put("x", b"")
        with storage.open("x") as file:
            assert file.read() == b""

    def test_an_open_object_survives_its_deletion_or_says_so(self, storage: Storage) -> None:
        """Old slices are cleaned while readers read: the right bytes or an error, nothing else."""
        storage.put("x", b"right")
        with storage.open("x") as file:
            storage.delete("x")
            storage.put("x", b"wrong")
            try:
                found = file.read()
            except OSError:
                return
        assert found == b"right"

    def test_head(self, storage: Storage) -> None:
        storage.put("d/x", b"12345")
        entry = storage.head("d/x")
        assert entry is not None
        assert (entry.path, entry.name, entry.size, entry.is_dir) == ("d/x", "x", 5, False)
        assert entry.modified > 1_500_000_000
        assert storage.head("d") is None

    # --- list ---------------------------------------------------------------------------------
    def test_list_children(self, storage: Storage) -> None:
        for path in ("b/1", "b/2/3", "a", "b.x", "c/.h"):
            storage.put(path, b"1")
        # A store may keep temporaries below .hoodie; it is the table's anyway.
        assert [(e.path, e.is_dir) for e in storage.list() if e.path != ".hoodie"] == [
            ("a", False),
            ("b", True),
            ("b.x", False),
            ("c", True),
        ]
        assert [(e.path, e.is_dir, e.size) for e in storage.list("b")] == [
            ("b/1", False, 1),
            ("b/2", True, 0),
        ]
        assert [e.path for e in storage.list("c")] == ["c/.h"]

    def test_list_recursive(self, storage: Storage) -> None:
        paths = ["b/2/3", "b/1", "a", "b.x", "b-x/1", "b/10"]
        for path in paths:
            storage.put(path, b"1")
        assert [e.path for e in storage.list(recursive=True)] == sorted(paths)
        assert [e.path for e in storage.list("b", recursive=True)] == ["b/1", "b/10", "b/2/3"]
        assert [e.path for e in storage.list("b/", recursive=True)] == ["b/1", "b/10", "b/2/3"]

    def test_names_are_those_of_the_objects(self, storage: Storage) -> None:
        for path in ("b/1", "b/2/3", "b/.x", "c"):
            storage.put(path, b"1")
        assert sorted(names_in(storage, "b")) == [".x", "1"]
        assert names_in(storage, "nothing/here") == names_in(storage, "c") == []

    def test_list_takes_directories_not_text(self, storage: Storage) -> None:
        storage.put("ab/1", b"1")
        storage.put("file", b"1")
        assert storage.list("a") == []
        assert storage.list("nothing/here", recursive=True) == []
        assert storage.list("file") == []

    # --- delete -------------------------------------------------------------------------------
    def test_delete(self, storage: Storage) -> None:
        storage.put("d/x", b"1")
        assert storage.delete("d") is False  # no object
        assert storage.delete("d/x") is True
        assert storage.delete("d/x") is False
        assert storage.delete("never/was") is False
        assert storage.head("d/x") is None

    def test_delete_prefix(self, storage: Storage) -> None:
        for path in ("d/1", "d/e/2", "d/e/f/3", "de/4", "d.x"):
            storage.put(path, b"1")
        assert storage.delete_prefix("d") == 3
        assert [e.path for e in storage.list(recursive=True)] == ["d.x", "de/4"]
        assert "d" not in [e.path for e in storage.list()]
        assert storage.delete_prefix("d") == 0
        assert storage.delete_prefix("d.x") == 0  # an object, not a directory
        assert storage.head("d.x") is not None

    def test_delete_prefix_races_with_creation(self, storage: Storage) -> None:
        """Whatever wins, a creation that returned True and came last is there, and nobody fails."""
        for round_number in range(10):

            def one(number: int, base: str = f"r{round_number}") -> object:
                if number == 0:
                    return storage.delete_prefix(base)
                return storage.put_if_absent(f"{base}/d/{number}", b"1")

            answers = race(4, one)
            assert not [answer for answer in answers if isinstance(answer, Exception)], answers

    def test_files_are_plain_where_the_store_says_so(self, storage: Storage) -> None:
        """Any program finds the very bytes at the URI; checked of stores below ``file:``."""
        if not has_plain_files(storage) or not storage.root.startswith("file://"):
            return
        storage.put("plain/x.bin", b"just these")
        with open(f"{storage.root.removeprefix('file://')}/plain/x.bin", "rb") as file:
            assert file.read() == b"just these"

    # --- processes ----------------------------------------------------------------------------
    def test_pickles(self, storage: Storage) -> None:
        if not self.picklable or not is_shared(storage):
            pytest.skip(
                "this store says that it does not pickle, or that other processes don't see it"
            )
        storage.put("x", b"1")
        other = pickle.loads(pickle.dumps(storage))
        assert other.root == storage.root
        assert other.get("x") == b"1"
        assert other.put_if_absent("x", b"2") is False
        assert other.put_if_absent("y", b"2") is True
        assert storage.get("y") == b"2"
