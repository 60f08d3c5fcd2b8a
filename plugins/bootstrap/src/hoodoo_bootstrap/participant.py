"""The index of a bootstrap goes with its instant."""

from __future__ import annotations

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo.options.table import BOOTSTRAP_BASE
from hoodoo.storage.api import Storage
from hoodoo_rows.api import Writes

from hoodoo_bootstrap import index


@frozen
class BootstrapParticipant(Writes.TakesNoPart):
    """Implements :class:`~hoodoo.hookspecs.participant.Participant`: answers for a property, and
    undoes."""

    settings: Settings
    properties: tuple[str, ...] = (BOOTSTRAP_BASE,)

    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        """Take the index away if the bootstrap is undone."""
        if requested == index.SKELETONS and config.get(BOOTSTRAP_BASE):
            index.remove(storage)
