"""Record index: the record level index of RFC-08, in the table's metadata table. Global.

A lookup costs with the keys asked for, not with the table. Hudi's GLOBAL_RECORD_LEVEL_INDEX, with
its RECORD_INDEX of before."""

from __future__ import annotations

from attrs import frozen
from hoodoo.errors import CommitConflictError, ConfigError, CorruptTableError, warn
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import ANYWHERE, IndexContext, LookupIndex
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import default_name, in_role, resolve
from hoodoo.storage.api import Storage
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, reload

from hoodoo_metadata.life.kept_by import is_refused, why_stale
from hoodoo_metadata.life.unbuilt import retire_unbuilt
from hoodoo_metadata.options import CHOOSES, RECORD_MOVES, SEEKS
from hoodoo_metadata.partitions.record_index.index import RecordIndex
from hoodoo_metadata.partitions.record_index.index_reach import is_rebuilt
from hoodoo_metadata.table.layout import INDEX_OF, PARTITIONED, RECORD_INDEX, STORED_OF_VIRTUAL
from hoodoo_metadata.table.metadata_table import building, listed


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

    def stands_in(self, context: IndexContext) -> LookupIndex | None:
        """What is asked of virtual keys where it is not there, or others have written without it:
        the files."""
        own = self._own(context)
        if own is None or (context.key_generator is None and not _is_listed(own, context)):
            return None
        return in_place(context, own, self.is_global)

    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        if self.is_global:
            refuse_doubled(context, self._own(context) or RECORD_INDEX, "record_index")
        return self._opened(context).locate(keys, context)

    def entries(self, context: IndexContext) -> Stream:
        return self._opened(context).entries(context.engine)

    def _own(self, context: IndexContext) -> str | None:
        """Where it lies unless it is Hudi's: with virtual keys, and on the way back from them."""
        if context.timeline is None or _is_listed(RECORD_INDEX, context):
            return None
        return STORED_OF_VIRTUAL[RECORD_INDEX if self.is_global else PARTITIONED]

    def _opened(self, context: IndexContext) -> RecordIndex:
        timeline, own = context.timeline, self._own(context)
        if timeline is not None and own is not None and _is_listed(own, context):
            return opened_to_write(context.storage, timeline, self.how, own)
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
        index = opened_to_write(context.storage, timeline, self.how, RECORD_INDEX)
        if index.partitioned == self.is_global:
            kind = "partitioned" if index.partitioned else "global"
            raise ConfigError(
                f"table {context.storage.root}",
                f"has a record index that is {kind}, and the other kind was requested.",
                "Use index='partitioned_record_index' for the one, 'record_index' for the other.",
            )
        return index


def opened_to_write(storage: Storage, seen: Timeline, how: str, partition: str) -> RecordIndex:
    """The index ``partition`` for a write that has ``seen`` the timeline. CommitConflictError where
    it is being made again meanwhile, or was: then files are gone that the timeline names."""
    try:
        return RecordIndex.open(storage, seen, how=how, partition=partition)
    except CorruptTableError as error:
        again = is_rebuilt(storage, seen, reload(storage, seen), partition)
        if not again and partition not in retire_unbuilt(Snapshot(storage, seen)):
            raise
        raise CommitConflictError(
            f"table {storage.root}",
            "the record index, by which keys are looked up, is being made again by another "
            "process.",
            "Repeat the write.",
        ) from error


def missing_fix(context: IndexContext, name: str) -> str:
    """What to do where a table has no index ``name``."""
    return f"Make it: table.rebuild_index({name!r}), or hoodoo rebuild-index."


def refuse_doubled(context: IndexContext, partition: str, name: str) -> None:
    """ConfigError where somebody would go by a global index that is not the table's own, and has
    one place of keys that have had several."""
    timeline = None if context.compares else context.timeline
    if timeline is not None and is_refused(timeline.config, partition):
        raise ConfigError(
            f"table {context.storage.root}: index {name!r}",
            "has room for one place of a key, and keys have lain in several partition paths: rows "
            "would be doubled, or "
            "put where they do not belong.",
            f"Leave the index out; or give each key one row: table.switch_index({name!r}) then "
            "makes it the table's.",
        )


def _is_listed(partition: str, context: IndexContext) -> bool:
    return context.timeline is not None and partition in listed(context.timeline.config)


def in_place(context: IndexContext, partition: str, anywhere: bool) -> LookupIndex | None:
    """An index that reads the files, with a warning, unless ``partition`` tells of all commits."""
    timeline = context.timeline
    if timeline is None:
        return None
    why: str | None = "it is not there"
    if partition in listed(timeline.config):
        why = why_stale(Snapshot(context.storage, timeline), partition)
    if why is None:
        return None
    name, settings = INDEX_OF[partition], Settings(timeline.config)
    warn(
        f"table {timeline.config.name}: its {name} does not know all record keys ({why}): keys are "
        "looked for in the "
        f"files. table.rebuild_index({name!r}), or hoodoo rebuild-index, rebuilds it."
    )
    other = in_role("index", ANYWHERE) if anywhere else default_name("index", settings)
    index: LookupIndex = resolve("index", other, settings).instance
    return index


def partitioned_from_settings(settings: Settings) -> RecordLevelIndex:
    """The index of keys that are unique in their partition path: Hudi's RECORD_LEVEL_INDEX."""
    return RecordLevelIndex(False, how_of(settings), is_global=False)


def how_of(settings: Settings) -> str:
    """``auto``, ``seek`` or ``scan``, by the two options of RFC-08."""
    if settings.value(CHOOSES):
        return "auto"
    return "seek" if settings.value(SEEKS) else "scan"
