"""A crash at each operation of an upsert, and an answer lost at each of its requests."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal
from uuid import uuid4

import obstore
import pytest
from counted import count
from hoodoo.errors import CommitUnknownError, StorageError, StorageUnknownError
from hoodoo.storage.api import Storage
from hoodoo.table.settings import open_storage
from hoodoo.testing.stores import Crash, CrashingStorage, FailingStorage, RecordingStorage
from hoodoo_cloud import clients, creation, storage
from small_tables import created, opened, rows, texts

pytestmark = pytest.mark.sampled(4)

MORE = os.environ.get("HOODOO_TRIALS") in ("more", "all")
OLD, NEW = {1: "a", 2: "a"}, {1: "b", 2: "a", 3: "b"}
KINDS = ["COPY_ON_WRITE", "MERGE_ON_READ"]
PLACES = ["memory", "server"] if MORE else ["memory"]
Place = tuple[str, dict[str, str]]


def _another(place: Place) -> Place:
    """A place of its own for each trial, in the same bucket."""
    return f"{place[0]}/{uuid4().hex}", place[1]


def _filled(place: Place, kind: str) -> Place:
    found = _another(place)
    created(*found, kind).upsert(rows(OLD, 1))
    return found


def _upsert(place: Place, wrap: Any = None) -> None:
    opened(*place, wrap).upsert(rows({1: "b", 3: "b"}, 2))


def _right_afterwards(place: Place, found: list[Mapping[int, str]]) -> None:
    """Whole or not at all; and the next writer needs no help."""
    seen = texts(opened(*place))
    assert seen in found
    opened(*place).upsert(rows({9: "c"}, 3))
    assert texts(opened(*place)) == {**seen, 9: "c"}
    table: Any = opened(*place)
    assert not table.verify().findings


@pytest.mark.parametrize("place", PLACES, indirect=True)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_at_each_operation(
    place: Place, kind: str, when: Literal["before", "after"]
) -> None:
    at = 0
    while True:
        at += 1
        trial = _filled(place, kind)
        stores: list[CrashingStorage] = []

        def crashing(inner: Storage, at: int = at, stores: Any = stores) -> Storage:
            stores.append(CrashingStorage(inner, at, when))
            found: Storage = stores[0]
            return found

        with suppress(Crash, StorageError):
            _upsert(trial, crashing)
        _right_afterwards(trial, [OLD, NEW])
        count("crash at an operation")
        if not stores[0].crashed:
            break
    assert at > 5


@pytest.mark.parametrize("place", PLACES, indirect=True)
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_lost_above_the_store(place: Place, kind: str) -> None:
    """The store itself does not know: the write says so, and what it says is so."""
    at, lost, step = 0, 0, 1 if MORE else 4
    while True:
        at += step
        trial = _filled(place, kind)
        stores: list[FailingStorage] = []

        def failing(inner: Storage, at: int = at, stores: Any = stores) -> Storage:
            stores.append(FailingStorage(inner, at, after=True))
            found: Storage = stores[0]
            return found

        allowed: list[Mapping[int, str]] = [NEW]
        try:
            _upsert(trial, failing)
        except CommitUnknownError:
            allowed.append(OLD)
        except StorageError:
            allowed = [OLD]
        _right_afterwards(trial, allowed)
        count("answer lost at an operation")
        if stores[0].count < at:
            break
        lost += step
    assert lost > 10


class Line:
    """What lies between a client and its store: loses the answer of the n-th request that creates."""

    def __init__(self, at: int = 0, again: int = 1) -> None:
        self.at, self.again, self.count, self.lost = at, again, 0, 0
        self._send = creation.send

    def send(self, place: Any, key: str, data: Any, token: str) -> str:
        self.count += 1
        made = self._send(place, key, data, token)
        if self.at <= self.count < self.at + self.again:
            self.lost += 1
            raise obstore.exceptions.GenericError("Generic S3 error: error decoding response body")
        return made


@pytest.mark.parametrize("place", PLACES, indirect=True)
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_lost_on_the_line(
    place: Place, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store finds out: the write ends as if nothing had been."""
    at = 0
    while True:
        at += 1
        trial = _filled(place, kind)
        line = Line(at)
        with monkeypatch.context() as patched:
            patched.setattr(creation, "send", line.send)
            _upsert(trial)
        _right_afterwards(trial, [NEW])
        count("answer lost at a creation")
        if not line.lost:
            break
    assert at > 4


