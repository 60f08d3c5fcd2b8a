"""Log names: which log file a write adds to a file group (format page 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import Factory, evolve, frozen

from hoodoo.model import slice_json
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.timeline.instants import order_key


@frozen
class PlannedLog:
    """A log file instead of a base file. ``prev_commit``, ``base_file`` and ``files`` are for its write
    stat;
    ``fresh``: the file group has no file yet."""

    version: int
    prev_commit: str
    base_file: str
    files: tuple[str, ...]
    fresh: bool
    slice: bytes | None = None


@frozen
class LogPlan:
    """How a write names log files.

    ``layout`` 1 (table version 6): by the instant of the slice that the log belongs to, which is that
    of a pending compaction (``pending``: partition path and file id -> its instant), because the
    rows must not be lost under it. Layout 2: by the write's own ``instant``.
    ``partial``: rows lack columns, and must be whole where their key is stored nowhere. An index
    that looks keys up knows that, except of those that were deleted in a log.
    ``tells_slice``: stats name the slice that a log is added to, which readers of change data look for
    (version 6 always does). ``take_inserts``: the index knows keys that only logs have. ``begin_groups``: a new file group
    may begin with a log file.
    """

    instant: str
    layout: int
    take_inserts: bool
    begin_groups: bool
    partial: bool = False
    pending: Mapping[tuple[str, str], str] = Factory(dict)
    tells_slice: bool = False

    def plan(
        self, path: str, file_id: str, slot: int, slice_: FileSlice | None
    ) -> tuple[LogFile, PlannedLog]:
        """The file, and what its write stat says."""
        file, planned = self._plan(path, file_id, slot, slice_)
        if self.partial and (self.take_inserts or (slice_ and slice_.log_files)):
            planned = evolve(planned, slice=slice_json.pack([slice_] if slice_ else []))
        return file, planned

    def _plan(
        self, path: str, file_id: str, slot: int, slice_: FileSlice | None
    ) -> tuple[LogFile, PlannedLog]:
        fresh = slice_ is None
        if self.layout > 1:
            file = LogFile(path, file_id, self.instant, 1, f"{slot}-0-0")
            if self.tells_slice and slice_ is not None:
                named = slice_.base_file.name if slice_.base_file else ""
                files = (*(log.name for log in slice_.log_files), file.name)
                return file, PlannedLog(1, slice_.instant, named, files, fresh)
            return file, PlannedLog(1, self.instant, "", (file.name,), fresh)
        base = slice_.base_file if slice_ else None
        logs = slice_.log_files if slice_ else ()
        # Behind what is there, also where a compaction that named some of the logs was given up.
        names = [slice_.instant, *(log.instant for log in logs)] if slice_ else [self.instant]
        names.append(self.pending.get((path, file_id), names[0]))
        instant = max(names, key=order_key)
        version = 1 + max((log.version for log in logs if log.instant == instant), default=0)
        # A name says nothing of who wrote it: the time of day in the token keeps a task that outlived
        # a failed write from being taken for one of this write.
        file = LogFile(path, file_id, instant, version, f"{slot}-0-{int(self.instant[8:])}")
        named = base.name if base is not None and base.instant == instant else ""
        files = (*(log.name for log in logs if log.instant == instant), file.name)
        return file, PlannedLog(version, instant, named, files, fresh)
