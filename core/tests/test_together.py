"""What is done side by side across a network: order, memory, errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hoodoo.errors import StorageError
from hoodoo.storage.together import read_ahead, side_by_side
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import Delegating


class Far(Delegating):
    at_once = 4


@pytest.fixture
def near(tmp_path: Path) -> DirectoryStorage:
    return DirectoryStorage(tmp_path)


@pytest.fixture
def far(near: DirectoryStorage) -> Far:
    return Far(near)


def test_near_each_call_is_made_when_it_is_asked(near: DirectoryStorage) -> None:
    done: list[int] = []
    found = side_by_side(near, ((lambda n=n: done.append(n), 1) for n in range(3)), 10)
    next(found)
    assert done == [0]
    list(found)
    assert done == [0, 1, 2]


def test_far_they_wait_for_each_other_and_answer_in_order(far: Far) -> None:
    meet = threading.Barrier(4)

    def call(number: int) -> int:
        meet.wait(60)
        return number

    assert list(side_by_side(far, ((lambda n=n: call(n), 1) for n in range(8)), 100)) == [*range(8)]


@pytest.mark.parametrize(("most", "least", "limit"), [(0, 0, 1), (25, 0, 3), (0, 3, 4)])
def test_they_hold_no_more_memory(far: Far, most: int, least: int, limit: int) -> None:
    """Each holds 10 bytes; one more than fits is made, and then somebody waits."""
    held, deepest, lock = 0, 0, threading.Lock()

    def calls() -> Iterator[tuple[Callable[[], None], int]]:
        nonlocal held, deepest
        for _ in range(20):
            with lock:
                held += 1
                deepest = max(deepest, held)
            yield done, 10

    def done() -> None:
        nonlocal held
        with lock:
            held -= 1

    assert len(list(side_by_side(far, calls(), most, least))) == 20
    assert deepest <= limit


def test_after_an_error_nothing_goes_on_or_begins(far: Far) -> None:
    first, begun, ended = threading.Event(), list[int](), list[int]()

    def call(number: int) -> None:
        begun.append(number)
        if number == 0:
            first.wait(60)
            raise StorageError("file 0", "cannot be written.", "Try again.")
        first.set()
        threading.Event().wait(0.05)
        ended.append(number)

    with pytest.raises(StorageError, match="file 0"):
        list(side_by_side(far, ((lambda n=n: call(n), 1) for n in range(64)), 1000))
    assert sorted(begun) == [0, *sorted(ended)] and len(begun) < 64


def test_who_goes_away_waits_for_what_is_under_way(far: Far) -> None:
    begun, ended = list[int](), list[int]()

    def call(number: int) -> None:
        begun.append(number)
        if number:
            threading.Event().wait(0.05)
        ended.append(number)

    found = side_by_side(far, ((lambda n=n: call(n), 1) for n in range(64)), 1000)
    next(found)
    assert isinstance(found, Generator)
    found.close()
    assert sorted(begun) == sorted(ended) and len(begun) < 64


def test_small_files_are_read_before_somebody_takes_their_rows(far: Far) -> None:
    """And of a large one only what is taken."""
    given: list[str] = []

    def read(name: str) -> Iterator[str]:
        for number in range(2):
            given.append(f"{name}{number}")
            yield f"{name}{number}"

    found = read_ahead(far, [(lambda: read("a"), 1), (lambda: read("b"), 1 << 30)])
    assert [next(found) for _ in range(3)] == ["a0", "a1", "b0"]
    assert given == ["a0", "a1", "b0"]
    assert list(found) == ["b1"]
