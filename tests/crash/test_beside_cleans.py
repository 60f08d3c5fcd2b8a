"""A clean, or a restore, between the look at the timeline and the listing of files: a reader gets all
the rows or an error, a writer no key twice.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crash_trials import COUNT, VERSIONS, State, copied, opened, rows, state
from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.storage.api import Storage
from hoodoo.testing.stores import Delegating
from merge_on_read import check_compacts, with_options
from merge_on_read import rows as merged_rows
from table_life import CLEANING

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]
Act = Callable[[], object]
# The listing of a partition before which it happens.
PLACES = ("a", "b")


class BeforeListing(Delegating):
    """``act`` happens once, before ``place`` is listed."""

    def __init__(self, inner: Storage, place: str, act: Act) -> None:
        super().__init__(inner)
        self.place, self.act, self.done = place, act, False

    def around(self, op: str, path: str, call: Callable[[], Any]) -> Any:
        if op == "list" and path == self.place and not self.done:
            self.done = True
            self.act()
        return call()


class BeforeRequest(BeforeListing):
    """``act`` happens once, between a writer's look at the timeline and its request: it lists later."""

    def around(self, op: str, path: str, call: Callable[[], Any]) -> Any:
        if path.endswith(".requested") and not self.done:
            self.done = True
            self.act()
        return call()


def _overtake(path: Path, ts: int) -> None:
    """Two writes to each file group, and a clean of what was the newest before."""
    for number in range(2):
        opened(path).upsert(rows({1: "a", 3: "b"}, f"n{number}", ts + number))
    with_options(opened(path), CLEANING).clean()


def _expected(base: Path, tmp_path: Path, *steps: Callable[[Path], object]) -> State:
    target = copied(base, tmp_path / "expected")
    for step in steps:
        step(target)
    return state(target)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what", ["clean", "restore"])
def test_a_read_of_the_newest_rows(
    tables: Tables, tmp_path: Path, what: str, place: str, version: int
) -> None:
    target = copied(tables(version), tmp_path / "trial")
    first = opened(target).timeline().writes()[0].requested

    def act() -> None:
        if what == "clean":
            _overtake(target, 9)
        else:
            opened(target).restore(first)

    table = opened(target, lambda s: BeforeListing(s, place, act))
    # Planned again: the rows are those of after the act, not those that a listing has left.
    found = table.read(columns=["id", "v", "region"]).to_arrow()
    rows_found = zip(*(found.column(n).to_pylist() for n in found.schema.names), strict=True)
    assert tuple(sorted(rows_found)) == state(target) != ()
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("place", PLACES)
def test_a_read_of_the_past(tables: Tables, tmp_path: Path, place: str, version: int) -> None:
    target = copied(tables(version), tmp_path / "trial")
    _overtake(target, 3)
    # Of the last write but one: the next clean takes its files.
    past = opened(target).timeline().writes()[-2].requested
    expected = opened(target).read(as_of=past).count()
    assert expected
    table = opened(target, lambda s: BeforeListing(s, place, lambda: _overtake(target, 9)))
    with pytest.raises(ConfigError, match="deleted it"):
        table.read(as_of=past).to_arrow()
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("until", [None, "now"])
def test_an_incremental_read(
    tables: Tables, tmp_path: Path, until: str | None, place: str, version: int
) -> None:
    target = copied(tables(version), tmp_path / "trial")
    first, newest = opened(target).timeline().writes()
    end = None if until is None else newest.completion_order
    assert opened(target).incremental(first.completion_order, end).count() == 2
    table = opened(target, lambda s: BeforeListing(s, place, lambda: _overtake(target, 9)))
    with pytest.raises((ConfigError, CommitConflictError), match="has (taken|deleted)"):
        table.incremental(first.completion_order, end).to_arrow()
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("place", PLACES)
def test_a_write(tables: Tables, tmp_path: Path, place: str, version: int) -> None:
    """Its keys are in files that are gone: it must not take them for new."""

    def write(path: Path) -> object:
        return opened(path).upsert(rows({2: "a", 4: "b"}, "mine", 20))

    base = tables(version)
    target = copied(base, tmp_path / "trial")
    expected = _expected(base, tmp_path, lambda path: _overtake(path, 9), write)
    table = opened(target, lambda s: BeforeListing(s, place, lambda: _overtake(target, 9)))
    table.upsert(rows({2: "a", 4: "b"}, "mine", 20))
    assert state(target) == expected
    COUNT.trials += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_write_under_a_compaction_and_a_clean(
    merged: Tables, tmp_path: Path, version: int
) -> None:
    """The compaction changes no row, so it is no conflict; the clean takes what it compacted."""
    base = merged(version, "simple")
    target = copied(base, tmp_path / "trial")

    def overtake(path: Path = target) -> None:
        opened(path).compact()
        opened(path).upsert(merged_rows({3: "b"}, "other", 9))
        with_options(opened(path), CLEANING).clean()

    def write(path: Path) -> object:
        return opened(path).upsert(merged_rows({1: "a", 2: "a"}, "mine", 9))

    expected = _expected(base, tmp_path, overtake, write)
    table = opened(target, lambda s: BeforeRequest(s, "a", overtake))
    table.upsert(merged_rows({1: "a", 2: "a"}, "mine", 9))
    assert state(target) == expected
    check_compacts(target, expected, "")
    COUNT.trials += 1
