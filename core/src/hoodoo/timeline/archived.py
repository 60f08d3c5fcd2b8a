"""An instant that has left the active timeline: what readers of the archived one get."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from attrs import field, frozen

from hoodoo.model.commit import CommitMetadata
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.timeline import codec


class Contents(Protocol):
    """Where the contents of an archived instant are found. ``plan``: of a clean or compaction; of a
    replacecommit what its inflight file said, or its requested one; else empty."""

    @property
    def where(self) -> str:
        """The archive file, for messages."""

    def metadata(self) -> bytes:
        """Return the content of the completed file. CorruptTableError if it can not be read."""

    def plan(self) -> bytes:
        """Return the content of the plan, or empty bytes. Raises as :meth:`metadata`."""


@frozen
class ArchivedInstant:
    """A completed instant: when it was ``requested``, when it ``completed`` (None in table version
    6, as on the active timeline), and the ``action`` that it is filed under."""

    requested: str
    completed: str | None
    action: str
    source: Contents = field(eq=False, repr=False)

    @property
    def instant(self) -> Instant:
        """The same as an instant of the active timeline."""
        return Instant(self.requested, self.action, State.COMPLETED, self.completed)

    @property
    def is_write(self) -> bool:
        """Whether it has made rows visible or invisible."""
        return self.instant.is_write

    @property
    def completion_order(self) -> str:
        """What orders this instant by completion, as :attr:`Instant.completion_order`."""
        return self.completed or self.requested

    def metadata_bytes(self) -> bytes:
        """The completed file as it was; from version 6 as an Avro file that says the same. Empty if
        it was empty. Read at each call. Raises :class:`~hoodoo.errors.CorruptTableError`."""
        return self.source.metadata()

    def plan_bytes(self) -> bytes:
        """As :meth:`Contents.plan`."""
        return self.source.plan()

    def contents(self) -> dict[str, Any]:
        """The completed file as a plain dict."""
        return codec.decode(self.metadata_bytes(), self.source.where)

    def metadata(self) -> CommitMetadata:
        """What a write says of itself. Raises :class:`~hoodoo.errors.CorruptTableError`."""
        data = self.metadata_bytes()
        if not data:
            return CommitMetadata()
        replaces = self.instant.traits.replaces
        return codec.decode_commit(data, self.source.where, replaces=replaces)


Reads = Callable[[Storage, TableConfig, str], Iterable[ArchivedInstant]]
_readers: list[Reads] = []


def read_with(reads: Reads) -> None:
    """``reads`` finds the archived instants since a requested time, in files whose forms plugins
    know."""
    _readers[:] = [reads]


def ends_since(storage: Storage, config: TableConfig, since: str) -> dict[str, str]:
    """Requested time -> when it completed, of the archived writes that were requested at ``since``
    or later."""
    (reads,) = _readers  # without one this fails: no answer would put log files in wrong places
    found = reads(storage, config, since)
    return {i.requested: i.completion_order for i in found if i.is_write}
