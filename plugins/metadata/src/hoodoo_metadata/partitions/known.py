"""Known: all partitions that can be kept, by name: those of Hudi, Hoodoo's own, and those that
others offer."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import make
from hoodoo.model.config import TableConfig
from hoodoo.options.table import BASE_FORMAT
from hoodoo.timeline.layouts import layout_of

from hoodoo_metadata.partitions.api import Partition
from hoodoo_metadata.partitions.bloom.partition import BloomFiltersPartition
from hoodoo_metadata.partitions.column_stats.partition import RangesPartition
from hoodoo_metadata.partitions.expression.partition import ExpressionPartition
from hoodoo_metadata.partitions.files.partition import FilesPartition
from hoodoo_metadata.partitions.record_index.growing_partition import GrowingIndexPartition
from hoodoo_metadata.partitions.record_index.partition import RecordIndexPartition
from hoodoo_metadata.partitions.registered import RegisteredPartition
from hoodoo_metadata.partitions.secondary.partition import SecondaryPartition
from hoodoo_metadata.partitions.secondary.rows import indexes_of_columns
from hoodoo_metadata.table.layout import (
    COLUMN_STATS,
    OWN_PREFIX,
    PARTITION_STATS,
    VIRTUAL_INDEXES,
    is_expression,
    is_own,
    is_secondary,
)

_FAMILY = "metadata_partition"
_BUILT_IN: tuple[Partition, ...] = (
    FilesPartition(),
    RangesPartition(COLUMN_STATS),
    RecordIndexPartition(),
    RangesPartition(PARTITION_STATS),
    BloomFiltersPartition(),
    GrowingIndexPartition(),
    *map(RecordIndexPartition, VIRTUAL_INDEXES),
)


def folder_of(name: str) -> str:
    """The folder of the partition that is called ``name``: one that others offer is Hoodoo's
    own."""
    offer = kernel().find(_FAMILY, name)
    return name if offer is None else OWN_PREFIX + offer.name.removeprefix(OWN_PREFIX)


def names() -> tuple[str, ...]:
    """The folders of all of them, in the order in which they are made."""
    return (
        *(partition.name for partition in _BUILT_IN),
        *(folder_of(offer.name) for offer in kernel().offers(_FAMILY)),
    )


def is_possible(config: TableConfig, partition: str) -> bool:
    """Whether tables like this one have such a partition: Hudi 0.15 knows of no
    ``partition_stats``, and what is Hoodoo's own is for log files that are named by their
    instant. Some formats of base files have no ranges of columns."""
    if partition in (COLUMN_STATS, PARTITION_STATS) and not has_ranges(config):
        return False
    if not layout_of(config).log_names_slice:
        return True
    if is_secondary(partition) or is_expression(partition):
        return False
    return partition != PARTITION_STATS and not is_own(partition)


def has_ranges(config: TableConfig) -> bool:
    """Whether ranges of the columns of such base files are stored, and gone by."""
    # Each write asks, by few calls: the usual format is not made for that.
    name = config.properties.get(BASE_FORMAT.key, "PARQUET")
    if name == "PARQUET":
        return True
    offer = kernel().find("file_format", name)
    made = offer and make(offer, Settings(TableConfig()))
    return getattr(made, "column_stats", True) is not False


def is_kept(config: TableConfig, partition: str) -> bool:
    """Whether there is such a partition, of all tables or as a secondary index of this one."""
    return partition in names() or partition in indexes_of_columns(config)


def known() -> dict[str, Partition]:
    """All of them by folder. PluginError for one that fails to be made."""
    found: dict[str, Partition] = {partition.name: partition for partition in _BUILT_IN}
    for offer in kernel().offers(_FAMILY):
        name = folder_of(offer.name)
        found[name] = RegisteredPartition(name, make(offer, Settings(TableConfig())))
    return found


def chosen(names: Iterable[str]) -> list[Partition]:
    """Those of ``names``, in that order."""
    there = known()
    return [
        SecondaryPartition(n)
        if is_secondary(n)
        else ExpressionPartition(n)
        if is_expression(n)
        else there[n]
        for n in names
    ]


def of_keys() -> frozenset[str]:
    """The folders of those that are made of record keys, which have to be stored."""
    return frozenset(name for name, partition in known().items() if partition.stored_keys)
