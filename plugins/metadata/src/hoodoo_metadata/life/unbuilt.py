"""Unbuilt: partitions of the metadata table that the properties call readable, and that nobody has
completed, whoever has listed them. Writers go around them until they are rebuilt."""

from __future__ import annotations

from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_metadata.life.build import finish_retiring
from hoodoo_metadata.life.partition_state import unbuilt, warn_unbuilt


def retire_unbuilt(snapshot: Snapshot) -> list[str]:
    """Partitions that the properties call readable, and that nobody has completed, wait for being
    rebuilt from here on, which the next write does; those. None while somebody builds."""
    living = Liveness(snapshot.storage)
    now = snapshot.reload()
    if any(i.action == INDEXING and living.is_alive(i.requested) for i in now.pending()):
        return []
    if lacking := unbuilt(now):
        warn_unbuilt(snapshot, lacking)
        finish_retiring(snapshot.storage, snapshot.config, lacking)
    return lacking
