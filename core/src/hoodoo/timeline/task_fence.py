"""Task fence: late tasks of a direct write, whose files no plan names.

Without an exchange a task learns its partition paths from its rows. Another attempt of it may have
seen other rows, if the source is not deterministic, and name other files; one that ends after the
publish would leave a file that readers see and no commit names. So the driver closes a fence when
it has all stats and before it removes the files that they don't name, and a task looks at the fence
on both sides of its put: one of the two sees the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline.markers import STAGED
from hoodoo.timeline.timeline import load


@frozen
class TaskFence:
    """``prefix`` is the folder of what ``requested`` keeps for itself; it goes after the
    publish."""

    requested: str
    prefix: str
    config: TableConfig

    @property
    def _open(self) -> str:
        return f"{self.prefix}/open"

    @property
    def _named(self) -> str:
        return f"{self.prefix}/named"

    def open(self, storage: Storage) -> None:
        """The driver, before the first task."""
        storage.put(self._open, b"")

    def close(self, storage: Storage, named: Iterable[str]) -> None:
        """The driver, after the last task that counts; ``named`` are the files of all stats."""
        storage.put(self._named, "\n".join(named).encode())
        storage.delete(self._open)

    def is_open(self, storage: Storage) -> bool:
        """Return True while the driver accepts files of tasks."""
        return storage.head(self._open) is not None

    def was_opened(self, storage: Storage) -> bool:
        """Whether a driver of Hoodoo's has been at work, and has not come to its end."""
        return any(storage.head(path) is not None for path in (self._open, self._named))

    def keeps(self, storage: Storage, path: str) -> bool:
        """Behind the closed fence: whether the write counts the file ``path``, which the asking
        task has made: another attempt may have found it there and reported it."""
        # The list goes after the commit has come: who finds neither looks for the commit again.
        for _ in range(2):
            timeline = load(storage, self.config)
            commit = timeline.find(self.requested)
            if commit is not None:
                return path in {stat.path for stat in timeline.metadata(storage, commit).stats}
            try:
                return path in storage.get(self._named).decode().split("\n")
            except FileNotFoundError:
                continue
        return False  # undone


def fence_of(requested: str, config: TableConfig) -> TaskFence:
    """The fence of what writes ``requested``."""
    return TaskFence(requested, f"{STAGED}{requested}", config)