@pytest.mark.parametrize("place", ["memory", "server"], indirect=True)
def test_whose_an_object_is(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal bytes of two writers: each knows its own."""
    store = open_storage(*place)
    assert store.put_if_absent("x", b"same") is True
    line = Line(1)
    monkeypatch.setattr(creation, "send", line.send)
    assert store.put_if_absent("y", b"same") is True
    assert line.lost == 1
    assert line.count == 2

    def lost(place: Any, key: str, data: Any, token: str) -> str:
        nonlocal first
        if first:
            first = False
            raise obstore.exceptions.GenericError("Generic S3 error: operation timed out")
        return line._send(place, key, data, token)

    first = True
    monkeypatch.setattr(creation, "send", lost)
    assert store.put_if_absent("x", b"same") is False  # the other writer's, as it has its token
    first = True
    assert store.put_if_absent("z", b"same") is True


def test_what_cannot_be_known_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_storage(f"memory://{uuid4().hex}/t", {"hoodoo.cloud.timeout": "0.2"})

    def never(place: Any, key: str, data: Any, token: str) -> str:
        raise obstore.exceptions.GenericError("Generic S3 error: operation timed out")

    monkeypatch.setattr(creation, "send", never)
    with pytest.raises(StorageUnknownError, match="gave no answer within"):
        store.put_if_absent("x", b"1")
    # Somebody else has deleted it before it could be looked at.
    line = Line(1)

    def then_deleted(place: Any, key: str, data: Any, token: str) -> str:
        try:
            return line.send(place, key, data, token)
        except obstore.exceptions.AlreadyExistsError:
            obstore.delete(clients.client(place), key)
            raise

    monkeypatch.setattr(creation, "send", then_deleted)
    with pytest.raises(StorageUnknownError):
        store.put_if_absent("y", b"1")


# What the client makes of an answer to a put with a condition, whether or not there is anything.
SAYS_EXISTS = {
    "S3, 412": "412 Precondition Failed: <Error><Code>PreconditionFailed</Code></Error>",
    "S3, 409": "409 Conflict: <Error><Code>ConditionalRequestConflict</Code></Error>",
    "Google, 412": "412 Precondition Failed: <Error><Code>PreconditionFailed</Code></Error>",
    "Google, 409": "409 Conflict: <Error><Code>OperationAborted</Code></Error>",
    "Azure, 409": "409 Conflict: <Error><Code>BlobAlreadyExists</Code></Error>",
    "Azure, 412": "412 The condition specified using HTTP conditional header(s) is not met.",
    "a proxy": "409 Conflict: <html>Conflict</html>",
    "R2, 304": "304 Not Modified: ",
}


@pytest.mark.parametrize("answer", SAYS_EXISTS)
@pytest.mark.parametrize("times", [1, 2, 10**6])
@pytest.mark.parametrize("carried_out", [False, True])
def test_an_answer_that_says_exists_is_not_believed_without_a_look(
    answer: str, times: int, carried_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not of an object that is not there; and what a proxy's first attempt has created is ours."""
    store = open_storage(f"memory://{uuid4().hex}/t", {"hoodoo.cloud.timeout": "0.3"})
    send, left = creation.send, iter(range(times))

    def meets(place: Any, key: str, data: Any, token: str) -> str:
        if next(left, None) is None:
            return send(place, key, data, token)
        if carried_out:
            send(place, key, data, token)
        raise obstore.exceptions.AlreadyExistsError(
            f"Object at location {key} already exists: Error performing PUT http://x/{key} in 1ms - "
            f"Server returned non-2xx status code: {SAYS_EXISTS[answer]}"
        )

    monkeypatch.setattr(creation, "send", meets)
    if times > 2 and not carried_out:
        with pytest.raises(StorageError) as caught:
            store.put_if_absent("x", b"1")
        assert not isinstance(caught.value, StorageUnknownError)
        assert store.head("x") is None
    else:
        assert store.put_if_absent("x", b"1") is True
        assert store.get("x") == b"1"


@pytest.mark.parametrize("place", ["server"], indirect=True)
@pytest.mark.parametrize(
    ("broken", "said"),
    [("ignores", "ignores the condition"), ("forgets", "does not keep metadata")],
)
def test_a_server_that_is_not_safe_is_refused(
    place: Place, broken: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is written."""

    def send(place: Any, key: str, data: Any, token: str) -> str:
        made = obstore.put(
            clients.client(place), key, data,
            mode="overwrite" if broken == "ignores" else "create",
            attributes={} if broken == "forgets" else {creation.TOKEN: token},
        )  # fmt: skip
        return creation.tag_of(made)

    monkeypatch.setattr(creation, "send", send)
    monkeypatch.setattr(creation, "_proven", set())
    with pytest.raises(StorageError, match=said):
        created(*place)
    assert list(obstore.list(clients.client(open_storage(*place).place)).collect()) == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("place", ["server"], indirect=True)
def test_a_probe_is_sent_once_and_leaves_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creation, "_proven", set())
    store = RecordingStorage(open_storage(*place))
    line = Line()
    monkeypatch.setattr(creation, "send", line.send)
    store.put_if_absent("x", b"1")
    assert line.count == 3
    store.put_if_absent("y", b"1")
    assert line.count == 4
    found = obstore.list(clients.client(store.inner.place)).collect()  # type: ignore[attr-defined]
    assert [o["path"].rpartition("/")[2] for o in found] == ["x", "y"]


def test_many_are_deleted_by_a_store_that_is_too_slow_for_all_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It does a part of what it is asked for, and no answer comes: it is asked for fewer."""
    store = open_storage(f"memory://{uuid4().hex}/t", {"hoodoo.cloud.timeout": "0.2"})
    names = [f"d/{n}" for n in range(1500)]
    for name in names:
        store.put(name, b"1")
    asked, delete = list[int](), obstore.delete

    def slow(client: Any, keys: list[str]) -> None:
        asked.append(len(keys))
        delete(client, keys[:100])
        if len(keys) > 100:
            time.sleep(0.21)
            raise obstore.exceptions.GenericError("Generic S3 error: operation timed out")

    monkeypatch.setattr(obstore, "delete", slow)
    assert store.delete_prefix("d") == 1500
    assert asked[:2] == [1000, 125]
    assert max(asked[2:]) <= 16
    assert store.list() == []

    def never(client: Any, keys: list[str]) -> None:
        time.sleep(0.21)
        raise obstore.exceptions.GenericError("Generic S3 error: operation timed out")

    store.put("d/x", b"1")
    monkeypatch.setattr(obstore, "delete", never)
    with pytest.raises(StorageUnknownError, match="gave no answer within"):
        store.delete_prefix("d")


def test_another_process_sweeps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some stores say that what is to be deleted is not there."""
    store: Any = open_storage(f"memory://{uuid4().hex}/t", {})
    client, delete = clients.client(store.place), obstore.delete
    for n in range(3):
        obstore.put(client, f"t/{creation.PROBE}{n}", b"1")

    def by_both(client: Any, keys: Any) -> None:
        names = [keys] if isinstance(keys, str) else keys
        found = [o["path"] for o in obstore.list(client).collect()]
        if names[0] in found and len(names) > 1:
            delete(client, names[0])
        for name in names:
            if name not in [o["path"] for o in obstore.list(client).collect()]:
                raise FileNotFoundError(name)
            delete(client, name)

    monkeypatch.setattr(obstore, "delete", by_both)
    monkeypatch.setattr(storage.temporaries, "DAY", -60.0)
    assert store.sweep() >= 3
    assert list(obstore.list(client).collect()) == []
