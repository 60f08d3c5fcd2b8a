"""Drop: partitions of the metadata table go, for good, while writers go on.

Nobody reads them as soon as the properties say so; then their files go. Meanwhile a pending
indexing action says that somebody is at it, so that nobody rebuilds one of them whose files would
go with the old ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from hoodoo.errors import ConfigError, HoodooError
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties, publish
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.heartbeat import Beating
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import load, reload

from hoodoo_metadata.life.build import infos, refuse_another, request_indexing
from hoodoo_metadata.life.definitions import undefine
from hoodoo_metadata.life.partition_state import without
from hoodoo_metadata.life.wanted import own_partition, partition_of, stored_name
from hoodoo_metadata.partitions.known import folder_of, names
from hoodoo_metadata.partitions.secondary.rows import indexes_of_columns, secondaries
from hoodoo_metadata.partitions.secondary.rows import partition_of as secondary_of
from hoodoo_metadata.table.layout import (
    COLUMN_STATS,
    EXPRESSION,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
    is_expression,
    is_secondary,
)
from hoodoo_metadata.table.metadata_table import FOLDER, building, listed, mark_of


def partition_named(config: TableConfig, name: str, more: Iterable[str] = ()) -> str:
    """The partition that is called ``name``, or that stores the index of this name. ``more``: those
    that are defined. ConfigError for none."""
    there = {*indexes_of_columns(config), *listed(config), *building(config), *more}
    for partition in (name, secondary_of(name), f"{EXPRESSION}{name}"):
        if (is_secondary(partition) or is_expression(partition)) and partition in there:
            return partition
    index = stored_name(name)
    partition = folder_of(name) if index is None else partition_of(index, config)
    if partition not in names():
        raise ConfigError(
            f"metadata table partition {name!r}",
            f"is not one of {', '.join(names())}",
            "name one of these.",
        )
    return partition


def droppable(config: TableConfig, wanted: Iterable[str], more: Collection[str] = ()) -> list[str]:
    """Those of ``wanted`` that there are, with those that are nothing without them, and those of a
    column of which a note or a definition alone is left; ``more``: all definitions. ConfigError for
    one that has to stay."""
    found: list[str] = []
    wanted = list(wanted)
    there = (*listed(config), *building(config))
    for partition in wanted:
        if partition == FILES and any(p != FILES for p in there):
            raise ConfigError(
                f"partition {FILES} of the metadata table of {config.name}",
                "is needed by the others.",
                "Drop these, or the whole metadata table: write with hoodie.metadata.enable=false.",
            )
        if partition == own_partition(config):
            raise ConfigError(
                f"partition {partition} of the metadata table of {config.name}",
                "holds the table's own index.",
                "Give the table another one first: table.switch_index('global_simple'), or hoodoo "
                "switch-index.",
            )
        others = [p for p in secondaries(config) if p in there and p not in wanted]
        if partition == RECORD_INDEX and others:
            raise ConfigError(
                f"partition {partition} of the metadata table of {config.name}",
                f"is needed by {', '.join(others)}.",
                "Drop these first.",
            )
        found.append(partition)
        if partition == COLUMN_STATS:  # Hudi keeps the one only beside the other
            found.append(PARTITION_STATS)
    lost = {p for p in more if is_secondary(p) or is_expression(p)}
    return [p for p in dict.fromkeys(found) if p in there or p in lost]


def drop(storage: Storage, config: TableConfig, gone: Sequence[str]) -> TableConfig:
    """Take the partitions ``gone`` out of the properties, then delete their files; the properties
    as they are then. CommitConflictError while somebody makes or drops partitions."""
    timeline = load(storage, config)
    refuse_another(Snapshot(storage, timeline))
    plan = codec_avro.encode("HoodieIndexPlan", {"indexPartitionInfos": infos(gone, timeline)})
    with Beating(storage) as beats:
        mine = request_indexing(Snapshot(storage, timeline), plan, beats)
        try:
            refuse_another(Snapshot(storage, reload(storage, timeline)), mine)
            # Spark Hudi fails on queries by an expression that is defined and has no partition.
            undefine(storage, [p for p in gone if is_expression(p)])
            config = properties.update(storage, config, lambda now: without(now, gone))
            undefine(storage, gone)
            for partition in gone:
                storage.delete(f"{FOLDER}/{mark_of(partition)}")
                storage.delete_prefix(f"{FOLDER}/{partition}")
            if not listed(config) and not building(config):
                storage.delete_prefix(FOLDER)
        finally:
            with suppress(HoodooError):
                publish.withdraw(Snapshot(storage, timeline), mine)
    return config
