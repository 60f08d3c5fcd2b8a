"""Together: operations that do not wait for each other, at the same time where each waits for a
network."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from itertools import chain
from operator import itemgetter, methodcaller
from typing import Any, TypeVar

from hoodoo.errors import HoodooError
from hoodoo.storage.api import Entry, Storage

T = TypeVar("T")
_AHEAD = 16 << 20  # bytes of small files that are read before somebody takes what is in them


def at_once(storage: Storage) -> int:
    """Return the number of concurrent operations that pays for ``storage``: 1, unless it has an
    attribute ``at_once``. A disk answers faster than a thread starts."""
    return int(getattr(storage, "at_once", 1))


def together(
    storage: Storage, *calls: Callable[[], Any], ahead: Sequence[Callable[[], Any]] = ()
) -> list[Any]:
    """What each of ``calls`` answers; none may depend on another one. In their order, one after
    another, on a store that does one at a time. All have ended when this returns; the first error,
    in their order, is raised then. ``ahead``: calls that another step would make later. They are
    made with the others, and answered after them, where that saves a wait; else not at all."""
    workers = at_once(storage)
    every = (*calls, *ahead) if workers > 1 else calls
    if min(workers, len(every)) < 2:
        return list(map(methodcaller("__call__"), every))  # without a frame
    with ThreadPoolExecutor(min(workers, len(every))) as pool:
        running = [pool.submit(copy_context().run, call) for call in every]
    return [future.result() for future in running]


def side_by_side(
    storage: Storage, calls: Iterable[tuple[Callable[[], T], int]], most: int, least: int | None = 0
) -> Iterator[T]:
    """The results of ``calls``, in order, as :func:`together`; a call runs while the next ones are
    taken from the iterator. Each call comes with the bytes that it holds: while all hold more than
    ``most``, the next call waits, unless only ``least`` are running (None: fewer than may). All
    have ended when this ends, or is closed; after an error, no other call begins."""
    workers = at_once(storage)
    if workers < 2:
        return map(methodcaller("__call__"), map(itemgetter(0), calls))  # without a frame
    return _side_by_side(workers, calls, most, workers if least is None else least)


def _side_by_side(
    workers: int, calls: Iterable[tuple[Callable[[], T], int]], most: int, least: int
) -> Generator[T, None, None]:
    running, held = deque[tuple[Future[T], int]](), 0
    with ThreadPoolExecutor(workers) as pool:
        try:
            for call, size in calls:
                running.append((pool.submit(copy_context().run, call), size))
                held += size
                while running and (running[0][0].done() or (held > most and len(running) > least)):
                    future, size = running.popleft()
                    held -= size
                    yield future.result()
            while running:
                yield running.popleft()[0].result()
        finally:
            for future, _ in running:
                future.cancel()


def read_ahead(
    storage: Storage, reads: Iterable[tuple[Callable[[], Iterator[T]], int]]
) -> Iterator[T]:
    """All that each of ``reads`` gives, in their order; they come with the bytes of the files that
    they read. Many of small files are read side by side, into memory; the others one after another,
    as far as somebody takes what they give."""
    if at_once(storage) < 2:
        return chain.from_iterable(read() for read, _ in reads)

    def calls() -> Iterator[tuple[Callable[[], Iterable[T]], int]]:
        for read, size in reads:
            call: Callable[[], Iterable[T]] = partial(list, read()) if size < _AHEAD else read
            yield call, size

    return chain.from_iterable(side_by_side(storage, calls(), _AHEAD))


def listings(
    storage: Storage, folders: Sequence[str], recursive: bool = False
) -> list[list[Entry]]:
    """The listing of each of ``folders``, in their order."""
    return together(storage, *(partial(storage.list, f, recursive=recursive) for f in folders))


def discard(storage: Storage, paths: Sequence[str]) -> None:
    """Delete what is there of ``paths``: in one operation, if the store has one for that."""
    every: Callable[[Sequence[str]], None] | None = getattr(storage, "discard", None)
    if every is not None and paths:
        every(paths)
        return
    for path in paths:
        storage.delete(path)


def opened_ahead(storage: Storage, files: Iterable[tuple[str, int]]) -> None:
    """Read small files (path, size) side by side, where the store keeps them for who opens them
    next."""
    keeps: int = getattr(storage, "keeps", 0)
    small = [path for path, size in files if 0 < size <= keeps]
    if len(small) > 1:
        together(storage, *(partial(_opened, storage, path) for path in small))


def _opened(storage: Storage, path: str) -> None:
    with suppress(FileNotFoundError, HoodooError):  # who opens it next says so
        storage.open(path).close()


@contextmanager
def beside(
    storage: Storage, *calls: Callable[[], Any], ahead: Sequence[Callable[[], Any]] = ()
) -> Iterator[list[Any]]:
    """What is done inside comes after ``calls``, or at the same time. All have ended at the end,
    and the list has their answers, as of :func:`together`; their first error is raised first."""
    if at_once(storage) < 2 or not (calls or ahead):
        yield list(map(methodcaller("__call__"), calls))  # without a frame
        return
    answers: list[Any] = []
    with ThreadPoolExecutor(1) as pool:
        both = partial(together, storage, *calls, ahead=ahead)
        running = pool.submit(copy_context().run, both)
        try:
            yield answers
        finally:
            answers += running.result()


Listed = Callable[[str], "list[Entry] | None"]
# (operation, path)
Asked = tuple[str, str]


@contextmanager
def looking(
    storage: Storage,
    step: str,
    unchanged: Callable[[Listed], bool] = lambda listed: True,
    first: Iterable[Asked] = (),
) -> Iterator[bool]:
    """Inside, ``step`` looks at the table; whether that is as it was when it last did, as far as
    ``unchanged`` says of the listings that were made again. ``first``: what it will ask if it has
    never done so. False for a store that does not :meth:`recall` looks."""
    recall = getattr(storage, "recall", None)
    if recall is None:
        yield False
        return
    known = bool(recall(step, unchanged, tuple(first)))
    try:
        yield known
    finally:
        storage.forget()  # type: ignore[attr-defined]  # optional, with recall
