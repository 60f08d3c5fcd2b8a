"""Record index: the record level index of RFC-08, in the table's metadata table. Global.

A lookup costs with the keys asked for, not with the table. Hudi's GLOBAL_RECORD_LEVEL_INDEX, with its
RECORD_INDEX of before.
"""

from __future__ import annotations

from attrs import frozen
from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import IndexContext
from hoodoo.hookspecs.registration import Settings

from hoodoo_metadata.layout import RECORD_INDEX
from hoodoo_metadata.options import CHOOSES, RECORD_MOVES, SEEKS
from hoodoo_metadata.record_index.index import RecordIndex
from hoodoo_metadata.table import building


@frozen
class RecordLevelIndex:
    """``how`` HFiles are looked into: ``auto``, ``seek`` or ``scan``."""

    moves_partitions: bool = False
    how: str = "auto"
    is_global: bool = True

    @property
    def knows_logs(self) -> bool:
        """Keys that only log files have are found, too."""
        return True

    @classmethod
    def from_settings(cls, settings: Settings) -> RecordLevelIndex:
        moves = settings.value(RECORD_MOVES)
        return cls(moves, how_of(settings))

    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        return self._opened(context).locate(
            context.engine, keys, context.slices, context.key_bytes, context.serializer
        )

    def entries(self, context: IndexContext) -> Stream:
        return self._opened(context).entries(context.engine)

    def _opened(self, context: IndexContext) -> RecordIndex:
        timeline = context.timeline
        if timeline is not None and RECORD_INDEX in building(timeline.config):
            raise CommitConflictError(
                f"table {context.storage.root}",
                "the record index, by which keys are looked up, is being made.",
                "Repeat the write when it is done.",
            )
        if timeline is None or RECORD_INDEX not in timeline.config.metadata_partitions:
            raise ConfigError(
                f"table {context.storage.root}",
                "has no record index to look keys up in.",
                missing_fix(context, "record_index"),
            )
        index = RecordIndex.open(context.storage, timeline, how=self.how)
        if index.partitioned == self.is_global:
            kind = "partitioned" if index.partitioned else "global"
            raise ConfigError(
                f"table {context.storage.root}",
                f"has a record index that is {kind}, and was asked for the other kind.",
                "Use index='partitioned_record_index' for the one, 'record_index' for the other.",
            )
        return index


def missing_fix(context: IndexContext, name: str) -> str:
    """What to do where a table has no index ``name``."""
    if context.key_generator is not None:
        return (
            "Keys that are virtual can't have one: table.switch_index('global_simple'), or "
            "hoodoo switch-index, gives the table an index that keeps them unique as well."
        )
    return f"Make it: table.rebuild_index({name!r}), or hoodoo rebuild-index."


def partitioned_from_settings(settings: Settings) -> RecordLevelIndex:
    """The index of keys that are unique in their partition path: Hudi's RECORD_LEVEL_INDEX."""
    return RecordLevelIndex(False, how_of(settings), is_global=False)


def how_of(settings: Settings) -> str:
    """``auto``, ``seek`` or ``scan``, by the two options of RFC-08."""
    if settings.value(CHOOSES):
        return "auto"
    return "seek" if settings.value(SEEKS) else "scan"
