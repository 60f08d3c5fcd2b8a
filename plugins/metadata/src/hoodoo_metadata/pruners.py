"""The pruners of the metadata table. What looks into its partitions is imported where the table
keeps them: a process may read a row or two, and end."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.hookspecs.pruner import PruneRequest
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.filegroup import FileSlice

from hoodoo_metadata.table.layout import COLUMN_STATS, INDEXES
from hoodoo_metadata.table.metadata_table import listed


@frozen
class KeyPruner:
    """By a record index: the slices that hold record keys which the filter asks for. All of them
    where it does not ask for certain keys, or the table has no record index that describes what is
    read."""

    @classmethod
    def from_settings(cls, settings: Settings) -> KeyPruner:
        return cls()

    def keep(self, request: PruneRequest, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
        if not set(INDEXES) & set(listed(request.timeline.config)):
            return slices
        from hoodoo_metadata.pruner import by_keys

        return by_keys(request, slices)


@frozen
class RangePruner:
    """By ``column_stats``: the slices whose ranges of columns let the filter be true. What is
    merged from several files is always kept: a row of the result may be none of theirs."""

    @classmethod
    def from_settings(cls, settings: Settings) -> RangePruner:
        return cls()

    def keep(self, request: PruneRequest, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
        if COLUMN_STATS not in request.timeline.config.metadata_partitions:
            return slices
        from hoodoo_metadata.pruner import by_ranges

        return by_ranges(request, slices)
