"""Which partitions of a metadata table are kept, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hoodoo.errors import CommitConflictError, warn
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_metadata.life.beginnings import is_beginning
from hoodoo_metadata.life.definitions import undefine
from hoodoo_metadata.life.kept_by import UNIQUE_OF, why_stale
from hoodoo_metadata.partitions.known import is_possible, names, of_keys
from hoodoo_metadata.partitions.record_index.index_reach import made_noted
from hoodoo_metadata.partitions.secondary.rows import KEPT, indexes_of_columns, noted
from hoodoo_metadata.table.layout import EXPRESSION, FILES, OWN_INDEXES, is_own, is_secondary
from hoodoo_metadata.table.metadata_table import (
    FOLDER,
    OWN_MADE,
    MetadataTable,
    building,
    has_files,
    listed,
    mark_of,
    told_as,
)


def current_partitions(snapshot: Snapshot) -> tuple[str, ...]:
    """The partitions that whoever decides upon ``timeline`` has to keep: those that may be read,
    and those whose building is complete. Costs a listing for each partition that is being built."""
    config = snapshot.config
    ready, mine = listed(config), keepable(config)
    # Others have written without these: a commit that said that it updated them would hide that.
    stale = {p for p in OWN_INDEXES if p in ready and why_stale(snapshot, p) is not None}
    kept = [p for p in mine if p in ready and p not in stale]
    begun = [p for p in building(config) if p in mine and p not in ready]
    if begun:
        kept += built(snapshot, begun)
    return tuple(kept)


def keepable(config: TableConfig) -> tuple[str, ...]:
    """The partitions that Hoodoo keeps of a table. Spark Hudi leaves Hudi's record index of virtual
    keys empty."""
    every = [p for p in (*names(), *indexes_of_columns(config)) if is_possible(config, p)]
    if config.populate_meta_fields:
        return tuple(every)
    every = [p for p in every if not is_secondary(p)]
    return tuple(p for p in every if p not in of_keys())


def built(snapshot: Snapshot, partitions: Sequence[str]) -> list[str]:
    """Those of ``partitions`` whose first base files are committed, and that nobody has begun to
    wipe. Where ``files`` is still to be made, all are rebuilt with it."""
    table = MetadataTable.open(snapshot.storage, snapshot.timeline)
    found = [p for p in partitions if table.storage.head(mark_of(p)) is not None]
    found = [p for p in found if any(map(_has_begun, table.slices(p)))]
    whole = FILES in found or FILES not in partitions
    return found if whole else []


def is_in_use(snapshot: Snapshot) -> bool:
    """Whether partitions are listed, or are complete and still to be listed."""
    begun = building(snapshot.config)
    return bool(listed(snapshot.config) or (begun and built(snapshot, begun)))


def _has_begun(slice_: FileSlice) -> bool:
    """Whether what it began with counts. Log files of what was caught up with count before."""
    begun = any(is_beginning(log.instant) for log in slice_.log_files)
    return slice_.base_file is not None or begun


def unbuilt(snapshot: Snapshot) -> list[str]:
    """Partitions that the properties call readable, and of which nothing is committed: a build that
    died has wiped them, and somebody has listed them since; or all of their files were lost. A
    partition that has its mark, while no build of it is left, was complete: what lacks there is
    damage."""
    storage, config = snapshot.storage, properties.load(snapshot.storage)
    table = MetadataTable.open(storage, snapshot.timeline)
    return [
        partition
        for partition in listed(config)
        if (table.begun or _lost_mark(storage, partition))
        and not any(map(_has_begun, table.slices(partition)))
    ]


def warn_unbuilt(snapshot: Snapshot, partitions: Collection[str]) -> None:
    warn(
        f"table {snapshot.config.name}: {', '.join(partitions)} of its metadata table can't be "
        "used: the build ended before it was complete, or the files are lost. The next write "
        "rebuilds it; `hoodoo rebuild-index` rebuilds it now."
    )


def half_retired(storage: Storage, config: TableConfig) -> list[str]:
    """Partitions that the properties still call readable, where whoever retired them ended between
    the marks and the properties. Only Hoodoo's own, which nobody goes by without its mark, tell
    that: its files are still there then; of another engine, which knows no marks, they go all."""
    ready = listed(config)
    if not any(
        _lost_mark(storage, p) and storage.list(f"{FOLDER}/{p}") for p in filter(is_own, ready)
    ):
        return []
    return [p for p in ready if _lost_mark(storage, p)]


def _lost_mark(storage: Storage, partition: str) -> bool:
    # Read, not looked at: a store that recalls looks asks it with the others.
    try:
        storage.get(f"{FOLDER}/{mark_of(partition)}")
    except FileNotFoundError:
        return True
    return False


def drop_stale_partitions(storage: Storage, config: TableConfig, wanted: bool) -> TableConfig:
    """Take partitions that are not kept out of the properties, then their files; the properties as
    they are then. ``wanted``: whether there is to be a metadata table at all."""
    left, being = _left(config, wanted)
    gone = [p for p in (*listed(config), *building(config)) if p not in (*left, *being)]
    if gone:
        what = "is not kept by this version of Hoodoo and is" if wanted else "is not wanted and is"
        warn(
            f"table {config.name}: its metadata table ({', '.join(gone)}) {what} removed before "
            "the first "
            "write; `hoodoo rebuild-index`, or Hudi, rebuilds it."
        )
        try:
            config = properties.update(storage, config, lambda now: told_as(*_left(now, wanted)))
        except CommitConflictError:  # another writer is at it, or has done it
            config = properties.load(storage)
            if set(listed(config)) - set(left):
                raise
        left, being = _left(config, wanted)
        gone = [p for p in gone if p not in (*left, *being)]
        # Spark Hudi makes a secondary index again by its definition. An expression index it makes
        # not, and fails where a query would use one that is defined.
        undefine(storage, [p for p in gone if p.startswith(EXPRESSION)])
    if not left and not being:
        if gone or has_files(storage):
            # Who makes one says so before there are files: ``config`` may be older than that.
            now = properties.load(storage)
            if listed(now) or building(now):
                return config
            storage.delete_prefix(FOLDER)
        return config
    for partition in gone:
        storage.delete_prefix(f"{FOLDER}/{partition}")
    return config


def _left(config: TableConfig, wanted: bool) -> tuple[list[str], list[str]]:
    """The partitions that stay: those that may be read, and those that are being built."""
    mine = keepable(config) if wanted else ()
    ready, begun = listed(config), building(config)
    # Without `files` the others of Hudi's are no use.
    whole = FILES in ready or (bool(mine) and FILES in begun)
    left = [p for p in ready if p in mine and (whole or is_own(p))]
    return left, [p for p in begun if p in mine]


def without(config: TableConfig, gone: Collection[str]) -> dict[str, str | None]:
    """The changes of properties that leave the partitions ``gone`` out."""
    ready, begun = (
        [p for p in found if p not in gone] for found in (listed(config), building(config))
    )
    made = ",".join(f"{p}:{w}" for p, w in sorted(made_noted(config).items()) if p not in gone)
    unique = {key: None for partition, key in UNIQUE_OF.items() if partition in gone}
    before = indexes_of_columns(config)
    found = {p: column for p, column in before.items() if p not in gone}
    kept = {} if found == before else {KEPT: noted(found)}
    return {**told_as(ready, begun), OWN_MADE: made or None, **unique, **kept}
