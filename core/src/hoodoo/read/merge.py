"""Merge: base file + log files -> rows. Log files are not read yet; this is where they come in."""

from __future__ import annotations

from hoodoo.errors import UnsupportedTableError
from hoodoo.model.filegroup import FileSlice


def check(slice_: FileSlice) -> None:
    """UnsupportedTableError for a slice that can't be read as a base file alone."""
    if slice_.log_files:
        raise UnsupportedTableError(
            f"file group {slice_.file_id} in partition {slice_.partition_path!r}",
            f"has {len(slice_.log_files)} log files, which are not merged yet",
            'compact the table, or read it with mode="read_optimized" (without the log files).',
        )
