"""What becomes true with an action: the rings of the partition paths whose buckets it rebuilds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from attrs import field, frozen
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.participant import ActionChange
from hoodoo.model.commit import Operation
from hoodoo.storage.together import together
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_hashing import stored
from hoodoo_hashing.pending import planned

_REPLACES = (
    Operation.INSERT_OVERWRITE,
    Operation.INSERT_OVERWRITE_TABLE,
    Operation.DELETE_PARTITION,
)


@frozen
class Rings:
    """Implements :class:`~hoodoo.hookspecs.participant.Participation`."""

    keys: bool = False
    noted: Mapping[str, str] = field(factory=dict)

    def begin(self, change: ActionChange) -> CoupledCommit | None:
        """The rings that count once the action is completed."""
        storage, timeline, instant = change.storage, change.timeline, change.instant.requested
        if change.operation is Operation.CLUSTER:
            for path, resize in planned(Snapshot(storage, timeline), change.instant).items():
                if not resize.knows:
                    continue
                now = stored.load(Snapshot(storage, timeline), path)
                if now is None or now.seq != resize.seq:
                    raise CommitConflictError(
                        f"clustering {instant}",
                        f"the buckets of partition {path!r} are others since it was planned.",
                        "Cancel it (table.cancel_clustering) and plan another one.",
                    )
                stored.save(storage, now.resized(instant, resize.children))
        elif change.operation in _REPLACES and change.replaced:
            together(storage, *(partial(self._renew, change, path) for path in change.replaced))
        return None

    def _renew(self, change: ActionChange, path: str) -> None:
        now = stored.load(Snapshot(change.storage, change.timeline), path)
        if now is not None:
            stored.save(change.storage, now.renewed(change.instant.requested))
