"""What should not be in a metadata table after a write that succeeded.

Its files are told of by its own timeline, nothing is pending there but a compaction that services finish,
and what is completed there is completed, or archived, in the table.
"""

from __future__ import annotations

from collections.abc import Iterator

from hoodoo.model.filegroup import LogFile
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.partitions import FILE_NAME as PARTITION_FILE
from hoodoo.timeline.timeline import Timeline
from hoodoo_metadata.life.beginnings import is_beginning
from hoodoo_metadata.life.definitions import PATH as DEFINITIONS
from hoodoo_metadata.table.layout import is_own
from hoodoo_metadata.table.log_places import time_of_day
from hoodoo_metadata.table.metadata_table import FOLDER, MetadataTable, mark_of


def is_metadata(path: str) -> bool:
    """Whether ``path`` lies in the metadata table, or says what is in it."""
    return path.startswith(f"{FOLDER}/") or path == DEFINITIONS


def metadata_leaks(storage: Storage, timeline: Timeline, services: bool = False) -> Iterator[str]:
    """What should not be there, in words. With ``services`` a compaction may be pending, here or there."""
    if not timeline.config.metadata_partitions:
        if storage.list(FOLDER):
            yield "a metadata table that the properties do not list"
        return
    table = MetadataTable.open(storage, timeline)
    mine = table.timeline
    known = {i.requested for i in timeline.completed()}
    waiting = {i.requested for i in timeline.pending() if i.action == "compaction"}
    running = set()
    for instant in mine.pending():
        if services and (instant.action == "compaction" or instant.requested in waiting):
            running.add(instant.requested)
        else:
            yield f"pending {instant} of the metadata table"
    for instant in mine.writes():
        told = instant.requested in known or timeline.contains_or_before_start(instant.requested)
        own = is_beginning(instant.requested) or instant.action == "commit"
        if not told and not own:
            yield f"{instant} of the metadata table, unknown to the table"
    by_slice = mine.layout.log_names_slice
    endings = [f"-{time_of_day(i)}" for i in running] if by_slice else []
    named = {s.path for i in mine.writes() for s in mine.metadata(table.storage, i).stats}
    for entry in table.storage.list(recursive=True):
        folder = entry.path.rpartition("/")[0]
        if folder == mine.config.timeline_path and mine.layout.parse_instant(entry.name):
            continue
        file = parse_path(entry.path)
        if file is not None and file.instant in running:
            continue
        if isinstance(file, LogFile) and file.write_token.endswith(tuple(endings)):
            continue
        usual = entry.path == properties.PATH or entry.name.startswith(PARTITION_FILE)
        if is_own(folder):  # commits say nothing of it, as Hudi reads them
            usual = entry.path == mark_of(folder) or (
                file is not None and mine.contains_or_before_start(file.instant)
            )
        if entry.path not in named and not usual:
            yield f"file {entry.path} of the metadata table"
