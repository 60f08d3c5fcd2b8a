"""Every family, and what its plugins make that answers in their place: one table of rules.

Each public member of a Protocol in :mod:`hoodoo.hookspecs` has a rule here; a test compares them.
"""

from __future__ import annotations

from typing import Any

from hoodoo.kernel.answers import (
    change_logs,
    clustering,
    engines,
    file_formats,
    indexes,
    keys,
    log_blocks,
    merging,
    participants,
    planning,
    querying,
    serializing,
    stores,
)
from hoodoo.kernel.answers.seam import Checked, Kind, may_travel, wrapped
from hoodoo.kernel.answers.wrong import Who

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        stores.STORAGE,
        engines.ENGINE,
        engines.SIDE,
        engines.METER,
        keys.KEY_GENERATOR,
        merging.MERGER,
        indexes.INDEX,
        keys.INDEX_HASH,
        planning.LAYOUT,
        serializing.SERIALIZER,
        serializing.BOUND,
        file_formats.FILE_FORMAT,
        file_formats.READER,
        file_formats.MEMBERSHIP_FILTER,
        file_formats.WRITER,
        log_blocks.LOG_BLOCK,
        change_logs.FORMAT,
        change_logs.LOG,
        planning.CONFLICT,
        stores.LOCK,
        stores.HELD,
        participants.PARTICIPANT,
        participants.PARTICIPATION,
        participants.METADATA_PARTITION,
        participants.PRUNER,
        querying.QUERY_TYPE,
        querying.QUERY_PLAN,
        querying.UNIT_READER,
        planning.ACTION,
        planning.ARCHIVED_TIMELINE,
        planning.COMPACTION,
        clustering.PLAN,
        clustering.ORDER,
        clustering.UPDATES,
        planning.CLEANING,
        Kind("report", methods={"report": None}),  # whatever it is called for
    )
}
# A store may be one that this process alone can see; it is no fault until a worker needs it.
_STAYS = frozenset({"storage"})


def checked(family: str, obj: Any, who: Who) -> Any:
    """``obj``, a plugin of ``family``, behind the seam. PluginError if workers need it and it can't travel."""
    if isinstance(obj, Checked):
        return obj
    kind = KINDS[family]
    if kind.travels and family not in _STAYS:
        may_travel(obj, who)
    return wrapped(kind, obj, who)
