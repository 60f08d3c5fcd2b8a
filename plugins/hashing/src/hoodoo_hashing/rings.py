"""The rings of partition paths: the participant of tables whose buckets may be rebuilt, and what
becomes true with an action. Other tables and actions import nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from attrs import field, frozen
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.participant import ActionChange
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.commit import Operation
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.storage.together import together
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

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
            from hoodoo_hashing import stored
            from hoodoo_hashing.pending import planned

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
        from hoodoo_hashing import stored

        now = stored.load(Snapshot(change.storage, change.timeline), path)
        if now is not None:
            stored.save(change.storage, now.renewed(change.instant.requested))


@frozen
class HashingParticipant:
    """Implements :class:`~hoodoo.hookspecs.participant.Participant`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> HashingParticipant:
        return cls()

    def join(self, storage: Storage, timeline: Timeline) -> Rings | None:
        return Rings() if timeline.config.table_type == "MERGE_ON_READ" else None

    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        if config.table_type == "MERGE_ON_READ":
            from hoodoo_hashing import stored

            stored.forget(storage, requested)
