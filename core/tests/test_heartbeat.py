"""Heartbeats: who is known to be gone, who may still be at work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hoodoo.errors import StorageError, StorageUnknownError
from hoodoo.storage.processes import process_lives
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import FailingStorage, GatedStorage
from hoodoo.timeline import heartbeat
from hoodoo.timeline.heartbeat import (
    FOLDER,
    INTERVAL,
    TOLERABLE_MISSES,
    Beating,
    Liveness,
    identity,
)

ONE, OTHER = "20240101000000001", "20240101000000002"


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStorage:
    return DirectoryStorage(str(tmp_path))


def put(store: DirectoryStorage, requested: str = ONE, **changes: object) -> None:
    """A heartbeat as another process leaves it."""
    told = {**identity(), "process": "another", **changes}
    store.put(f"{FOLDER}/{requested}", json.dumps(told).encode())


def age(store: DirectoryStorage, requested: str, seconds: float) -> None:
    path = os.path.join(store.base, FOLDER, requested)
    then = os.stat(path).st_mtime - seconds
    os.utime(path, (then, then))


def names(store: DirectoryStorage) -> list[str]:
    return [entry.name for entry in store.list(FOLDER)]


def ended_process() -> dict[str, object]:
    """What a process said of itself that is gone now."""
    code = (
        "import json; from hoodoo.timeline.heartbeat import identity; print(json.dumps(identity()))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    told: dict[str, object] = json.loads(found.stdout)
    return told


def test_an_instant_lives_until_the_end_of_its_writer(store: DirectoryStorage) -> None:
    with Beating(store) as beats:
        beats.add(ONE)
        beats.add(OTHER)
        assert names(store) == [ONE, OTHER]
        assert Liveness(store).is_alive(ONE)
        assert not Liveness(store).is_alive("20240101000000003")
    assert names(store) == []
    assert not Liveness(store).is_alive(ONE)


def test_a_writer_of_this_process_that_failed_is_gone(store: DirectoryStorage) -> None:
    """Also where its file could not be taken away."""
    with (
        pytest.raises(ZeroDivisionError),
        Beating(FailingStorage(store, 1, ops={"delete"})) as beats,
    ):
        beats.add(ONE)
        raise ZeroDivisionError
    assert names(store) == [ONE]
    assert not Liveness(store).is_alive(ONE)


def test_a_store_that_refuses_it(store: DirectoryStorage) -> None:
    """Nobody takes this instant for alive for ever."""
    with (
        pytest.raises(StorageError),
        Beating(FailingStorage(store, 1, once=False, after=True)) as beats,
    ):
        beats.add(ONE)
    assert not Liveness(store).is_alive(ONE)


def test_two_tables_have_the_same_instant(store: DirectoryStorage, tmp_path: Path) -> None:
    elsewhere = DirectoryStorage(str(tmp_path / "elsewhere"))
    with Beating(store) as mine:
        mine.add(ONE)
        with Beating(elsewhere) as beats:
            beats.add(ONE)
        assert Liveness(store).is_alive(ONE)
        assert not Liveness(elsewhere).is_alive(ONE)


def test_another_process_of_this_machine(store: DirectoryStorage) -> None:
    put(store)  # of this pid, which lives
    assert Liveness(store).is_alive(ONE)
    put(store, **{**ended_process(), "host": identity()["host"]})
    assert not Liveness(store).is_alive(ONE)


def test_its_age_does_not_matter_on_this_machine(store: DirectoryStorage) -> None:
    put(store)
    age(store, ONE, 1e6)
    assert Liveness(store).is_alive(ONE), "a process that is busy is not gone"


def test_a_number_that_another_process_was_given_since(store: DirectoryStorage) -> None:
    if not identity()["started"]:
        pytest.skip("the system does not say when a process began")
    put(store, started="1")
    assert not Liveness(store).is_alive(ONE)


@pytest.mark.parametrize("pid", [None, "1", 0, -1, 2**22 + 1])
def test_no_process_has_that_number(pid: object) -> None:
    assert not process_lives({"pid": pid})


def test_a_process_that_has_ended_and_is_not_yet_collected() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not process_lives({"pid": child.pid, "started": ""})
    child.wait()


@pytest.mark.parametrize(("seconds", "lives"), [(0, True), (-10, False), (10, True)])
@pytest.mark.parametrize("interval", [INTERVAL, 5.0, None])
def test_another_machine_by_the_clock_of_the_store(
    store: DirectoryStorage, interval: float | None, seconds: float, lives: bool
) -> None:
    """``seconds`` before its time is over, or (0) just now; by what it says of itself, or Hudi's default."""
    put(store, host="elsewhere", interval=interval)
    limit = (interval or INTERVAL) * TOLERABLE_MISSES
    if seconds:
        age(store, ONE, limit - seconds / 2)
    assert Liveness(store).is_alive(ONE) == lives
    assert names(store) == [ONE], "the probe has gone"


