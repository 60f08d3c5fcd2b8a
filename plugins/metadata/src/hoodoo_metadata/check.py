"""What ``hoodoo doctor`` looks at for the metadata table: does it know the table's newest commits?"""

from __future__ import annotations

from attrs import frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.findings import Finding, Found
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.publish import INDEXING
from hoodoo.timeline.timeline import load

from hoodoo_metadata.layout import FILES
from hoodoo_metadata.table import FOLDER, MetadataTable, building, listed

_FIX = "Run `hoodoo rebuild-index {root}`."


@frozen
class MetadataCheck:
    """Reads names only: two listings."""

    @classmethod
    def from_settings(cls, settings: Settings) -> MetadataCheck:
        return cls()

    def environment(self, engine: str | None) -> Found:
        return Found()

    def table(self, storage: Storage, probe: bool) -> Found:
        try:
            config = properties.load(storage)
            timeline = load(storage, config)
        except HoodooError:
            return Found()  # the check of tables says so
        fix = _FIX.format(root=storage.root)
        notes = []
        if begun := building(config):
            living = Liveness(storage)
            busy = [i for i in timeline.pending() if i.action == INDEXING]
            if not any(living.is_alive(i.requested) for i in busy):
                notes.append(f"metadata table: the next write makes {', '.join(begun)} complete")
        if FILES not in listed(config):
            return Found(notes=tuple(notes))
        try:
            told = MetadataTable.open(storage, timeline).timeline
        except (HoodooError, FileNotFoundError) as error:
            rule = (
                error.rule.rstrip(".")
                if isinstance(error, HoodooError)
                else f"{error} is not there"
            )
            return Found((Finding("metadata.unreadable", FOLDER, rule, fix),), notes=tuple(notes))
        if told.start is None and timeline.writes():
            rule = "the properties name it, and it has no commit: readers that go by it see no rows"
            return Found((Finding("metadata.stale", FOLDER, rule, fix),), notes=tuple(notes))
        known = {instant.requested for instant in told.completed()}
        start = order_key(told.start or "")
        lacking = [
            write.requested
            for write in timeline.writes()
            if order_key(write.requested) > start and write.requested not in known
        ]
        if lacking:
            more = f" and {len(lacking) - 1} more commits" if len(lacking) > 1 else ""
            rule = (
                f"it does not know the commit {lacking[-1]}{more}: readers that go by it miss rows"
            )
            return Found((Finding("metadata.stale", FOLDER, rule, fix),), notes=tuple(notes))
        return Found(notes=(*notes, f"metadata table: {', '.join(listed(config))}"))
