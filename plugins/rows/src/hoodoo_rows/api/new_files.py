"""What tasks say of the files that they have made, and what names and parts they give."""

from __future__ import annotations

from typing import TypeAlias

from hoodoo_rows import of_table
from hoodoo_rows.merge import virtual
from hoodoo_rows.produce import key_changes as changes
from hoodoo_rows.produce import slice_keys, slots, stats
from hoodoo_rows.write import target


class NewFiles:
    """Files that tasks make. A :class:`~hoodoo_rows.produce.pending.Pending` puts them; rows of
    ``STATS`` report them, or rows of ``WRITTEN``, which report their keys, too. ``uuid`` and
    ``part_of`` answer the same whenever a task runs again."""

    STATS = stats.STATS_SCHEMA
    stats_batch = staticmethod(stats.stats_batch)
    stats_batches = staticmethod(stats.stats_batches)
    read_stats = staticmethod(stats.read_stats)
    WRITTEN = changes.WRITTEN
    stat_of = staticmethod(changes.stat_of)
    OnlyKeys = changes.OnlyKeys
    key_changes = staticmethod(slice_keys.key_changes)
    uuid = staticmethod(slots.new_uuid)
    part_of = staticmethod(slots.part_of)
    # Log files: how a table writes them, and record keys as their delete blocks have them.
    LogSettings: TypeAlias = target.LogSettings
    log_settings = staticmethod(of_table.log_settings)
    delete_block_keys = staticmethod(virtual.delete_block_keys)
