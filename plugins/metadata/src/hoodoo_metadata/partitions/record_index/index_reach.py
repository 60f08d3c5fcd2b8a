"""Index reach: whether the record index tells where the keys of the table were at an older moment.

It is made of one look at the table, and from then on gets what each commit changes. So it knows
nothing of what was before it was made: a key that was deleted, clustered or moved until then lies
elsewhere in it, or is not in it at all."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_metadata.life.beginnings import is_beginning
from hoodoo_metadata.table.layout import RECORD_INDEX
from hoodoo_metadata.table.metadata_table import OWN_MADE, MetadataTable, listed


def made_at(snapshot: Snapshot, partition: str) -> str | None:
    """The completion of the newest indexing action on ``timeline`` that made ``partition`` of the
    metadata table (in version 6: the instant up to which it was made of all), as
    :func:`~hoodoo.timeline.instants.order_key` has it; None where there is none. Reads the indexing
    actions; of Hoodoo's own partitions the properties say it."""
    made = made_noted(snapshot.config).get(partition)
    made = made or newest_made(snapshot, partition)
    return None if made is None else order_key(made)


def newest_made(snapshot: Snapshot, partition: str) -> str | None:
    """The same by the timeline alone, as it stands there."""
    made: list[str] = []
    for instant in snapshot.completed():
        if instant.action != INDEXING:
            continue
        infos = _infos(snapshot.contents(instant))
        mine = [info for info in infos if info.get("metadataPartitionPath") == partition]
        if snapshot.layout.names_completion:
            made += [instant.completion_order for _ in mine]
        else:  # nothing says when it completed, but what it was made of
            made += [str(info.get("indexUptoInstant") or "0" * 17) for info in mine]
    return max(made, key=order_key, default=None)


def made_noted(config: TableConfig) -> dict[str, str]:
    """Own partition -> the completion of the indexing action that made it."""
    pairs = (text.rpartition(":") for text in (config.get(OWN_MADE) or "").split(","))
    return {partition.strip(): when for partition, _colon, when in pairs if partition}


def describes(snapshot: Snapshot, bound: str, partition: str = RECORD_INDEX) -> bool:
    """Whether a record index as of the requested time ``bound`` holds the keys that the table had
    then.

    It does where it was complete by then: all commits that it was made of were requested before,
    and of those that came later it holds what each said. Where the indexing action is archived,
    base files tell: those of a compaction are younger than the making. Files that were cleaned
    since tell nothing."""
    table = MetadataTable.open(snapshot.storage, snapshot.timeline)
    then = {slice_.file_id: slice_.base_file for slice_ in table.slices(partition, bound)}
    for group in table.file_view(partition).groups():
        # A group that came later, for a bucket that was full or a partition path that was new,
        # begins with log files; one that does not any more was cleaned.
        came_later = bool(group.slices) and group.slices[-1].base_file is None
        if then.get(group.file_id) is None and not came_later:
            return False
    bases = [base for base in then.values() if base is not None]
    made = made_at(snapshot, partition)
    if made is not None:
        return made <= order_key(bound)
    return bool(bases) and not any(is_beginning(base.instant) for base in bases)


def _infos(content: dict[str, object]) -> Iterable[dict[str, object]]:
    infos = content.get("indexPartitionInfos")
    return infos if isinstance(infos, list) else ()


def is_rebuilt(storage: Storage, seen: Timeline, now: Timeline, partition: str) -> bool:
    """Whether between two looks at the timeline an index was made, or ``partition`` was dropped or
    is being made."""
    made, before = ([i for i in look.instants if i.action == INDEXING] for look in (now, seen))
    return made != before or partition not in listed(properties.load(storage))
