"""Log names: which log file a write adds to a file group."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import Factory, evolve, frozen
from hoodoo.hookspecs.index import BucketPlace
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.model.payload import pack_slices
from hoodoo.timeline.layouts import TimelineLayout
from hoodoo.timeline.snapshot import Snapshot


@frozen
class PlannedLog:
    """A log file instead of a base file. ``prev_commit``, ``base_file`` and ``files`` are for its
    write stat; ``fresh``: the file group has no file yet. ``after_deletes``: log files of the slice
    may hold deletes; ``compacting``: and a compaction is pending, whose base file may have a row
    that they delete."""

    version: int
    prev_commit: str
    base_file: str
    files: tuple[str, ...]
    fresh: bool
    slice: bytes | None = None
    after_deletes: bool = False
    compacting: bool = False


@frozen
class LogPlan:
    """How a write names log files.

    ``layout`` names them, after the slice or after the write's own ``instant``; ``pending``:
    partition path and file id -> the instant of a compaction that is planned, under which no row
    may be lost. ``partial``: rows lack columns, and must be whole where their key is stored
    nowhere. An index that looks keys up knows that, except of those that were deleted in a log.
    ``tells_slice``: stats name the slice that a log is added to, which readers of change data look
    for (some layouts always do). ``may_delete``: whether rows may meet deletes in the logs of a
    slice. ``take_inserts``: the index knows keys that only logs have. ``begin_groups``: a new file
    group may begin with a log file. ``begun``: file groups that a pending clustering will make."""

    instant: str
    layout: TimelineLayout
    take_inserts: bool
    begin_groups: bool
    partial: bool = False
    pending: Mapping[tuple[str, str], str] = Factory(dict)
    tells_slice: bool = False
    begun: Mapping[tuple[str, str], BucketPlace] = Factory(dict)
    may_delete: Callable[[FileSlice], bool] = lambda slice_: False

    def plan(
        self, path: str, file_id: str, slot: int, slice_: FileSlice | None
    ) -> tuple[LogFile, PlannedLog]:
        """The file, and what its write stat says."""
        file, planned = self._plan(path, file_id, slot, slice_)
        partial = self.partial and (self.take_inserts or (slice_ and slice_.log_files))
        deletes = slice_ is not None and self.may_delete(slice_)
        if partial or deletes:
            packed = pack_slices([slice_] if slice_ else [])
            compacting = (path, file_id) in self.pending
            planned = evolve(planned, slice=packed, after_deletes=deletes, compacting=compacting)
        return file, planned

    def _plan(
        self, path: str, file_id: str, slot: int, slice_: FileSlice | None
    ) -> tuple[LogFile, PlannedLog]:
        place = self.begun.get((path, file_id))
        if place is not None and place.begun is not None:
            # As Spark Hudi names it. Only the token tells writers apart; readers order them by what
            # is in the blocks.
            token = f"{slot}-{int(self.instant[4:8])}-{int(self.instant[8:])}"
            file = LogFile(path, file_id, place.begun, 1, token)
            return file, PlannedLog(1, place.begun, "", (file.name,), False)
        pending = self.pending.get((path, file_id))
        new = self.layout.new_log(
            (path, file_id, slot), self.instant, slice_, pending, self.tells_slice
        )
        file = new.file
        return file, PlannedLog(
            file.version, new.prev_commit, new.base_file, new.files, slice_ is None
        )


def may_delete(snapshot: Snapshot, marks: bool, slice_: FileSlice) -> bool:
    """Whether a log file of ``slice_`` may hold deletes by key, or with ``marks`` any deletes: by
    the commits that wrote it, read once for a timeline. One of an archived commit may."""
    logs = slice_.row_logs
    counted = []
    for write in (
        snapshot.layout.log_writers({log.instant for log in logs}, snapshot.timeline)
        if logs
        else ()
    ):
        name = f"deletes {marks} {write.requested}"
        if name not in snapshot.timeline.noted:
            stats = snapshot.metadata(write).stats
            snapshot.timeline.noted[name] = {
                s.path: s.num_deletes > (0 if marks else s.marks) for s in stats
            }
        counted.append(snapshot.timeline.noted[name])
    found = [{one.get(log.path) for one in counted} for log in logs]  # type: ignore[attr-defined]
    return any(True in said or False not in said for said in found)
