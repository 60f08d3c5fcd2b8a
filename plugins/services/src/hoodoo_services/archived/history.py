"""The archived timeline of versions 8 and 9: rows of the Parquet files that its manifest names.

Reading names costs a listing and three narrow columns. What an instant says of itself is read when
it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.archived_timeline import Archivable
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import State
from hoodoo.storage.api import Storage
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.timeline import Timeline

from hoodoo_services.archive.settings import ArchiveSettings
from hoodoo_services.archived import levels, manifest, writer
from hoodoo_services.archived.data_files import TIMES, read_group, read_rows
from hoodoo_services.archived.levels import Levels
from hoodoo_services.archived.writer import HistoryRow

_ATTEMPTS = 5


@frozen
class HistoryTree:
    """Implements :class:`~hoodoo.hookspecs.archived_timeline.ArchivedTimeline`."""

    levels: Levels

    @classmethod
    def from_settings(cls, settings: Settings) -> HistoryTree:
        return cls(ArchiveSettings.of(settings.options).levels)

    def instants(
        self, storage: Storage, config: TableConfig, since: str | None = None
    ) -> list[ArchivedInstant]:
        limit = None if since is None else order_key(since)
        missing = ""
        for _ in range(_ATTEMPTS):
            files = manifest.snapshot(storage, config).files
            wanted = [f for f in files if limit is None or order_key(f.last) >= limit]
            found: list[ArchivedInstant] = []
            try:
                for file in wanted:
                    missing = f"{manifest.folder(config)}/{file.name}"
                    found += _rows(self, storage, config, missing)
            except FileNotFoundError:
                continue  # merged into another file meanwhile, and cleaned away
            return found
        raise CorruptTableError(
            f"{storage.root}/{missing}",
            "the manifest of the archived timeline names it, and it is missing.",
            "Restore the file from a copy.",
        )

    def oldest(self, storage: Storage, config: TableConfig) -> str | None:
        files = manifest.snapshot(storage, config).files
        return min((f.first for f in files), key=order_key, default=None)

    def add(self, storage: Storage, timeline: Timeline, instants: Sequence[Archivable]) -> None:
        writer.add(storage, timeline.config, [_row(one) for one in instants])

    def tidy(self, storage: Storage, config: TableConfig) -> None:
        levels.tidy(storage, config, self.levels)


@frozen
class _Row:
    """A row of a file of ``history/``. The file may be merged into another one before it is
    read."""

    timeline: HistoryTree
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
        for found in self.timeline.instants(self.storage, self.config, self.key[0]):
            contents = found.source
            if (found.requested, found.action) == self.key and isinstance(contents, _Row):
                return contents
        raise self._gone()

    def _gone(self) -> CorruptTableError:
        return CorruptTableError(
            self.where,
            "the archived timeline had it, and has it no more.",
            "Read again; if that is no help, restore the folder from a copy.",
        )


def _rows(
    timeline: HistoryTree, storage: Storage, config: TableConfig, path: str
) -> Iterator[ArchivedInstant]:
    table = read_rows(storage, path, TIMES)
    columns = [table[name].to_pylist() for name in TIMES]
    for row, (requested, completed, action) in enumerate(zip(*columns, strict=True)):
        if requested and action:
            contents = _Row(timeline, storage, config, path, row, (requested, action))
            yield ArchivedInstant(requested, completed, action, contents)


def _row(one: Archivable) -> HistoryRow:
    """Which file is the plan: as ``MetadataConversionUtils.createLSMTimelineInstant`` has it."""
    pending = (one.pending[0] if one.pending else one.instant).traits
    plan = b""
    if pending.deletes or pending.compacts:
        plan = one.of(State.REQUESTED)
    elif pending.replaces:
        plan = one.of(State.INFLIGHT) or one.of(State.REQUESTED)
    done = one.instant
    return HistoryRow(done.requested, done.completed, done.action, one.of(State.COMPLETED), plan)
