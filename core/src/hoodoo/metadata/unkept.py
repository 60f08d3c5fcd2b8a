"""Which partitions of a metadata table are kept, and what becomes of the others."""

from __future__ import annotations

from hoodoo.errors import CommitConflictError, warn
from hoodoo.metadata.layout import COLUMN_STATS, FILES, PARTITION_STATS, RECORD_INDEX
from hoodoo.metadata.table import BUILDING, FOLDER, LISTED, MetadataTable, names
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.timeline import Timeline

# The option, Hudi's, without which there is no metadata table.
ENABLED = "hoodie.metadata.enable"
KEPT = (FILES, COLUMN_STATS, RECORD_INDEX, PARTITION_STATS)
_VERSION = 9


def kept_partitions(storage: Storage, timeline: Timeline) -> tuple[str, ...]:
    """The partitions that whoever decides upon ``timeline`` has to keep: those that may be read, and those
    whose building is complete. Costs a listing for each partition that is being built."""
    config = timeline.config
    if config.version != _VERSION:
        return ()
    listed = config.metadata_partitions
    kept = [p for p in KEPT if p in listed]
    building = [p for p in names(config.get(BUILDING)) if p in KEPT and p not in listed]
    if building:
        kept += built(storage, timeline, building)
    return tuple(kept)


def built(storage: Storage, timeline: Timeline, partitions: list[str]) -> list[str]:
    """Those of ``partitions`` whose first base files are committed."""
    table = MetadataTable.open(storage, timeline)
    return [p for p in partitions if table.slices(p)]


def drop_unkept(storage: Storage, config: TableConfig, wanted: bool) -> TableConfig:
    """Take partitions that are not kept out of the properties, then their files; the properties as they are
    then. ``wanted``: whether there is to be a metadata table at all."""
    mine = KEPT if wanted and config.version == _VERSION else ()
    listed, building = config.metadata_partitions, names(config.get(BUILDING))
    left = [p for p in listed if p in mine] if FILES in listed else []
    if mine and FILES in building:
        left = [p for p in listed if p in mine]
    being = [p for p in building if p in mine]
    gone = [p for p in (*listed, *building) if p not in (*left, *being)]
    if gone:
        what = "is not kept by this version of Hoodoo and is" if wanted else "is not wanted and is"
        warn(
            f"table {config.name}: its metadata table ({', '.join(gone)}) {what} removed before the first "
            "write; `hoodoo rebuild-index`, or Hudi, makes it anew."
        )
        changes: dict[str, str | None] = {
            LISTED: ",".join(left) or None, BUILDING: ",".join(being) or None
        }  # fmt: skip
        try:
            config = properties.update(storage, config, changes)
        except CommitConflictError:  # another writer is at it, or has done it
            config = properties.load(storage)
            if set(config.metadata_partitions) - set(left):
                raise
    if not left and not being:
        if gone or storage.list(FOLDER):
            storage.delete_prefix(FOLDER)
        return config
    for partition in gone:
        storage.delete_prefix(f"{FOLDER}/{partition}")
    return config


def unlisted(config: TableConfig) -> TableConfig:
    """``config`` of a reader that does not want the metadata table."""
    kept = {k: v for k, v in config.properties.items() if k not in (LISTED, BUILDING)}
    return TableConfig(kept)
