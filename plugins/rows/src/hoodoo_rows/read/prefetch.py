"""Several files read at the same time, their batches handed out in the order of the files.

A small pool pumps each file into a short buffer. No thread ever waits on a full buffer: a pump that
finds one stops, and whoever takes a batch starts it again. So an abandoned iterator blocks nothing,
not even the end of the interpreter, and memory is bounded by ``files`` x ``depth`` batches.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Generic, Protocol, TypeVar, runtime_checkable

from attrs import define, field
from hoodoo.errors import ConfigError

Item = TypeVar("Item")


@define(eq=False)
class _Lane(Generic[Item]):
    """One file: its iterator, and the items that wait to be taken."""

    source: Callable[[], Iterator[Item]]
    pool: Executor
    depth: int
    ready: deque[Item] = field(factory=deque)
    changed: threading.Condition = field(factory=threading.Condition)
    items: Iterator[Item] | None = None
    running: bool = False
    ended: bool = False
    closed: bool = False
    failure: BaseException | None = None

    def start(self) -> None:
        """Begin to fetch, unless it has begun."""
        with self.changed:
            self._start()

    def _start(self) -> None:
        if not (self.running or self.ended or self.closed):
            self.running = True
            self.pool.submit(self._pump)

    def _pump(self) -> None:
        """Take items until the buffer is full, the file ends, or nobody wants more."""
        while True:
            item, ended, failure = self._next()
            with self.changed:
                self.failure, self.ended = failure, ended
                if not ended and not self.closed:
                    assert item is not None
                    self.ready.append(item)
                self.running = not (ended or self.closed or len(self.ready) >= self.depth)
                self.changed.notify_all()
                if self.running:
                    continue
                closed = self.closed
            if closed:
                self._close_items()
            return

    def _next(self) -> tuple[Item | None, bool, BaseException | None]:
        try:
            if self.items is None:
                self.items = self.source()
            return next(self.items), False, None
        except StopIteration:
            return None, True, None
        except BaseException as exc:  # handed to the consumer, which raises it in its own thread
            return None, True, exc

    def take(self) -> Iterator[Item]:
        """The items, in order; raises what reading them raised."""
        while True:
            with self.changed:
                while not self.ready and not self.ended:
                    self._start()
                    self.changed.wait()
                if not self.ready:
                    if self.failure is not None:
                        raise self.failure
                    return
                item = self.ready.popleft()
                self._start()
            yield item

    def close(self) -> None:
        """Fetch nothing more, and forget what is ready."""
        with self.changed:
            self.closed = True
            self.ready.clear()
            if self.running:
                return  # the pump closes the iterator when it comes back
        self._close_items()

    def _close_items(self) -> None:
        close_items(self.items)


@runtime_checkable
class _Closes(Protocol):
    """An iterator that holds something until it is closed, as generators do."""

    def close(self) -> None:
        """Let go what it holds."""


def close_items(items: object) -> None:
    """Close a generator now: one that is only let go closes its files some time later."""
    if isinstance(items, _Closes):
        items.close()


def in_order(
    sources: Sequence[Callable[[], Iterator[Item]]], files: int = 4, depth: int = 2
) -> Iterator[Item]:
    """Items of all ``sources``, source after source.

    At most ``files`` sources are open at a time (the one being consumed and those read ahead), each
    with at most ``depth`` items waiting. Closing the generator closes the open sources.
    """
    return _read(sources, files, depth, by_turns=False)


def in_turns(
    sources: Sequence[Callable[[], Iterator[Item]]], files: int = 2, depth: int = 2
) -> Iterator[Item]:
    """Items of all ``sources``, one of each source that is open by turns: the same order whenever
    they are read.

    So ``files`` sources are read at the same time to their ends, with at most ``depth`` items of
    each waiting. Closing the generator closes the open sources."""
    return _read(sources, files, depth, by_turns=True)


def _read(
    sources: Sequence[Callable[[], Iterator[Item]]], files: int, depth: int, by_turns: bool
) -> Iterator[Item]:
    if files < 1 or depth < 1:
        raise ConfigError(
            f"read-ahead of {files} files, {depth} batches", "is below 1", "give 1 or more."
        )
    with ThreadPoolExecutor(files, thread_name_prefix="hoodoo-read") as pool:
        waiting = deque(sources)
        lanes: deque[tuple[_Lane[Item], Iterator[Item]]] = deque()
        try:
            while waiting or lanes:
                while waiting and len(lanes) < files:
                    lane = _Lane(waiting.popleft(), pool, depth)
                    lanes.append((lane, lane.take()))
                    lane.start()
                lane, items = lanes[0]
                for item in items:
                    if by_turns:
                        lanes.rotate(-1)
                    yield item
                    if by_turns:
                        break
                else:
                    lanes.popleft()
                    lane.close()
        finally:
            for lane, _ in lanes:
                lane.close()
