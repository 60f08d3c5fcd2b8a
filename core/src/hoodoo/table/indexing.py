"""Indexing: how a table gets a metadata table, and gets it back where something undid too much of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import pyarrow as pa
from attrs import evolve

from hoodoo.actions.restore.metadata import Restored
from hoodoo.actions.rollback.run import RolledBack
from hoodoo.errors import CommitConflictError, ConfigError, UnsupportedTableError
from hoodoo.hookspecs.engine import Engine
from hoodoo.kernel.resolve import resolve
from hoodoo.metadata import compact
from hoodoo.metadata.build import build, finish, retire
from hoodoo.metadata.compare import Comparison, compared, compared_whole
from hoodoo.metadata.definitions import define, is_partitioned
from hoodoo.metadata.index_lookup import KEYED, all_keys
from hoodoo.metadata.layout import (
    COLUMN_STATS,
    FILES,
    GROWING_INDEX,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hoodoo.metadata.partition_state import KEPT, built, current_partitions
from hoodoo.metadata.record_index.growing import Growing
from hoodoo.metadata.record_index.size import IndexSize
from hoodoo.metadata.table import OWN_BUILDING, MetadataTable, building, told_as
from hoodoo.metadata.writer import columns_of
from hoodoo.model.config import OWN_INDEX, TableConfig
from hoodoo.options import metadata as metadata_options
from hoodoo.table.writing import Writing
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.publish import INDEXING
from hoodoo.timeline.timeline import Timeline
from hoodoo.write.target import WriteTarget

PARTITIONED_INDEX = "partitioned_record_index"
GROWING = "growing_record_index"


def with_metadata(config: TableConfig, options: Mapping[str, str]) -> TableConfig:
    """The properties of a new table, with the metadata table that the options or its index ask for as one
    that is to be built. Raises ConfigError, UnsupportedTableError where it can't have one."""
    growing = _index_of(config) == GROWING
    asked = metadata_options.KEYS.read(options) or metadata_options.PATH_KEYS.read(options)
    keys = asked or _index_of(config) not in (None, GROWING)
    own = [GROWING_INDEX] if growing else []
    if growing:
        refuse_unable(config, True)
        Growing.of(config)
        config = TableConfig({**config.properties, OWN_BUILDING: GROWING_INDEX})
    enabled = metadata_options.ENABLED.given(options)
    if not (keys if enabled is None else enabled):
        if keys:
            raise ConfigError(
                f"option {metadata_options.ENABLED.key}=false", "contradicts a record index, which lies in the metadata table.",
                "leave it out.",
            )  # fmt: skip
        return config
    refuse_unable(config, keys)
    partitioned = by_paths(config, options)
    if partitioned and not config.partition_fields:
        raise ConfigError(
            f"option {metadata_options.PATH_KEYS.key}", "is for tables with partitions, and this one has none.",
            "use the global record index: index='record_index'.",
        )  # fmt: skip
    IndexSize.of(options, partitioned)
    ranges = metadata_options.RANGES.read(options)
    wanted = [FILES]
    wanted += [COLUMN_STATS] if ranges else []
    wanted += [RECORD_INDEX] if keys else []
    wanted += [PARTITION_STATS] if ranges and config.partition_fields else []
    begun = {k: v for k, v in told_as((), (*wanted, *own)).items() if v is not None}
    return TableConfig({**config.properties, **begun})


def by_paths(config: TableConfig, options: Mapping[str, str]) -> bool:
    """Whether the record index that a new table asks for is partitioned."""
    return _index_of(config) == PARTITIONED_INDEX or metadata_options.PATH_KEYS.read(options)


def _index_of(config: TableConfig) -> str | None:
    """Which record index the table's own index is, if it is one."""
    named = (config.get(OWN_INDEX) or "").lower()
    return named if named in (RECORD_INDEX, PARTITIONED_INDEX, GROWING) else None


def refuse_unable(config: TableConfig, keys: bool) -> None:
    """Raises UnsupportedTableError where a table can't have a metadata table; with ``keys``, ConfigError
    where it can't have a record index."""
    if not config.traits.writes_metadata:
        raise UnsupportedTableError(
            f"table {config.name} of version {config.version}",
            "gets no metadata table: Hoodoo keeps those of version 9.",
            "Use version 9, or leave it as it is: its directories are listed then.",
        )
    if keys and not config.populate_meta_fields:
        raise ConfigError(
            f"table {config.name}",
            "has virtual keys, and Spark Hudi would not keep a record index of them.",
            "Make the keys stored ones (table.rewrite_keys(virtual=False)), or use another index.",
        )


