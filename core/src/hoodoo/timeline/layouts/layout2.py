"""Timeline layout 2: table versions 8 and 9.

Completion times order everything, and the name of a completed instant holds its own. A log file is
named after the instant that wrote it, and belongs to the slice that was the newest when that
completed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hoodoo.errors import HoodooError
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import LogFile
from hoodoo.model.instant import Instant
from hoodoo.timeline import stats
from hoodoo.timeline.codec import avro
from hoodoo.timeline.layouts.base import Newest, NewLog, Place, TimelineLayout, Writes
from hoodoo.timeline.names import parse_completed

_KEEP = ".keep"


class Layout2(TimelineLayout):
    """The timeline of table versions 8 and 9: log files are named after their writer."""

    number = 2
    names_completion = True
    log_names_slice = False
    allows_empty = False
    log_marker = "CREATE"
    _form = stats.AVRO

    def _parse_completed(self, name: str) -> Instant | None:
        found = parse_completed(name)
        return found if found is not None and found.completed is not None else None

    def _completed_name(self, instant: Instant, action: str) -> str:
        if instant.completed is None:
            raise HoodooError(
                f"instant {instant}",
                "on timeline layout 2 the name of a completed instant holds its completion time.",
                "Set Instant.completed.",
            )
        return f"{instant.requested}_{instant.completed}.{action}"

    def _encode(self, name: str, record: dict[str, Any]) -> bytes:
        return avro.encode(name, record)

    def folders(self, config: TableConfig) -> tuple[str, ...]:
        """The folders of instants, the configured one first."""
        return (config.timeline_path, ".hoodie/timeline")

    def first_files(self, config: TableConfig) -> tuple[str, ...]:
        """The file that makes the archive folder exist on an object store."""
        # Java lists the timeline directory of a table without commits, and fails if there is none.
        return (f"{self.archive_folder(config)}/{_KEEP}",)

    def archive_folder(self, config: TableConfig) -> str:
        """The folder of the archived timeline, by default ``.hoodie/timeline/history``."""
        return f"{config.timeline_path}/{config.get('hoodie.timeline.history.path') or 'history'}"

    def log_time(self, log: LogFile, timeline: Writes) -> str:
        """When the writer of the log file completed: the slice begun last before has the file."""
        return timeline.completion_time(log.instant)

    def log_writers(self, names: Iterable[str], timeline: Writes) -> list[Instant]:
        """Return the completed writes among the instants ``names`` of log files."""
        return [found for name in names if (found := timeline.find(name)) is not None]

    def new_log(
        self, place: Place, instant: str, slice_: Newest, pending: str | None, tells_slice: bool
    ) -> NewLog:
        """Name a log file after ``instant``. Its version is 1: no other writer uses the name."""
        path, file_id, slot = place
        file = LogFile(path, file_id, instant, 1, f"{slot}-0-0")
        if not tells_slice or slice_ is None:
            return NewLog(file, instant, "", (file.name,))
        named = slice_.base_file.name if slice_.base_file else ""
        files = (*(log.name for log in slice_.log_files), file.name)
        return NewLog(file, slice_.instant, named, files)
