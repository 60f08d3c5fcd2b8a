"""Growing record index: a record index whose buckets get more file groups as they grow. Global.

For tables that outgrow the number of file groups that a record index was made with, and for hashes
of one's own. Only Hoodoo knows it: another engine that writes to the table does not keep it."""

from __future__ import annotations

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import IndexContext, LookupIndex
from hoodoo.hookspecs.registration import Settings

from hoodoo_metadata.options import RECORD_MOVES
from hoodoo_metadata.partitions.record_index.index import RecordIndex
from hoodoo_metadata.partitions.record_index.lookup_index import (
    how_of,
    in_place,
    missing_fix,
    opened_to_write,
    refuse_doubled,
)
from hoodoo_metadata.table.layout import GROWING_INDEX
from hoodoo_metadata.table.metadata_table import listed


@frozen
class GrowingIndex:
    """``how`` HFiles are looked into: ``auto``, ``seek`` or ``scan``."""

    moves_partitions: bool = False
    how: str = "auto"

    @property
    def is_global(self) -> bool:
        return True

    @property
    def knows_logs(self) -> bool:
        """Keys that only log files have are found, too."""
        return True

    @classmethod
    def from_settings(cls, settings: Settings) -> GrowingIndex:
        moves = settings.value(RECORD_MOVES)
        return cls(moves, how_of(settings))

    def stands_in(self, context: IndexContext) -> LookupIndex | None:
        """Of virtual keys, other engines than Hoodoo write without it: the files are asked then."""
        return None if context.key_generator is None else in_place(context, GROWING_INDEX, True)

    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        refuse_doubled(context, GROWING_INDEX, "growing_record_index")
        return self._opened(context).locate(keys, context)

    def entries(self, context: IndexContext) -> Stream:
        return self._opened(context).entries(context.engine)

    def _opened(self, context: IndexContext) -> RecordIndex:
        timeline = context.timeline
        if timeline is None or GROWING_INDEX not in listed(timeline.config):
            raise ConfigError(
                f"table {context.storage.root}",
                "has no growing record index to look keys up in.",
                missing_fix(context, "growing_record_index"),
            )
        return opened_to_write(context.storage, timeline, self.how, GROWING_INDEX)
