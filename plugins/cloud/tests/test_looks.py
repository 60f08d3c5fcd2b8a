"""Looks whose answers were asked for side by side: what they lack is not taken for what there is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import hoodoo
import pytest
from hoodoo.table.table import Table
from hoodoo.testing.stores import Delegating
from small_tables import created, opened, rows, texts

Act = Callable[[Any], object]


class _DiedError(BaseException):
    """The process has ended."""


class _DiesDecided(Delegating):
    """Ends right after a commit was decided, before its files are seen."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        done = self.inner.put_if_absent(path, data)
        if "/ledger/" in path and b'commit"' in data.partition(b"\n")[0]:
            raise _DiedError
        return done


def _overwrite(table: Any) -> object:
    return table.insert_overwrite_table(rows({1: "new", 2: "new"}, 2))


def _upsert(table: Any) -> object:
    return table.upsert(rows({2: "new", 3: "new"}, 2))


@pytest.fixture(params=["true", "false"], ids=["with metadata", "without"])
def place(request: pytest.FixtureRequest) -> tuple[str, dict[str, str]]:
    """A table that was written once."""
    uri = f"memory://{uuid4().hex}/t"
    options = {"hoodie.metadata.enable": request.param}
    created(uri, options).upsert(rows({1: "a", 2: "a"}, 1))
    return uri, options


@pytest.mark.sampled(1)
@pytest.mark.parametrize("act", [_overwrite, _upsert])
def test_a_read_makes_a_commit_visible_that_its_listings_lack(
    place: tuple[str, dict[str, str]], act: Act
) -> None:
    uri, options = place
    table = hoodoo.open(uri, options)
    assert texts(table) == texts(table) == {1: "a", 2: "a"}
    with pytest.raises(_DiedError):
        act(opened(uri, options, _DiesDecided))
    new = {1: "new", 2: "new"} if act is _overwrite else {1: "a", 2: "new", 3: "new"}
    assert texts(table) == new
    assert texts(hoodoo.open(uri, options)) == new


@pytest.mark.sampled(1)
@pytest.mark.parametrize("writes", [False, True])
def test_another_thread_sees_a_commit_while_a_look_is_answered(
    place: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch, writes: bool
) -> None:
    """All but the timeline is listed before it: what the thread knows then does not say that the listings are whole."""
    uri, options = place
    table: Table = hoodoo.open(uri, options)
    for _ in range(2):
        table.upsert(rows({5: "b"}, 2)) if writes else texts(table)
    store: Any = table.handle.storage
    timeline = ("list", (table.config.timeline_path, False))
    others, ask, came = threading.Semaphore(0), store._ask, []
    count = len(store._asked["begin" if writes else "read"])

    def asked(one: Any) -> Any:
        if one != timeline or came:
            found = ask(one)
            others.release()
            return found
        came.append(one)
        for _ in range(count - 1):
            assert others.acquire(timeout=30)
        _upsert(hoodoo.open(uri, options))
        thread = threading.Thread(target=table.handle.load_timeline)
        thread.start()
        thread.join()
        return ask(one)

    monkeypatch.setattr(store, "_ask", asked)
    new = {1: "a", 2: "new", 3: "new"}
    if writes:
        table.upsert(rows({4: "mine"}, 3))
        new |= {4: "mine", 5: "b"}
    assert texts(table) == new
    assert came
    again = hoodoo.open(uri, options)
    assert texts(again) == new
    assert not again.verify().findings
