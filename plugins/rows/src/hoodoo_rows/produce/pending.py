"""Pending: how a task hands over a finished file, for as long as its instant stands.

A task may outlive its write: lost executors and speculation leave losers, a dead driver leaves its
tasks. A file of an instant that was undone is seen by readers as soon as the timeline starts after
that instant (it counts as archived, hence committed), at once if the instant was the table's first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import frozen
from hoodoo.errors import CommitConflictError, StorageError
from hoodoo.model.filegroup import path_of
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.storage.together import together
from hoodoo.timeline.markers import marker
from hoodoo.timeline.task_fence import TaskFence
from hoodoo.timeline.timeline import Timeline


@frozen
class Pending:
    """``requested`` is the instant that tasks write for, ``path`` its inflight file, which is there
    from before the first file until the instant is rolled back or archived. ``door``: of a write
    whose tasks name files themselves. ``watched``: the instant is looked at after the put; else the
    caller does so when all its files are put, and deletes them where it does not stand any more."""

    requested: str
    path: str
    door: TaskFence | None = None
    watched: bool = True

    @classmethod
    def of(cls, timeline: Timeline, instant: Instant, door: TaskFence | None = None) -> Pending:
        """The pending ``instant`` of ``timeline``, whose tasks may be kept out by ``door``."""
        return cls(instant.requested, timeline.path(instant), door)

    def put(
        self, storage: Storage, partition_path: str, name: str, local: str, kind: str, size: int
    ) -> int:
        """Put the ``local`` file of ``size`` bytes under its final name, after its marker of
        ``kind`` (empty: without one); the size of the file that is there then: of two attempts of
        one task the first one's counts.

        Raises CommitConflictError, with no file left, if the instant does not stand any more, or
        the door is closed and the write does not count this file. The instant is looked at on both
        sides of the put: a rollback lists the files once more after it has taken the inflight file
        away, so that one of the two sees the other."""
        named = marker(self.requested, partition_path, name, kind)
        if self.door is not None:
            self._enter(storage, named if kind else "")
        else:  # a marker without a file is swept with the others
            look = partial(self.check, storage)
            calls: list[Callable[[], object]] = [look] if self.watched else []
            calls += [partial(storage.put_if_absent, named, b"")] if kind else []
            together(storage, *calls, ahead=[look] if kind and not self.watched else [])
        path = path_of(partition_path, name)
        if not storage.put_file_if_absent(path, local):
            return self._size_of(storage, path)
        try:
            is_late = not self._stands(storage)
        except CommitConflictError:
            storage.delete(path)
            raise
        if is_late and self.door is not None:
            if not self.door.keeps(storage, path):
                storage.delete(path)
            raise self._late()
        return size

    def _size_of(self, storage: Storage, path: str) -> int:
        """Of what an earlier attempt has put: a commit names no file that nobody has seen."""
        if (found := storage.head(path)) is not None:
            return found.size
        self.check(storage)
        raise StorageError(
            f"{storage.root}/{path}",
            "was not written: the store says that it exists, and it does not.",
            "Try again; if it comes again, look for a proxy between this host and the store.",
        )

    def _enter(self, storage: Storage, named: str) -> None:
        """Through the door. The marker ``named`` comes first: whoever closes the door sees it
        then."""
        is_own = bool(named) and storage.put_if_absent(named, b"")
        try:
            if not self._stands(storage):
                raise self._late()
        except CommitConflictError:
            if is_own:
                storage.delete(named)
            raise

    def _stands(self, storage: Storage) -> bool:
        """Whether the door is open, if there is one. CommitConflictError as of :meth:`check`, of a
        watched instant."""
        looks: list[Callable[[], object]] = [partial(self.check, storage)] if self.watched else []
        if self.door is not None:
            looks.append(partial(self.door.is_open, storage))
        return not any(found is False for found in together(storage, *looks))

    def _late(self) -> CommitConflictError:
        return CommitConflictError(
            f"instant {self.requested}",
            "a task finished after another attempt of the same task, and after the write.",
            "Nothing to do: the write does not need this task.",
        )

    def check(self, storage: Storage) -> None:
        """CommitConflictError where the instant does not stand any more."""
        if storage.head(self.path) is None:
            raise CommitConflictError(
                f"instant {self.requested}",
                "a task finished after another writer had rolled the instant back.",
                "Repeat the write, if it was not repeated yet.",
            )
