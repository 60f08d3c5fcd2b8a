"""Options of writes, and of writers beside each other."""

from __future__ import annotations

from collections.abc import Mapping

from hoodoo.errors import OptionConflictError
from hoodoo.options.kinds import FLAG, Choice, Duration, PluginName, Size, Whole
from hoodoo.options.option import Option

COMBINE = Option(
    "hoodie.combine.before.insert",
    "true: bulk_insert and append merge rows of one batch that have the same key.",
    "false",
    kind=FLAG,
)
DUPLICATES = Option(
    "hoodie.datasource.insert.dup.policy",
    "What insert does with keys that are already in the table: none (insert them again), drop or "
    "fail.",
    "none",
    kind=Choice("none", "drop", "fail"),
)
DROPS = Option(
    "hoodie.datasource.write.insert.drop.duplicates",
    "Insert drops rows whose keys are already in the table: the older form of "
    "hoodie.datasource.insert.dup.policy=drop.",
    "false",
    kind=FLAG,
)
OVERWRITES = Option(
    "hoodie.datasource.overwrite.mode",
    "What an overwrite replaces that names no partition: all, or the paths of rows (dynamic).",
    "static",
    kind=Choice("static", "dynamic"),
)
LAYOUT = Option(
    "hoodoo.layout",
    "The layout that chooses file groups for inserts; by default, inserts fill small files first.",
    kind=PluginName("layout"),
)
SERIALIZER = Option(
    "hoodoo.serializer",
    "The format of rows that are sent between tasks; by default Arrow's format in memory.",
    kind=PluginName("serializer"),
)
MEMORY = Option(
    "hoodoo.memory.bytes",
    "Bytes that a task takes for rows, open files and sorts; beyond it rows wait on local disk. By "
    "default a part of "
    "what the machine, the container or the executor has for each task, at most 1 GiB.",
    kind=Size(1 << 20),
)
LOCK = Option(
    "hoodie.write.lock.provider",
    "The lock that is held while commits are decided. By default none: it is needed only if other "
    "engines write to the table too.",
    kind=PluginName("lock"),
)
LOCK_WAIT = Option(
    "hoodie.write.lock.wait_time_ms",
    "How many milliseconds a writer waits for the lock.",
    "60000",
    kind=Duration("ms"),
)
REPEATS = Option(
    "hoodie.write.num.retries.on.conflict.failures",
    "How often a write is repeated after a conflict with another writer.",
    "20",
    kind=Whole(0),
)
CONFLICTS = Option(
    "hoodie.write.lock.conflict.resolution.strategy",
    "Which two writes conflict; by default file_groups, unless hoodie.write.concurrency.mode "
    "chooses another strategy.",
    kind=PluginName("conflict"),
)

# Those of the plugins that core itself offers stand with their registrations.

# --- writes that meet a clustering ----------------------------------------------------------------
UPDATES = Option(
    "hoodie.clustering.updates.strategy",
    "What happens to writes into file groups of a planned clustering; by default they are refused.",
    kind=PluginName("clustering_updates"),
)
UNDONE = Option(
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict",
    "A write that has priority over a planned clustering cancels it.",
    "false",
    kind=FLAG,
)

_OF_ROWS: tuple[Option, ...] = (COMBINE, DUPLICATES, DROPS, OVERWRITES, LAYOUT, MEMORY)
_OF_WRITERS: tuple[Option, ...] = (LOCK, LOCK_WAIT, REPEATS, CONFLICTS, UPDATES, UNDONE)
WRITE_OPTIONS: tuple[Option, ...] = (*_OF_ROWS, *_OF_WRITERS)


def duplicates(options: Mapping[str, str]) -> str:
    """What an insert does with keys that the table has, by either option."""
    said = DUPLICATES.read(options)
    if not DROPS.read(options) or said == "drop":
        return said
    if DUPLICATES.is_in(options):
        raise OptionConflictError(
            f"option {DROPS.key}=true", f"contradicts {DUPLICATES.key}={said}.", "say one of them."
        )
    return "drop"
