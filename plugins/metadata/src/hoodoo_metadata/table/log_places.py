"""Log places: which log file of a file group an instant adds in a table of version 6.

There the name of a log file says which slice it belongs to: the instant of the base file, or of a
compaction that is planned, under which it would be lost otherwise. The next version of the slice is
free, and a token of its own keeps the file from meeting that of another writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import Factory, frozen
from hoodoo.model.filegroup import BaseFile, LogFile
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import NewLog
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.plans import pending_groups
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import reload

from hoodoo_metadata.table.metadata_table import MetadataTable


@frozen
class LogPlace:
    """``start``: the instant of the slice, whose base file is ``base`` (empty: it has none);
    ``names`` of its log files, up to the ``version``."""

    start: str
    base: str
    version: int
    names: tuple[str, ...]

    def next(self, partition: str, file_id: str, token: str) -> NewLog:
        """The log file that comes behind."""
        file = LogFile(partition, file_id, self.start, self.version + 1, token)
        return NewLog(file, self.start, self.base, (*self.names, file.name))


@frozen
class LogPlaces:
    """By partition and file id."""

    by_group: Mapping[tuple[str, str], LogPlace] = Factory(dict)

    @classmethod
    def of(cls, table: MetadataTable, partitions: Sequence[str]) -> LogPlaces:
        """Those of ``partitions`` as they are now: a listing of each. Base files count that are
        about to be completed, too: those of a partition that is being made."""
        timeline = reload(table.storage, table.timeline)
        known = {i.requested for i in timeline.instants}
        planned = pending_groups(Snapshot(table.storage, timeline))
        found: dict[tuple[str, str], LogPlace] = {}
        for partition in partitions:
            bases: dict[str, list[BaseFile]] = {}
            logs: dict[str, list[LogFile]] = {}
            for entry in table.storage.list(partition):
                file = None if entry.is_dir else parse_path(entry.path, entry.size)
                if isinstance(file, LogFile):
                    logs.setdefault(file.file_id, []).append(file)
                elif file is not None and (
                    file.instant in known or timeline.contains_or_before_start(file.instant)
                ):
                    bases.setdefault(file.file_id, []).append(file)
            for file_id in bases.keys() | logs.keys():
                key = (partition, file_id)
                found[key] = _place(bases.get(file_id, []), logs.get(file_id, []), planned.get(key))
        return cls(found)

    def next(self, partition: str, file_id: str, token: str) -> NewLog:
        """The log file that comes behind those of a file group that is there."""
        return self.by_group[partition, file_id].next(partition, file_id, token)

    def within(self, partition: str) -> LogPlaces:
        """Those of one partition, for tasks."""
        return LogPlaces({k: v for k, v in self.by_group.items() if k[0] == partition})


def _place(bases: Sequence[BaseFile], logs: Sequence[LogFile], planned: str | None) -> LogPlace:
    names = [*(base.instant for base in bases), *(log.instant for log in logs)]
    start = max([*names, *([planned] if planned else [])], key=order_key)
    mine = sorted(
        (log for log in logs if log.instant == start),
        key=lambda log: (log.version, log.write_token),
    )
    base = next((base.name for base in bases if base.instant == start), "")
    version = max((log.version for log in mine), default=0)
    return LogPlace(start, base, version, tuple(log.name for log in mine))


def time_of_day(instant: str) -> int:
    """How the tokens of the log files of ``instant`` end."""
    return int(instant[8:])
