"""What a table is made of: its file slices."""

from __future__ import annotations

from datetime import date

from attrs import evolve

from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.filegroup import FileSlice
from hoodoo.participants.travel import bound_of, view_as_of
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.log_sizes import with_committed_sizes


def file_slices(table: TableHandle, as_of: str | date | int | None = None) -> tuple[FileSlice, ...]:
    """The file slices that a snapshot read uses now, or at the time ``as_of`` (inclusive), sorted
    by partition path and file id. Opens no data file. Raises ConfigError for a time that is
    invalid, or too long ago."""

    def look(source: ReadSource) -> tuple[FileSlice, ...]:
        view = view_as_of(source, bound_of(source, as_of))
        found = (evolve(s, log_files=s.row_logs) for s in view.slices)
        return with_committed_sizes(source.snapshot, found)

    return table.plan_read(look)
