"""Several sources read at the same time: order, errors, and who stops in the middle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from hoodoo_rows.read.prefetch import in_order, in_turns

Source = Callable[[], Iterator[str]]


def lettered(letter: str, count: int, closed: list[str] | None = None) -> Iterator[str]:
    try:
        for number in range(count):
            yield f"{letter}{number}"
    finally:
        if closed is not None:
            closed.append(letter)


def of(*counts: int) -> list[Source]:
    return [partial(lettered, letter, count) for letter, count in zip("abcdef", counts)]


def test_one_source_comes_after_the_other() -> None:
    assert list(in_order(of(3, 0, 2), 2)) == ["a0", "a1", "a2", "c0", "c1"]


@pytest.mark.parametrize("depth", [1, 2, 9])
def test_by_turns_each_open_source_gives_one(depth: int) -> None:
    wanted = ["a0", "b0", "a1", "a2", "c0", "c1", "d0", "d1"]
    for _ in range(5):  # whatever the threads do
        assert list(in_turns(of(3, 1, 2, 2), 2, depth)) == wanted
    assert list(in_turns([], 2)) == list(in_turns(of(0, 0, 0), 2)) == []


def test_by_turns_they_are_read_at_the_same_time() -> None:
    meet = threading.Barrier(2, timeout=60)

    def waiting(name: str) -> Iterator[str]:
        for number in range(4):
            meet.wait()
            yield f"{name}{number}"

    found = list(in_turns([partial(waiting, "a"), partial(waiting, "b")], 2))
    assert found == [f"{name}{number}" for number in range(4) for name in "ab"]


def test_by_turns_an_error_comes_where_its_item_would() -> None:
    def failing() -> Iterator[str]:
        yield "b0"
        raise ValueError("here")

    found = in_turns([*of(4), failing], 2)
    assert [next(found) for _ in range(3)] == ["a0", "b0", "a1"]
    with pytest.raises(ValueError, match="here"):
        next(found)


def test_by_turns_who_stops_closes_what_is_open() -> None:
    closed: list[str] = []
    sources = [partial(lettered, letter, 100, closed) for letter in "abc"]
    found = in_turns(sources, 2)
    assert next(found) == "a0"
    found.close()  # type: ignore[attr-defined]
    assert sorted(closed) == ["a", "b"]
