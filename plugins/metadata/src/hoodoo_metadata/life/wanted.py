"""Wanted: which partitions of the metadata table a table is to get, of those that it can have."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import frozen
from hoodoo.errors import ConfigError, UnsupportedTableError
from hoodoo.hookspecs.participant import RebuildRequest
from hoodoo.kernel.registry import kernel
from hoodoo.model.config import OWN_INDEX, TableConfig
from hoodoo.timeline.layouts import layout_of

from hoodoo_metadata import options as options_of
from hoodoo_metadata.life.definitions import is_partitioned
from hoodoo_metadata.life.kept_by import is_unique
from hoodoo_metadata.partitions.known import folder_of, has_ranges, is_possible, names
from hoodoo_metadata.partitions.record_index.growing import Growing
from hoodoo_metadata.partitions.record_index.size import IndexSize
from hoodoo_metadata.partitions.secondary.rows import indexes_of_columns, secondaries
from hoodoo_metadata.partitions.secondary.rows import partition_of as secondary_of
from hoodoo_metadata.table.layout import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    EXPRESSION,
    FILES,
    GROWING,
    GROWING_INDEX,
    INDEX_OF,
    PARTITION_STATS,
    PARTITIONED,
    RECORD_INDEX,
    STORED,
    STORED_OF_VIRTUAL,
    VIRTUAL_INDEX,
    VIRTUAL_PATH_INDEX,
    is_own,
)
from hoodoo_metadata.table.metadata_table import OWN_BUILDING, building, listed, told_as


def partition_of(index: str, config: TableConfig) -> str:
    """The partition of the table with the properties ``config`` that holds ``index``, one of
    STORED, when it is made."""
    return (STORED if config.populate_meta_fields else STORED_OF_VIRTUAL)[index]


def with_metadata(config: TableConfig, options: Mapping[str, str]) -> TableConfig:
    """The properties of a new table, with the metadata table that the options or its index ask for
    as one that is to be built. Raises ConfigError, UnsupportedTableError where it can't have
    one."""
    growing = _index_of(config) == GROWING
    asked = options_of.KEYS.read(options) or options_of.PATH_KEYS.read(options)
    keys = asked or _index_of(config) not in (None, GROWING)
    own = [GROWING_INDEX] if growing else []
    if growing:
        refuse_impossible(config, GROWING_INDEX, GROWING)
        Growing.of(config)
        config = TableConfig({**config.properties, OWN_BUILDING: GROWING_INDEX})
    enabled = options_of.ENABLED.given(options)
    if not (keys if enabled is None else enabled):
        if keys or (growing and enabled is False):
            raise ConfigError(
                f"option {options_of.ENABLED.key}=false",
                "contradicts a record index, which lies in the metadata table.",
                "leave it out.",
            )
        return config
    partitioned = by_paths(config, options)
    if partitioned and not config.partition_fields:
        raise ConfigError(
            f"option {options_of.PATH_KEYS.key}",
            "is for tables with partitions, and this one has none.",
            "use the global record index: index='record_index'.",
        )
    if partitioned:
        refuse_partitioned(config)
    if keys:
        refuse_impossible(config, partition_of(RECORD_INDEX, config), RECORD_INDEX)
    IndexSize.of(options, partitioned)
    ranges = options_of.RANGES.read(options)
    wanted = [FILES]
    wanted += [COLUMN_STATS] if ranges else []
    wanted += [partition_of(PARTITIONED if partitioned else RECORD_INDEX, config)] if keys else []
    wanted += [PARTITION_STATS] if ranges and config.partition_fields else []
    if options_of.FILTERS.read(options):
        _refuse_virtual_filters(config)
        wanted.append(BLOOM_FILTERS)
    wanted = [p for p in wanted if is_possible(config, p)]
    begun = {k: v for k, v in told_as((), (*wanted, *own)).items() if v is not None}
    return TableConfig({**config.properties, **begun})


def by_paths(config: TableConfig, options: Mapping[str, str]) -> bool:
    """Whether the record index that a new table asks for is partitioned."""
    return _index_of(config) == PARTITIONED or options_of.PATH_KEYS.read(options)


def own_partition(config: TableConfig) -> str | None:
    """The partition that holds the table's own index, if one does."""
    index = _index_of(config)
    return None if index is None else partition_of(index, config)


def _index_of(config: TableConfig) -> str | None:
    """Which record index the table's own index is, if it is one."""
    named = (config.get(OWN_INDEX) or "").lower()
    return named if named in STORED else None


def _refuse_virtual_filters(config: TableConfig) -> None:
    if not config.populate_meta_fields:
        raise ConfigError(
            f"table {config.name}",
            "has virtual keys: no record key is stored, nor is there a bloom filter of one.",
            "Leave bloom_filters out, or make the keys stored ones "
            "(table.rewrite_keys(virtual=False)).",
        )


def refuse_partitioned(config: TableConfig) -> None:
    """Raises UnsupportedTableError where tables like this one have no record index of partition
    paths."""
    if layout_of(config).log_names_slice:
        raise UnsupportedTableError(
            f"table {config.name} of version {config.version}: {PARTITIONED}",
            "is for tables of version 9: Hudi 0.15 would take its file groups for those of a "
            "global index.",
            'Use index="record_index", or table_version=9.',
        )


