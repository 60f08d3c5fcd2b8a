"""The archived timeline: instants that have left the active one (format page 2.5), both layouts.

Reading names costs a listing and three narrow columns (layout 2) or the archive files (layout 1).
What an instant says of itself is read when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from attrs import field, frozen

from hoodoo.errors import CorruptTableError
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.timeline import codec
from hoodoo.timeline.archive import log_files as archived_log
from hoodoo.timeline.archive import manifest as history
from hoodoo.timeline.archive.data_files import TIMES, read_group, read_rows
from hoodoo.timeline.instants import order_key

_ATTEMPTS = 5


class Contents(Protocol):
    """Where the contents of an archived instant are found."""

    @property
    def where(self) -> str: ...

    def metadata(self) -> bytes: ...

    def plan(self) -> bytes: ...


@frozen
class ArchivedInstant:
    """A completed instant: when it was ``requested``, when it ``completed`` (None in table version 6,
    as on the active timeline), and the ``action`` that it is filed under."""

    requested: str
    completed: str | None
    action: str
    _contents: Contents = field(eq=False, repr=False)

    @property
    def instant(self) -> Instant:
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
        return self._contents.metadata()

    def plan_bytes(self) -> bytes:
        """The plan of a clean or compaction; of a replacecommit what its inflight file said, or its
        requested one; else empty."""
        return self._contents.plan()

    def contents(self) -> dict[str, Any]:
        """The completed file as a plain dict."""
        return codec.decode(self.metadata_bytes(), self._contents.where)

    def metadata(self) -> CommitMetadata:
        """What a write says of itself. Raises :class:`~hoodoo.errors.CorruptTableError`."""
        data = self.metadata_bytes()
        if not data:
            return CommitMetadata()
        replaces = self.action == "replacecommit"
        return codec.decode_commit(data, self._contents.where, replaces=replaces)


# --- versions 8 and 9 -------------------------------------------------------------------------------
@frozen
class _Row:
    """A row of a file of ``history/``. The file may be merged into another one before it is read."""

    storage: Storage
    config: TableConfig
    path: str
    row: int
    key: tuple[str, str]

    @property
    def where(self) -> str:
        return f"{self.storage.root}/{self.path}: instant {self.key[0]}.{self.key[1]}"

    def metadata(self) -> bytes:
        return self._get("metadata")

    def plan(self) -> bytes:
        return self._get("plan")

    def _get(self, column: str) -> bytes:
        place = self
        for _ in range(_ATTEMPTS):
            try:
                start, table = read_group(self.storage, place.path, place.row)
            except FileNotFoundError:
                place = self._moved()
                continue
            return table[column][place.row - start].as_py() or b""
        raise self._gone()

    def _moved(self) -> _Row:
        for found in of_history(self.storage, self.config, self.key[0]):
            contents = found._contents
            if (found.requested, found.action) == self.key and isinstance(contents, _Row):
                return contents
        raise self._gone()

    def _gone(self) -> CorruptTableError:
        return CorruptTableError(
            self.where,
            "the archived timeline had it, and has it no more.",
            "Read again; if that is no help, restore the folder from a copy.",
        )


def of_history(storage: Storage, config: TableConfig, since: str | None) -> list[ArchivedInstant]:
    limit = None if since is None else order_key(since)
    missing = ""
    for _ in range(_ATTEMPTS):
        files = history.snapshot(storage, config).files
        wanted = [f for f in files if limit is None or order_key(f.last) >= limit]
        found: list[ArchivedInstant] = []
        try:
            for file in wanted:
                path = f"{history.folder(config)}/{file.name}"
                missing = path
                found += _rows(storage, config, path)
        except FileNotFoundError:
            continue  # merged into another file meanwhile, and cleaned away
        return found
    raise CorruptTableError(
        f"{storage.root}/{missing}",
        "the manifest of the archived timeline names it, and it is not there.",
        "Restore the file from a copy.",
    )


def _rows(storage: Storage, config: TableConfig, path: str) -> Iterator[ArchivedInstant]:
    table = read_rows(storage, path, TIMES)
    columns = [table[name].to_pylist() for name in TIMES]
    for row, (requested, completed, action) in enumerate(zip(*columns, strict=True)):
        if requested and action:
            contents = _Row(storage, config, path, row, (requested, action))
            yield ArchivedInstant(requested, completed, action, contents)


def oldest_of_history(storage: Storage, config: TableConfig) -> str | None:
    files = history.snapshot(storage, config).files
    return min((f.first for f in files), key=order_key, default=None)


# --- version 6 --------------------------------------------------------------------------------------
def of_log(storage: Storage, config: TableConfig, since: str | None) -> Iterable[ArchivedInstant]:
    limit = None if since is None else order_key(since)
    for read in archived_log.read(storage, config):
        if limit is None or order_key(read.requested) >= limit:
            yield ArchivedInstant(read.requested, None, read.action, read)


def oldest_of_log(storage: Storage, config: TableConfig) -> str | None:
    read = archived_log.read(storage, config, first=True)
    return min((r.requested for r in read), key=order_key, default=None)
