"""The merger itself: Arrow in, Arrow out; it knows nothing of tables, files or Spark."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import MissingColumnError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.merger import Merged


@dataclass(frozen=True)
class KeepFirst:
    """The older row stays; where ``unless_null`` names a column, the oldest row that has a
    value."""

    unless_null: str | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> KeepFirst:
        return cls(settings.get("hoodoo.keep_first.unless_null"))

    @property
    def merge_mode(self) -> str:
        return "CUSTOM"

    @property
    def strategy_id(self) -> str:
        return "755b420a-d5a4-488b-a84f-dd2cfc963c80"

    @property
    def columns(self) -> tuple[str, ...] | None:
        return (self.unless_null,) if self.unless_null else ()

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        """Row i of ``older`` against row i of ``newer``. Raises MissingColumnError."""
        if self.unless_null is None:
            return Merged(newer_wins=pa.repeat(False, newer.num_rows))
        if self.unless_null not in newer.schema.names:
            raise MissingColumnError(
                f"column {self.unless_null}",
                "is named by hoodoo.keep_first.unless_null, and the table has no such column.",
                "Name a column of the table.",
            )
        before, after = older.column(self.unless_null), newer.column(self.unless_null)
        wins = pc.and_(pc.is_null(before), pc.is_valid(after))
        return Merged(newer_wins=wins.combine_chunks())
