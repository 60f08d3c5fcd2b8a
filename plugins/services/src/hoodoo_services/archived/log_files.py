"""The archive files of version 6: ``.hoodie/archived/.commits_.archive.<n>_1-0-1``, n from 1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen
from hoodoo.errors import CommitConflictError, StorageUnknownError
from hoodoo.hookspecs.archived_timeline import Archivable
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.action import named
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import State
from hoodoo.storage.api import Storage
from hoodoo.timeline import codec
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import LAYOUTS
from hoodoo.timeline.names import completed_action
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_services.archive.settings import ArchiveSettings
from hoodoo_services.archived import entries as archived_entries
from hoodoo_services.archived.entries import COMPLETED, Entry
from hoodoo_services.put_times import put_times

_FILE = re.compile(r"\.commits_\.archive\.(\d+)(?:_.*)?")
_ATTEMPTS = 20


# The directory of the archived timeline, relative to the table root.
folder = LAYOUTS[1].archive_folder


@frozen
class ArchiveLog:
    """Implements :class:`~hoodoo.hookspecs.archived_timeline.ArchivedTimeline`. ``batch``: entries
    of a block."""

    batch: int

    @classmethod
    def from_settings(cls, settings: Settings) -> ArchiveLog:
        return cls(ArchiveSettings.of(settings.options).batch)

    def instants(
        self, storage: Storage, config: TableConfig, since: str | None = None
    ) -> Iterator[ArchivedInstant]:
        limit = None if since is None else order_key(since)
        for one in read(storage, config):
            if limit is None or order_key(one.requested) >= limit:
                yield ArchivedInstant(one.requested, None, one.action, one)

    def oldest(self, storage: Storage, config: TableConfig) -> str | None:
        found = read(storage, config, first=True)
        return min((one.requested for one in found), key=order_key, default=None)

    def add(self, storage: Storage, timeline: Timeline, instants: Sequence[Archivable]) -> None:
        # A run that was cut short has put them, at the end.
        newest = read(storage, timeline.config, newest=True)
        known = {(one.requested, one.action) for one in newest}
        moved = put_times(Snapshot(storage, timeline))
        records = [
            record
            for one in instants
            if (one.instant.requested, one.instant.action) not in known
            for record in _entries(Snapshot(storage, timeline), one, moved)
        ]
        if records:
            append(storage, timeline.config, records, self.batch)

    def tidy(self, storage: Storage, config: TableConfig) -> None:
        """Files of a log only get more."""


@frozen
class Read:
    """A completed instant of the archive, and the entries of its files."""

    where: str
    requested: str
    action: str
    entries: tuple[Entry, ...]

    def metadata(self) -> bytes:
        return self._of(COMPLETED)

    def plan(self) -> bytes:
        if named(self.action).replaces:
            return self._of("INFLIGHT") or self._of("REQUESTED")
        return b"" if named(self.action).appends else self._of("REQUESTED")

    def _of(self, state: str) -> bytes:
        for entry in self.entries:
            if entry.state == state:
                return entry.contents(self.where)
        return b""


def read(
    storage: Storage, config: TableConfig, *, first: bool = False, newest: bool = False
) -> Iterator[Read]:
    """The completed instants of the archive, those of older files first; of the ``first`` or the
    ``newest`` file only, if asked for. An instant's entries are in one file.

    Raises :class:`~hoodoo.errors.CorruptTableError` naming a file that can't be read.
    """
    paths = [path for _, path in _numbered(storage, config)]
    if first or newest:
        paths = paths[:1] if first else paths[-1:]
    for path in paths:
        where = f"{storage.root}/{path}"
        try:
            data = storage.get(path)
        except FileNotFoundError:
            continue
        groups: dict[tuple[str, str], list[Entry]] = {}
        for entry in archived_entries.decode(data, where):
            key = (entry.requested, completed_action(entry.action))
            groups.setdefault(key, []).append(entry)
        for (requested, action), entries in groups.items():
            if any(entry.state == COMPLETED for entry in entries):
                at = f"{where}: instant {requested}.{action}"
                yield Read(at, requested, action, tuple(entries))


def append(
    storage: Storage, config: TableConfig, records: Sequence[Mapping[str, Any]], batch: int
) -> str:
    """Put ``records`` into a file of their own, behind all others; its path. ``batch`` of them make
    a block. Raises :class:`~hoodoo.errors.CommitConflictError` after many lost races."""
    data = archived_entries.encode(records, batch)
    number = max((n for n, _ in _numbered(storage, config)), default=0)
    for _ in range(_ATTEMPTS):
        number += 1
        path = f"{folder(config)}/.commits_.archive.{number}_1-0-1"
        try:
            done = storage.put_if_absent(path, data)
        except StorageUnknownError:
            done = storage.put_if_absent(path, data) or storage.get(path) == data
        if done:
            return path
    raise CommitConflictError(
        f"{storage.root}/{folder(config)}",
        f"another archiver was faster {_ATTEMPTS} times.",
        "Nothing is lost: the next write archives again.",
    )


def _numbered(storage: Storage, config: TableConfig) -> list[tuple[int, str]]:
    """Number and path of each file, by number."""
    entries = (e for e in storage.list(folder(config)) if not e.is_dir)
    found = ((_FILE.fullmatch(e.name), e.path) for e in entries)
    return sorted((int(match[1]), path) for match, path in found if match)


def _entries(snapshot: Snapshot, one: Archivable, moved: Mapping[str, str]) -> list[dict[str, Any]]:
    found = []
    for step, data in one.files:
        if step.traits.deletes and step.state is State.INFLIGHT:
            data = data or one.of(State.REQUESTED)
        path = snapshot.path(step)
        contents = codec.decode(data, f"{snapshot.root}/{path}")
        at = moved.get(path, step.requested)
        found.append(
            archived_entries.entry(step.requested, step.action, step.state.value, at, contents)
        )
    return found
