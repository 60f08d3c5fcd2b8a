"""Timeline layout 1: table version 6.

Requested times order everything. A log file is named after the slice that it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import LogFile
from hoodoo.model.instant import Instant
from hoodoo.timeline import stats
from hoodoo.timeline.codec import json
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts.base import Newest, NewLog, Place, TimelineLayout, Writes
from hoodoo.timeline.names import parse_completed


class Layout1(TimelineLayout):
    """The timeline of table version 6: files in ``.hoodie``, log files named after their slice."""

    number = 1
    names_completion = False
    log_names_slice = True
    allows_empty = True
    log_marker = "APPEND"
    _form = stats.JSON
    plans_as_writes = True

    def _parse_completed(self, name: str) -> Instant | None:
        found = parse_completed(name)
        return found if found is not None and found.completed is None else None

    def _completed_name(self, instant: Instant, action: str) -> str:
        return f"{instant.requested}.{action}"

    def _encode(self, name: str, record: dict[str, Any]) -> bytes:
        return json.encode(record)

    def folders(self, config: TableConfig) -> tuple[str, ...]:
        """The one folder of instants: ``.hoodie``."""
        return (".hoodie",)

    def first_files(self, config: TableConfig) -> tuple[str, ...]:
        """A new table needs no file beside its properties."""
        return ()

    def archive_folder(self, config: TableConfig) -> str:
        """The folder of archived instants, by default ``.hoodie/archived``."""
        return f".hoodie/{config.get('hoodie.archivelog.folder') or 'archived'}"

    def log_time(self, log: LogFile, timeline: Writes) -> str:
        """The instant in the name of the log file, which is that of its slice."""
        return log.instant

    def log_writers(self, names: Iterable[str], timeline: Writes) -> list[Instant]:
        """A name says what its writers came after."""
        oldest = min(map(order_key, names), default=None)
        deltas = (i for i in timeline.writes() if i.traits.appends)
        return [i for i in deltas if oldest is not None and order_key(i.requested) >= oldest]

    def new_log(
        self, place: Place, instant: str, slice_: Newest, pending: str | None, tells_slice: bool
    ) -> NewLog:
        """Name the next log file after the newest slice, or the compaction that begins one."""
        path, file_id, slot = place
        base = slice_.base_file if slice_ else None
        logs = slice_.log_files if slice_ else ()
        # After all logs that exist, also if a compaction that named some of them was cancelled; and
        # after a planned compaction, under which the rows would be lost.
        names = [slice_.instant, *(log.instant for log in logs)] if slice_ else [instant]
        start = max([*names, pending or names[0]], key=order_key)
        version = 1 + max((log.version for log in logs if log.instant == start), default=0)
        # A name says nothing of who wrote it: the time of day in the token keeps a task that
        # outlived a failed write from being taken for one of this write.
        file = LogFile(path, file_id, start, version, f"{slot}-0-{int(instant[8:])}")
        named = base.name if base is not None and base.instant == start else ""
        files = (*(log.name for log in logs if log.instant == start), file.name)
        return NewLog(file, start, named, files)
