"""What ``hoodoo doctor`` looks at for the metadata table: does it know the table's newest
commits?"""

from __future__ import annotations

from attrs import frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.archived import load_archived
from hoodoo.model.findings import Finding, Found
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.timeline import Timeline, load

from hoodoo_metadata.life.beginnings import is_beginning
from hoodoo_metadata.table.compact import removable_before
from hoodoo_metadata.table.layout import FILES
from hoodoo_metadata.table.metadata_table import FOLDER, MetadataTable, building, listed, own_config

_FIX = "Run `hoodoo rebuild-index {root}`."


@frozen
class MetadataCheck:
    """Reads two listings, and archived instants of the metadata table where its active timeline
    does not have a commit."""

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
            table = MetadataTable.open(storage, timeline)
        except (HoodooError, FileNotFoundError) as error:
            rule = (
                error.rule.rstrip(".")
                if isinstance(error, HoodooError)
                else f"{error} is not there"
            )
            return Found((Finding("metadata.unreadable", FOLDER, rule, fix),), notes=tuple(notes))
        if table.timeline.start is None and timeline.writes():
            rule = "the properties name it, and it has no commit: readers that go by it see no rows"
            return Found((Finding("metadata.stale", FOLDER, rule, fix),), notes=tuple(notes))
        lacking = _lacking(table, timeline)
        if lacking:
            more = f" and {len(lacking) - 1} more commits" if len(lacking) > 1 else ""
            newest = lacking[-1].requested
            rule = f"it does not know the commit {newest}{more}: readers that go by it miss rows"
            return Found((Finding("metadata.stale", FOLDER, rule, fix),), notes=tuple(notes))
        return Found(notes=(*notes, f"metadata table: {', '.join(listed(config))}"))


def _lacking(table: MetadataTable, data: Timeline) -> list[Instant]:
    """Return the writes of ``data`` that the metadata table does not have, in order.

    It has those on its own timeline, active or archived, and those that had completed when its list
    of files was built: that one commit names none of them. What a compaction has merged may be on
    no timeline any more."""
    own = table.timeline
    present = {instant.requested for instant in own.completed()}
    start = order_key(own.start or "")
    lacking = [
        write
        for write in data.writes()
        if order_key(write.requested) > start and write.requested not in present
    ]
    if lacking:
        archived = {
            instant.requested
            for instant in load_archived(
                table.storage, own_config(data.config), lacking[0].requested
            )
        }
        built = max(order_key(_files_built(table)), removable_before(own))
        lacking = [
            write
            for write in lacking
            if write.requested not in archived and order_key(write.completion_order) > built
        ]
    return lacking


def _files_built(table: MetadataTable) -> str:
    """Return when the newest build of the partition ``files`` completed, or an empty text if that
    is archived."""
    own = table.timeline
    beginnings = [instant for instant in own.completed() if is_beginning(instant.requested)]
    for instant in sorted(beginnings, key=lambda i: i.completion_order, reverse=True):
        if any(stat.partition_path == FILES for stat in own.metadata(table.storage, instant).stats):
            return instant.completion_order
    return ""