def test_what_hudi_left_goes_by_age(store: DirectoryStorage) -> None:
    store.put(f"{FOLDER}/{ONE}", b"")
    assert Liveness(store).is_alive(ONE)
    age(store, ONE, INTERVAL * TOLERABLE_MISSES + 1)
    assert not Liveness(store).is_alive(ONE)


@pytest.mark.parametrize("data", [b"{", b"[]", b'"text"', b"\xff"])
def test_what_is_torn_is_of_a_writer_that_died(store: DirectoryStorage, data: bytes) -> None:
    store.put(f"{FOLDER}/{ONE}", data)
    assert not Liveness(store).is_alive(ONE)


def test_a_heartbeat_that_goes_while_it_is_looked_at(store: DirectoryStorage) -> None:
    put(store)

    def gone(op: str, path: str) -> None:
        if op == "get":
            store.delete(path)

    assert not Liveness(GatedStorage(store, gone)).is_alive(ONE)


def test_sweeping_leaves_the_living(store: DirectoryStorage) -> None:
    put(store, OTHER, **{**ended_process(), "host": identity()["host"]})
    with Beating(store) as beats:
        beats.add(ONE)
        Liveness(store).sweep()
        assert names(store) == [ONE]


def test_a_child_has_instants_of_its_own(store: DirectoryStorage) -> None:
    """A fork copies the list of what its parent keeps alive: it neither keeps it alive nor ends it."""
    with Beating(store) as beats:
        beats.add(ONE)
        parent = identity()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with Beating(store) as own:
                    own.add(OTHER)
                    mine = json.loads(store.get(f"{FOLDER}/{OTHER}"))
                    good = mine["process"] != parent["process"] and mine["pid"] == os.getpid()
                    good = good and Liveness(store).is_alive(ONE)  # its parent lives
                code = 0 if good else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert names(store) == [ONE]
        assert Liveness(store).is_alive(ONE)


@pytest.fixture
def turn(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """One turn of the thread that renews, done here instead."""
    beats = heartbeat._Beats()
    monkeypatch.setattr(heartbeat, "_beats", lambda: beats)
    monkeypatch.setattr(beats, "_thread", threading.current_thread())

    class Twice:
        def __init__(self) -> None:
            self.waits: list[Any] = []

        def wait(self, seconds: float) -> bool:
            self.waits.append(seconds)
            return len(self.waits) > 1

    def once() -> None:
        wake = Twice()
        monkeypatch.setattr(beats, "_wake", wake)
        beats._renew()
        assert wake.waits == [INTERVAL, INTERVAL]

    return once


def test_what_lives_is_renewed(store: DirectoryStorage, turn: Callable[[], None]) -> None:
    with Beating(store) as beats:
        beats.add(ONE)
        age(store, ONE, 1e6)
        (old,) = store.list(FOLDER)
        turn()
        (new,) = store.list(FOLDER)
        assert new.modified > old.modified + 1e5
    turn()
    assert names(store) == []


def test_a_renewal_that_fails_is_tried_again(
    store: DirectoryStorage, turn: Callable[[], None]
) -> None:
    failing = FailingStorage(store, 1, ops={"put"})
    with Beating(failing) as beats:
        beats.add(ONE)
        age(store, ONE, 1e6)
        for _ in range(2):
            turn()
        (entry,) = store.list(FOLDER)
        assert failing.count == 2
        assert heartbeat.store_time(store, heartbeat.FOLDER) - entry.modified < 1e5


@pytest.mark.parametrize("living", [True, False])
def test_an_instant_is_of_one_writer(store: DirectoryStorage, living: bool) -> None:
    """Two take the same millisecond: who ends first must not end the other."""
    if living:
        put(store)
    before = names(store)
    with Beating(store) as first:
        if not living:
            assert first.add(ONE)
        with Beating(store) as second:
            assert not second.add(ONE)
            assert second.add(OTHER)
        assert names(store) == [ONE]
        assert Liveness(store).is_alive(ONE)
    assert names(store) == before


@pytest.mark.parametrize("done", [True, False])
def test_an_unknown_answer_to_the_first_one(store: DirectoryStorage, done: bool) -> None:
    def lost(op: str, path: str) -> None:
        if op == "put_if_absent" and not calls:
            calls.append(path)
            if done:
                store.put_if_absent(path, json.dumps(identity()).encode())
            raise StorageUnknownError(path, "no answer.")

    calls: list[str] = []
    with Beating(GatedStorage(store, lost)) as beats:
        assert beats.add(ONE)
        assert Liveness(store).is_alive(ONE)
    assert names(store) == []


def test_a_renewal_that_came_after_the_end_stops_no_other_turn(
    store: DirectoryStorage, turn: Callable[[], None]
) -> None:
    """The renewal had looked who lives before the end, and put its file after it."""

    def ends(op: str, path: str) -> None:
        if op == "put" and path.endswith(ONE):
            beats.end()

    gated = GatedStorage(store, ends)
    with Beating(gated) as beats:
        assert beats.add(ONE)
        turn()
    assert names(store) == [ONE]
    with Beating(store) as again:
        assert again.add(ONE)
    assert names(store) == []
