"""Partial update: columns that the incoming data lacks keep their stored values.

Which row wins is decided as without it: by the ordering columns of the table if it has some, else
by the order of arrival. In a table that is merged on read only the columns of the data are written,
into blocks that Hudi's readers know as partial (header IS_PARTIAL)."""

from __future__ import annotations

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.merger import Merged, Merger, delete_mark
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.merge.commit_time import CommitTimeMerger
from hoodoo_standard.merge.event_time import EventTimeMerger


@frozen
class PartialMerger:
    """``rule`` says which row wins; the kernel puts the columns together."""

    rule: Merger
    keeps_absent: bool = True

    @classmethod
    def from_settings(cls, settings: Settings) -> PartialMerger:
        if settings.table.ordering_fields:
            return cls(EventTimeMerger.from_settings(settings))
        return cls(CommitTimeMerger.from_settings(settings))

    @property
    def merge_mode(self) -> str:
        return self.rule.merge_mode

    @property
    def strategy_id(self) -> str:
        return self.rule.strategy_id

    @property
    def delete_mark(self) -> tuple[str, tuple[str, ...]] | None:
        return delete_mark(self.rule)

    @property
    def columns(self) -> tuple[str, ...] | None:
        return self.rule.columns

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        return self.rule.merge(older, newer)
