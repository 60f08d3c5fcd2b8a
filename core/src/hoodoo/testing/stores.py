"""Stores that watch, wait, fail or crash: wrappers over any :class:`~hoodoo.storage.api.Storage`.

The crash and error suites run an action once over a :class:`RecordingStorage` or a
:class:`CrashingStorage` that never crashes, to learn how many operations it takes, and then once
more for each of them. All wrappers may be called from many threads. What is pickled of one is the
store in it: workers in other processes neither count nor crash.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal, NoReturn, TypeVar

import pyarrow as pa

from hoodoo.errors import StorageError, StorageUnknownError
from hoodoo.storage.api import Entry, Storage, has_plain_files, is_shared
from hoodoo.storage.together import at_once
from hoodoo.timeline.heartbeat import THREAD as HEARTBEAT

T = TypeVar("T")

# A crash between two of these is a crash between two states of the store.
MUTATING = frozenset({"put", "put_if_absent", "put_file_if_absent", "delete", "delete_prefix"})
OPERATIONS = MUTATING | {"get", "open", "head", "list"}


class Crash(BaseException):
    """The process ended here. Not an Exception, so that no handler survives what no process
    does."""


def _same(inner: Storage) -> Storage:
    return inner


class Delegating:
    """A store that answers with another one; subclasses change :meth:`around`."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, (self.inner,)

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        """Perform ``call``, which is the operation ``op`` (one of OPERATIONS) on ``path``."""
        return call()

    @property
    def root(self) -> str:
        return self.inner.root

    def put(self, path: str, data: bytes) -> None:
        self.around("put", path, lambda: self.inner.put(path, data))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return self.around("put_if_absent", path, lambda: self.inner.put_if_absent(path, data))

    def put_file_if_absent(self, path: str, local: str) -> bool:
        return self.around(
            "put_file_if_absent", path, lambda: self.inner.put_file_if_absent(path, local)
        )

    def get(self, path: str) -> bytes:
        return self.around("get", path, lambda: self.inner.get(path))

    def open(self, path: str) -> pa.NativeFile:
        return self.around("open", path, lambda: self.inner.open(path))

    def head(self, path: str) -> Entry | None:
        return self.around("head", path, lambda: self.inner.head(path))

    def list(self, prefix: str = "", recursive: bool = False) -> list[Entry]:
        return self.around("list", prefix, lambda: self.inner.list(prefix, recursive))

    def delete(self, path: str) -> bool:
        return self.around("delete", path, lambda: self.inner.delete(path))

    def delete_prefix(self, prefix: str) -> int:
        return self.around("delete_prefix", prefix, lambda: self.inner.delete_prefix(prefix))

    def scratch(self) -> str:
        return self.inner.scratch()

    @property
    def shared(self) -> bool:
        return is_shared(self.inner)

    @property
    def plain_files(self) -> bool:
        return has_plain_files(self.inner)

    @property
    def at_once(self) -> int:
        return at_once(self.inner)

    def __getattr__(self, name: str) -> Any:
        """How the store remembers looks and files, if it does."""
        if name in ("recall", "forget", "keeps"):
            return getattr(self.inner, name)
        raise AttributeError(name)


class GatedStorage(Delegating):
    """Calls ``gate(operation, path)`` before each operation, in the thread that asks for it.

    A gate that waits decides the order of what several writers do; one that acts is another writer
    between two steps; one that raises ends the operation with nothing done.
    """

    def __init__(self, inner: Storage, gate: Callable[[str, str], object]) -> None:
        super().__init__(inner)
        self.gate = gate

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        self.gate(op, path)
        return call()


