"""A store that answers as an object store with conditional put does when something goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from hoodoo.errors import StorageError, StorageUnknownError
from hoodoo.storage.api import Storage
from hoodoo.testing.stores import MUTATING, Delegating

T = TypeVar("T")
Wrong = Literal["409", "lost", "time-out", "412-of-ours"]
WRONG: tuple[Wrong, ...] = ("409", "lost", "time-out", "412-of-ours")


class FakeObjectStore(Delegating):
    """The ``at``-th changing operation (from 1) goes wrong, and all after it up to ``times``.

    How a plugin for such a store has to tell what it was answered:

    - 200 is True, 412 (there is an object of that name) is False.
    - 409 (somebody puts the same name right now, try again): the plugin tries again itself. When it gives
      up, nothing has taken place: StorageError.
    - No answer: it may have taken place (``lost``) or not (``time-out``), so StorageUnknownError, for all
      changes; a plugin doesn't know which of the two it was.
    - 412 to a request that was sent again after no answer: the object may be our own. A plugin (or the
      client under it) that sends again by itself has to compare, or not to send again. One that answers
      False here (``412-of-ours``) breaks the contract, and costs nothing but work all the same.
    """

    def __init__(self, inner: Storage, at: int, wrong: Wrong, times: int = 1) -> None:
        super().__init__(inner)
        self.at, self.wrong, self.times = at, wrong, times
        self.count = 0
        self.went: list[str] = []

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        if op not in MUTATING:
            return call()
        with self._lock:
            self.count += 1
            fails = self.at <= self.count < self.at + self.times
        if not fails or (self.wrong == "412-of-ours" and op != "put_if_absent"):
            return call()
        self.went.append(f"{op} {path}")
        where = f"{self.root}/{path}"
        if self.wrong == "409":
            raise StorageError(where, f"{op} met another one of the same name.", "Try again.")
        if self.wrong == "412-of-ours":
            call()
            return False  # type: ignore[return-value]
        if self.wrong == "lost":
            call()
        raise StorageUnknownError(where, f"{op} was not answered.", "Look before trying again.")
