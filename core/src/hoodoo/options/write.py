"""Options of writes, and of writers beside each other."""

from __future__ import annotations

from collections.abc import Mapping

from hoodoo.errors import OptionConflictError
from hoodoo.options.kinds import FLAG, Choice, Duration, PluginName, Whole
from hoodoo.options.option import Option

COMBINE = Option(
    "hoodie.combine.before.insert",
    "bulk_insert and append merge the duplicate keys of a batch.",
    "false",
    kind=FLAG,
)
DUPLICATES = Option(
    "hoodie.datasource.insert.dup.policy",
    "What insert does with keys that the table has: none (insert them again), drop or fail.",
    "none",
    kind=Choice("none", "drop", "fail"),
)
DROPS = Option(
    "hoodie.datasource.write.insert.drop.duplicates",
    "Insert drops rows of keys that the table has: an older way to say hoodie.datasource.insert.dup.policy=drop.",
    "false",
    kind=FLAG,
)
LAYOUT = Option(
    "hoodoo.layout",
    "The layout that finds places for inserts; by default the one that fills small files.",
    kind=PluginName("layout"),
)
SERIALIZER = Option(
    "hoodoo.serializer",
    "How rows are packed between tasks; by default as they lie in memory.",
    kind=PluginName("serializer"),
)
LOCK = Option(
    "hoodie.write.lock.provider",
    "The lock under which decisions about the table are made. By default none: needed beside other "
    "engines only.",
    kind=PluginName("lock"),
)
LOCK_WAIT = Option(
    "hoodie.write.lock.wait_time_ms",
    "Milliseconds that a writer waits for the lock.",
    "60000",
    kind=Duration("ms"),
)
REPEATS = Option(
    "hoodie.write.num.retries.on.conflict.failures",
    "How often a write is repeated that lost to another writer.",
    "20",
    kind=Whole(0),
)
CONFLICTS = Option(
    "hoodie.write.lock.conflict.resolution.strategy",
    "What counts as a conflict between two writes; by default file_groups, unless the mode of "
    "concurrency says another.",
    kind=PluginName("conflict"),
)

# Those of the plugins that core itself offers stand with their registrations.

# --- writes that meet a clustering ----------------------------------------------------------------
UPDATES = Option(
    "hoodie.clustering.updates.strategy",
    "What happens to writes into file groups of which a clustering is planned; by default they are refused.",
    kind=PluginName("clustering_updates"),
)
UNDONE = Option(
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict",
    "A write that may go first undoes the planned clustering that is in its way.",
    "false",
    kind=FLAG,
)

WRITE_OPTIONS: tuple[Option, ...] = (
    COMBINE,
    DUPLICATES,
    DROPS,
    LAYOUT,
    LOCK,
    LOCK_WAIT,
    REPEATS,
    CONFLICTS,
    UPDATES,
    UNDONE,
)


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
