"""Kept by: which partitions of the metadata table the writer of a commit kept, as the commit
says."""

from __future__ import annotations

from hoodoo.kernel.registry import kernel, same_plugin
from hoodoo.model.commit import Operation
from hoodoo.model.config import HUDI_INDEX, OWN_INDEX, TableConfig
from hoodoo.model.instant import Instant
from hoodoo.options.kinds import FLAG
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_metadata.partitions.record_index.index_reach import made_at
from hoodoo_metadata.table.layout import (
    GROWING_INDEX,
    INDEX_OF,
    RECORD_INDEX,
    VIRTUAL_INDEX,
    VIRTUAL_PATH_INDEX,
    is_own,
)
from hoodoo_metadata.table.metadata_table import FOLDER, mark_of

# In the extra metadata of a commit: those partitions of which it matters who kept them.
KEPT_BY = "hoodoo.metadata.kept"
# A property of the table: true, no record key was in two places when the record index was made, and
# Hoodoo has let none come since; others may have. False: one was, or came. Absent: Hoodoo did not
# make it.
UNIQUE = "hoodoo.record.keys.unique"
# The same of each record index. Where it is partitioned, a key may be once in each partition path.
UNIQUE_OF = {
    RECORD_INDEX: UNIQUE,
    GROWING_INDEX: "hoodoo.growing.keys.unique",
    VIRTUAL_INDEX: "hoodoo.virtual.keys.unique",
    VIRTUAL_PATH_INDEX: "hoodoo.virtual.path.keys.unique",
}
_MOVES_NO_KEY = (Operation.COMPACT, Operation.LOG_COMPACT)


def first_commit_not_indexed(snapshot: Snapshot, partition: str) -> Instant | None:
    """A commit since ``partition`` was made whose writer did not say that it kept it, or a restore;
    None if there is none. Reads the metadata of the active commits, once."""
    made = made_at(snapshot, partition) or ""
    for done in snapshot.completed() if is_own(partition) else ():
        # Hoodoo's own rebuilds all partitions.
        if done.traits.rewinds and order_key(done.completion_order) > made:
            return done
    for write in snapshot.writes():
        if order_key(write.completion_order) <= made:
            continue
        metadata = snapshot.metadata(write)
        kept = metadata.extra.get(KEPT_BY, "").split(",")
        if metadata.operation not in _MOVES_NO_KEY and partition not in kept:
            return write
    return None


def why_stale(snapshot: Snapshot, partition: str) -> str | None:
    """Why nobody may go by ``partition``, one of Hoodoo's own; None: it tells of all commits of
    ``timeline``.

    What others do to a table they do without it. Whoever keeps it in a commit has asked here
    before: so a commit that says that it kept it stands for all before it, too, those that are
    archived among them."""
    if snapshot.storage.head(f"{FOLDER}/{mark_of(partition)}") is None:
        return "its files were taken away"
    found = first_commit_not_indexed(snapshot, partition)
    if found is None:
        return None
    return f"{found.action} {found.requested} is of an engine that does not keep it"


def is_unique(config: TableConfig, partition: str) -> bool:
    """Whether no record key is in two places, as far as the index ``partition`` was told."""
    return FLAG.stored(config.get(UNIQUE_OF[partition]) or "")


def is_doubled(config: TableConfig, partition: str) -> bool:
    """Whether a record key has been in two places since the index ``partition`` was made: a global
    one has room for one."""
    found = config.get(UNIQUE_OF[partition])
    return found is not None and not FLAG.stored(found)


def is_refused(config: TableConfig, partition: str) -> bool:
    """Whether nobody may go by the global index ``partition``: keys have been in two places, and it
    is not the table's own index, which was proven when the table was switched to it. The index of a
    name that nobody offers is an object, which is the table's where it is given."""
    if not is_doubled(config, partition):
        return False
    hudis, own = config.get(HUDI_INDEX), config.get(OWN_INDEX)
    if hudis is None and own is not None and kernel().find("index", own) is None:
        return False
    noted = hudis or own
    return noted is None or not same_plugin("index", noted, INDEX_OF.get(partition, RECORD_INDEX))


def knows_all_places(snapshot: Snapshot, partition: str = RECORD_INDEX) -> bool:
    """Whether a record index names every place of a key: Hudi's tables may hold a key twice, and an
    entry has room for one place."""
    if not is_unique(snapshot.config, partition):
        return False
    if is_own(partition):
        return why_stale(snapshot, partition) is None
    return first_commit_not_indexed(snapshot, partition) is None