class RecordingStorage(Delegating):
    """Keeps ``(operation, path)`` of every call, in the order in which the calls began."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.calls: list[tuple[str, str]] = []

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        with self._lock:
            self.calls.append((op, path))
        return call()

    @property
    def mutations(self) -> list[tuple[str, str]]:
        return [(op, path) for op, path in self.calls if op in MUTATING]


class FailingStorage(Delegating):
    """The ``at``-th operation (from 1) among ``ops`` fails; later ones too unless ``once``.

    ``after=False``: StorageError, nothing was done. ``after=True``: the operation is done and then
    StorageUnknownError is raised, as a store does whose answer got lost; for a reading operation
    this is a StorageError, because nothing about a read can be unknown. ``count`` is how many
    operations there were.
    """

    def __init__(
        self,
        inner: Storage,
        at: int,
        *,
        once: bool = True,
        after: bool = False,
        ops: frozenset[str] | set[str] = OPERATIONS,
    ) -> None:
        super().__init__(inner)
        self.at, self.once, self.after, self.ops = at, once, after, frozenset(ops)
        self.count = 0

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        if op not in self.ops:
            return call()
        with self._lock:
            self.count += 1
            number = self.count
        if number < self.at or (self.once and number > self.at):
            return call()
        if self.after and op in MUTATING:
            call()
            raise StorageUnknownError(
                f"{self.root}/{path}",
                f"the answer to {op} was lost (made to, at operation {number}).",
                "Look before trying again.",
            )
        raise StorageError(
            f"{self.root}/{path}", f"{op} failed (made to, at operation {number}).", "Try again."
        )


class CrashingStorage(Delegating):
    """The process ends at the ``at``-th mutating operation (from 1); 0 never, and only counts.

    ``when``: ``before`` the operation, ``after`` it, or ``torn`` in the middle of it:

    - ``put`` leaves the first half of the bytes at the target;
    - ``put_if_absent`` and ``put_file_if_absent`` leave nothing at the target, which their contract
      promises, but a temporary in the store's scratch directory;
    - ``delete_prefix`` deletes the first half of the objects; ``delete`` has no middle: not done.

    From then on every operation raises :class:`Crash` as well, reading ones included, so that a
    ``finally:`` cannot clean up what a dead process could not. ``count`` is the number of mutating
    operations begun, ``crashed`` whether it happened.
    """

    def __init__(
        self, inner: Storage, at: int = 0, when: Literal["before", "after", "torn"] = "before"
    ) -> None:
        super().__init__(inner)
        self.at, self.when = at, when
        self.count = 0
        self.crashed = False

    def around(
        self, op: str, path: str, call: Callable[[], T], tear: Callable[[], object] | None = None
    ) -> T:
        if op not in MUTATING:
            self._alive()
            return call()
        if threading.current_thread().name == HEARTBEAT:
            # It comes when its time has come, in none of the counted steps; and dies unheard.
            if self.crashed:
                raise StorageError(path, "the process has ended.", "")
            return call()
        # One at a time: what other threads do at the moment of the crash is all done or not begun,
        # so that a trial can be repeated.
        with self._lock:
            self._alive()
            self.count += 1
            if self.count != self.at:
                return call()
            self.crashed = True
            if self.when == "after":
                call()
            elif self.when == "torn" and tear is not None:
                tear()
            raise Crash(f"{self.when} {op} {path} (mutating operation {self.at})")

    def put(self, path: str, data: bytes) -> None:
        self.around(
            "put",
            path,
            lambda: self.inner.put(path, data),
            lambda: self.inner.put(path, data[: len(data) // 2]),
        )

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return self.around(
            "put_if_absent",
            path,
            lambda: self.inner.put_if_absent(path, data),
            lambda: self._leave_temporary(data[: len(data) // 2]),
        )

    def put_file_if_absent(self, path: str, local: str) -> bool:
        def tear() -> None:
            with open(local, "rb") as file:
                data = file.read()
            self._leave_temporary(data[: len(data) // 2])

        return self.around(
            "put_file_if_absent", path, lambda: self.inner.put_file_if_absent(path, local), tear
        )

    def delete_prefix(self, prefix: str) -> int:
        def tear() -> None:
            found = self.inner.list(prefix, recursive=True)
            for entry in found[: (len(found) + 1) // 2]:
                self.inner.delete(entry.path)

        return self.around("delete_prefix", prefix, lambda: self.inner.delete_prefix(prefix), tear)

    def end(self, why: str) -> NoReturn:
        """The process ends here and now: for a test that says so by something else than the
        store."""
        with self._lock:
            self.crashed = True
        raise Crash(why)

    def scratch(self) -> str:
        self._alive()
        return super().scratch()

    def _leave_temporary(self, data: bytes) -> None:
        with open(f"{self.inner.scratch()}/torn-{self.count}", "wb") as file:
            file.write(data)

    def _alive(self) -> None:
        if self.crashed:
            raise Crash("the process has ended already")