class Indexing(Writing):
    """A table with its metadata table."""

    def compare_indexes(
        self,
        a: Any,
        b: Any,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        *,
        engine: str | Engine | None = None,
    ) -> Comparison:
        """Ask two indexes where keys lie, and report where they differ: names, Java classes or objects.

        All keys of the table, or with ``since`` those of rows that commits after it, up to ``until`` or now,
        wrote: so a job of its own can follow the writers. Of all keys, stale entries are reported, too: those
        of indexes that store them, of keys that the table does not have. Changes nothing. Raises ConfigError
        for points and names that are none, CorruptTableError where an index can't be read.
        """
        target = self._target(None, engine or self._engine)
        one, other = (resolve("index", index, self._settings).instance for index in (a, b))
        if since is None:
            return compared_whole(target, one, other, all_keys(target))
        changed = self._changed(since, until)
        return compared(target, one, other, target.engine.source(changed.cast(KEYED)))

    def _changed(self, since: str | datetime, until: str | datetime | None) -> pa.Table:
        raise NotImplementedError

    def compact_metadata(self, *, engine: str | Engine | None = None) -> tuple[str, ...]:
        """Compact the metadata table now; the instants of its compactions. Writes do so by themselves
        after each ``hoodie.metadata.compact.max.delta.commits``."""
        self._check_writable()
        self._refresh()
        timeline = self.timeline()
        partitions = current_partitions(self._storage, timeline)
        if not partitions:
            return ()
        runner = self._resolve_engine(None, engine or self._engine)
        return compact.compact(self._storage, timeline, partitions, runner)

    # --- what undoes more than a metadata table can follow -----------------------------------------
    def rollback(self, instant: str | None = None) -> Any:
        held = instant is not None and self._holds_for_good(instant)
        if held:
            self._retire()
        done: tuple[str, ...] | RolledBack = super().rollback(instant)  # type: ignore[arg-type]  # as there
        if held:  # who has made it anew before may have seen what is undone
            self._refresh()
            self._retire()
        self._repair_metadata()
        return done

    rollback.__doc__ = Writing.rollback.__doc__

    def schedule_restore(self, instant: str) -> str | None:
        self._check_writable()
        self._refresh()
        self._retire()
        return super().schedule_restore(instant)

    schedule_restore.__doc__ = Writing.schedule_restore.__doc__

    def run_restore(self, instant: str) -> Restored:
        self._refresh()
        self._retire()
        done = super().run_restore(instant)
        self._refresh()
        self._retire()
        self._repair_metadata()
        return done

    run_restore.__doc__ = Writing.run_restore.__doc__

    # --- inside -----------------------------------------------------------------------------------
    def _build(
        self,
        wanted: Sequence[str],
        engine: str | Engine | None = None,
        source: Any = None,
        partitioned: bool | None = None,
        told: Callable[[int], None] = lambda repeated: None,
    ) -> None:
        """``partitioned``: the record index is to be of partition paths; None: as it is. ``told`` is given the
        number of keys that lie in more than one place."""

        def look() -> WriteTarget:
            return self._target(None, engine or self._engine, mend=False)

        if partitioned is None:
            partitioned = is_partitioned(self._storage)
        size = evolve(IndexSize.of(self._options, partitioned), told=told)
        if source is not None:
            size = evolve(size, source=resolve("index", source, self._settings).instance)
        self._config = build(self._storage, self._config, wanted, look, size)
        self._timeline = None

    def _begin_metadata(self) -> None:
        """Of a new table: make the metadata table that its properties ask for."""
        if RECORD_INDEX in building(self._config):
            partitioned = by_paths(self._config, self._options)
            define(self._storage, [RECORD_INDEX], (), partitioned)
        self._repair_metadata()

    def _repair_metadata(self) -> None:
        """Complete what was begun to be built, by whomever, and nobody is at."""
        self._refresh()
        begun = [p for p in building(self._config) if p in KEPT]
        if not begun or not self._with_metadata or not self._config.traits.writes_metadata:
            return
        timeline = self.timeline()
        living = Liveness(self._storage)
        if any(i.action == INDEXING and living.is_alive(i.requested) for i in timeline.pending()):
            return
        done = built(self._storage, timeline, begun)
        if done:
            columns = columns_of(self._schema(timeline), self._config, self._options)
            self._config = finish(self._storage, self._config, done, columns)
            self._timeline = None
        left = [p for p in begun if p not in done]
        if left:
            with suppress(CommitConflictError):  # another one is at it, or undoes something
                self._build(left)

    def _retire(self) -> None:
        """Nobody reads the metadata table until it has been made anew."""
        found = retire(self._storage, self._config)
        if found != self._config:
            self._config, self._timeline = found, None

    def _holds_for_good(self, instant: str) -> bool:
        """Whether base files of the metadata table hold rows of the completed ``instant``."""
        timeline = self.timeline()
        if timeline.find(instant) is None or not current_partitions(self._storage, timeline):
            return False
        return compact.holds(MetadataTable.open(self._storage, timeline), instant)

    def _metadata_compaction(self) -> Callable[[Timeline, Callable[[], Engine]], bool]:
        every = metadata_options.COMPACT_EVERY.read(self._options)

        def due(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
            partitions = current_partitions(self._storage, timeline)
            if not partitions:
                return False
            if compact.commits_since(MetadataTable.open(self._storage, timeline)) < every:
                return False
            return bool(compact.compact(self._storage, timeline, partitions, engine()))

        return due
