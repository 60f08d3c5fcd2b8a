"""Outcomes: what actions answer to who ran them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypedDict

from attrs import field, frozen

from hoodoo.model.brief import listed


class Figures(TypedDict, total=False):
    """How much an action did, as far as it knows: fields of
    :class:`~hoodoo.hookspecs.observer.Event`."""

    files_added: int
    files_removed: int
    bytes_written: int
    rows_inserted: int
    rows_updated: int
    rows_deleted: int
    rows_unmerged: int
    partitions: tuple[str, ...]


def removed_figures(files: Collection[str]) -> Figures:
    """Of an action that deleted ``files``, paths below the table's root, and wrote none."""
    touched = {path.rpartition("/")[0] for path in files}
    return Figures(
        files_added=0, files_removed=len(files), bytes_written=0, partitions=tuple(sorted(touched))
    )


@frozen
class RolledBack:
    """The outcome of a rollback: ``instant`` was undone by the instant ``rollback``, and ``files``
    were deleted."""

    instant: str
    rollback: str
    files: tuple[str, ...] = field(repr=listed)

    @property
    def figures(self) -> Figures:
        """What events and reports say of it: the number of deleted files."""
        return Figures(files_removed=len(self.files))
