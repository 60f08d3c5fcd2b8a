"""What a table is made of: its file slices."""

from __future__ import annotations

from datetime import date

from attrs import evolve

from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.filegroup import FileSlice
from hoodoo.participants.travel import check_reach, view_as_of
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.instants import parse_point
from hoodoo.timeline.log_sizes import with_committed_sizes


def file_slices(table: TableHandle, as_of: str | date | None = None) -> tuple[FileSlice, ...]:
    """The file slices that a snapshot read uses now, or at the time ``as_of`` (inclusive), sorted by partition path
    and file id. Opens no data file. Raises ConfigError for a time that is invalid, or too long ago."""

    def look(source: ReadSource) -> tuple[FileSlice, ...]:
        bound = None if as_of is None else parse_point(as_of, source.config.timezone)
        check_reach(source, bound, f"as_of={as_of!r}")
        found = (evolve(s, log_files=s.row_logs) for s in view_as_of(source, bound).slices)
        return with_committed_sizes(source.storage, source.timeline, found)

    return table.plan_read(look)
