"""The partitions as rows: how many file groups, rows and bytes each has."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, frozen
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.findings import silent
from hoodoo.participants.listing import build

from hoodoo_cli.reports.stats import all_commits, base_rows


@frozen
class PartitionRow:
    """A partition path, empty in a table without partitions. Sizes in bytes, of what a snapshot
    read looks at. ``rows``: those of the base files; None where nobody has counted them.
    ``log_files`` may add rows and take some away. ``small_files``: base files below the limit."""

    partition: str
    file_groups: int = 0
    rows: int | None = 0
    base_bytes: int = 0
    log_files: int = 0
    log_bytes: int = 0
    small_files: int = 0

    @property
    def bytes(self) -> int:
        return self.base_bytes + self.log_bytes


def partition_rows(
    source: ReadSource, small_file: int, footers: int | None = None
) -> tuple[PartitionRow, ...]:
    """By partition path. One listing, all commits of the active timeline, and the footers of those
    base files whose commit has been archived: ``footers`` at most; where there are more of them,
    ``rows`` is None."""
    slices = tuple(build(source.snapshot).slices)
    bases = [s.base_file for s in slices if s.base_file is not None]
    rows = base_rows(source, bases, all_commits(source, silent), footers, silent)
    found: dict[str, PartitionRow] = {}
    for one in slices:
        path, base = one.partition_path, one.base_file
        row = found.get(path) or PartitionRow(path)
        counted: int | None = 0 if base is None else rows.get(base.path)
        found[path] = evolve(
            row,
            file_groups=row.file_groups + 1,
            rows=_sum((row.rows, counted)),
            base_bytes=row.base_bytes + (0 if base is None else base.size),
            log_files=row.log_files + len(one.log_files),
            log_bytes=row.log_bytes + sum(log.size for log in one.log_files),
            small_files=row.small_files + (base is not None and base.size < small_file),
        )
    return tuple(found[path] for path in sorted(found))


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)
