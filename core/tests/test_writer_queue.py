"""Turns of writers: who takes them, and for how many writes."""

from __future__ import annotations

from attrs import define, field
from hoodoo.actions.writer_queue import _CALM, WriterQueue
from hoodoo.storage.api import Storage
from hoodoo.testing.directory import DirectoryStorage


@define
class Free:
    from_dead: bool = False

    def is_held(self) -> bool:
        return True

    def release(self) -> None:
        pass


@define
class Turns:
    """A lock; ``busy``: somebody has it whenever it is first tried. ``waits``: of each call, the seconds."""

    busy: bool = False
    waits: list[float] = field(factory=list)

    def acquire(self, storage: Storage, name: str, wait: float) -> Free | None:
        self.waits.append(wait)
        return None if self.busy and not wait else Free()


def write(queue: WriterQueue, storage: Storage) -> bool:
    """One write that meets no conflict; whether it took its turn."""
    wary = queue.is_wary
    if wary:
        queue.take(storage)
    queue.won()
    queue.give_back()
    return wary


def test_nobody_met_for_a_while_ends_the_turns() -> None:
    lock, storage = Turns(), DirectoryStorage("/nowhere")
    queue = WriterQueue(lock)
    assert not write(queue, storage)
    queue.lost(0.1)
    assert [write(queue, storage) for _ in range(_CALM + 2)] == [True] * _CALM + [False] * 2
    assert lock.waits == [0] * _CALM  # it was free


def test_a_turn_that_had_to_be_waited_for_is_a_meeting() -> None:
    # Without it the two would leave their turns after a few writes, meet, and do a write for nothing.
    lock, storage = Turns(busy=True), DirectoryStorage("/nowhere")
    queue = WriterQueue(lock)
    queue.lost(0.1)
    assert all(write(queue, storage) for _ in range(3 * _CALM))
    assert all(wait == 0 for wait in lock.waits[::2])
    assert all(wait > 0 for wait in lock.waits[1::2])
    lock.busy = False
    assert [write(queue, storage) for _ in range(_CALM + 1)] == [True] * _CALM + [False]