def refuse_impossible(config: TableConfig, partition: str, what: str) -> None:
    """Raises UnsupportedTableError where tables like this one have no such partition."""
    if partition in (COLUMN_STATS, PARTITION_STATS) and not has_ranges(config):
        raise UnsupportedTableError(
            f"table {config.name}: {what}",
            f"is not stored of base files of the format {config.base_file_format}.",
            "Leave it out: partition paths and record keys prune reads.",
        )
    if not is_possible(config, partition):
        raise UnsupportedTableError(
            f"table {config.name} of version {config.version}: {what}",
            f"lies in the metadata partition {partition}, which tables of this version do not "
            "have.",
            'Use table_version=9, or another index, such as index="simple".'
            if partition in (VIRTUAL_INDEX, VIRTUAL_PATH_INDEX)
            else 'Use table_version=9, or index="record_index".',
        )


def stored_name(name: str) -> str | None:
    """The name of the index that is stored here and is called ``name``, by whatever name; None if
    it is none."""
    if name in INDEX_OF:
        return INDEX_OF[name]
    offer = kernel().find("index", name)
    found = name if offer is None else offer.name
    return found if found in STORED else None


@frozen
class Wanted:
    """``partitions`` are to be made, and with them ``index``, if it is global. ``partitioned``: the
    record index is to be of partition paths; None: as it is. ``partition``: the one that was asked
    for by name."""

    partitions: tuple[str, ...]
    index: str | None = None
    partitioned: bool | None = None
    partition: str | None = None

    @classmethod
    def of(cls, request: RebuildRequest) -> Wanted:
        """What ``request`` asks for. Raises ConfigError, UnsupportedTableError for what can't be
        made."""
        config, name = request.config, request.name
        there = {*listed(config), *building(config)}
        if name is None:
            every = (*names(), *indexes_of_columns(config))
            found = (p for p in every if p in there or p == FILES)
            return cls(tuple(p for p in found if is_possible(config, p)))
        for of_column in (name, secondary_of(name), f"{EXPRESSION}{name}"):
            if of_column in indexes_of_columns(config):
                return cls((of_column,), partition=of_column)
        index = stored_name(name)
        partition = folder_of(name) if index is None else partition_of(index, config)
        if partition == BLOOM_FILTERS:
            _refuse_virtual_filters(config)
        if partition not in names():
            raise ConfigError(
                f"metadata table partition {name!r}",
                f"is not one of {', '.join((*names(), PARTITIONED, GROWING))}",
                "name one of these.",
            )
        refuse_impossible(config, partition, name)
        if index == PARTITIONED:
            refuse_partitioned(config)
        if partition == VIRTUAL_INDEX and _by_name(request, there):
            partition = VIRTUAL_PATH_INDEX
        if partition == VIRTUAL_PATH_INDEX:
            _refuse_flat(config)
            return cls((partition,), None, True, partition)
        if is_own(partition):
            return cls((partition,), index, False, partition=partition)
        partitioned: bool | None = None
        if partition == RECORD_INDEX:
            partitioned = _kind(request, index == PARTITIONED, partition in there)
        made = RECORD_INDEX if partition == RECORD_INDEX and not partitioned else None
        if partition == FILES or FILES not in config.metadata_partitions:
            found = (p for p in names() if p in there or p in (FILES, partition))
            wanted = tuple(p for p in found if is_possible(config, p))
            return cls(wanted, made, partitioned, partition)
        more = _of_values(request, there) if made else ()
        return cls((partition, *more), made, partitioned, partition)


def _of_values(request: RebuildRequest, there: Collection[str]) -> tuple[str, ...]:
    """The secondary indexes that are made again with a global record index: where keys have been in
    two places, they lack entries, and nobody went by them until now."""
    config = request.config
    if is_unique(config, RECORD_INDEX) and not is_partitioned(request.storage, config=config):
        return ()
    return tuple(p for p in secondaries(config) if p in there)


def _kind(request: RebuildRequest, partitioned: bool, there: bool) -> bool:
    """Whether the record index that is asked for is of partition paths. The name of the partition
    stands for whichever kind is there."""
    is_so = there and is_partitioned(request.storage)
    if request.name == RECORD_INDEX and there and not request.is_index:
        return is_so
    if partitioned:
        _refuse_flat(request.config)
    own = request.own_index
    if there and is_so != partitioned and own in (RECORD_INDEX, PARTITIONED):
        raise ConfigError(
            f"index {request.name}",
            f"would take the place of the table's, {own}.",
            f"Use table.switch_index({request.name!r}), or hoodoo switch-index: it makes the one "
            "of the other.",
        )
    return partitioned


def _by_name(request: RebuildRequest, there: Collection[str]) -> bool:
    """Of virtual keys: whether the index of partition paths is what the name of Hudi's partition
    stands for, as it is the one that is there."""
    named = request.name == RECORD_INDEX and not request.is_index
    return named and VIRTUAL_PATH_INDEX in there and VIRTUAL_INDEX not in there


def _refuse_flat(config: TableConfig) -> None:
    if not config.partition_fields:
        raise ConfigError(
            f"index {PARTITIONED}",
            "is for tables with partitions, and this one has none.",
            "Use the global one: record_index.",
        )
