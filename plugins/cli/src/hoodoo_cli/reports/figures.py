"""Figures of a table: what ``table.stats()`` answers."""

from __future__ import annotations

from attrs import frozen
from hoodoo.model import brief
from hoodoo_rows.api import Sizes


@frozen
class WriteTotals:
    """What the completed writes of the active timeline have written.

    ``bytes`` are those of all files that they made, compactions and clusterings included.
    ``changed_rows`` are inserted, updated and deleted rows. ``changed_bytes`` is what these rows
    take: of a base file as many rows' share of the file as were changed, of a log file all of it,
    of a service nothing."""

    commits: int = 0
    bytes: int = 0
    changed_rows: int = 0
    changed_bytes: int = 0

    @property
    def amplification(self) -> float | None:
        """Bytes written for each byte of a changed row; None where none was changed."""
        return self.bytes / self.changed_bytes if self.changed_bytes else None


@frozen(repr=False)
class TableStats:
    """The result of ``table.stats()``. Sizes are in bytes.

    ``newest_bytes``: the slices that a snapshot read uses; ``older_bytes``: older slices;
    ``replaced_bytes``: file groups that a replacecommit replaced; ``uncommitted_bytes``: files of
    instants that are not completed. ``rows`` are the rows of the newest base files (None if no
    plugin reads their format); log files may add and delete rows. ``cleanable_bytes``: how much a
    clean would free now; None if that is not known."""

    table: str
    table_type: str
    table_version: int
    partitions: int
    file_groups: int
    slices: int
    rows: int | None
    newest_bytes: int
    older_bytes: int
    replaced_bytes: int
    uncommitted_bytes: int
    base_files: Sizes
    small_files: int
    small_file_limit: int
    log_files: Sizes
    written: WriteTotals
    cleanable_bytes: int | None = None

    def __repr__(self) -> str:
        groups = f"{self.file_groups} file groups in {self.partitions} partitions"
        old = brief.size(self.bytes - self.newest_bytes)
        return (
            f"<TableStats of {self.table}: {groups}, {brief.size(self.newest_bytes)} newest, {old} "
            "older, "
            f"{self.small_files} of {self.base_files.count} base files small, "
            f"{self.log_files.count} log files>"
        )

    @property
    def bytes(self) -> int:
        """All base and log files."""
        old = self.older_bytes + self.replaced_bytes
        return self.newest_bytes + old + self.uncommitted_bytes

    @property
    def log_ratio(self) -> float | None:
        """Bytes of log files for each byte of base files, of the newest slices."""
        return self.log_files.bytes / self.base_files.bytes if self.base_files.bytes else None

    @property
    def slices_per_group(self) -> float | None:
        """Versions that are kept of a file group, on average; replaced groups are not counted."""
        return self.slices / self.file_groups if self.file_groups else None
