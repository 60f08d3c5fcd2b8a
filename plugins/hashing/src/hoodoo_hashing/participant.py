"""The participant of tables whose buckets may be rebuilt: others import nothing of rings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline

if TYPE_CHECKING:
    from hoodoo_hashing.rings import Rings


@frozen
class HashingParticipant:
    """Implements :class:`~hoodoo.hookspecs.participant.Participant`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> HashingParticipant:
        return cls()

    def join(self, storage: Storage, timeline: Timeline) -> Rings | None:
        if timeline.config.table_type != "MERGE_ON_READ":
            return None
        from hoodoo_hashing.rings import Rings

        return Rings()

    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        if config.table_type == "MERGE_ON_READ":
            from hoodoo_hashing import stored

            stored.forget(storage, requested)
