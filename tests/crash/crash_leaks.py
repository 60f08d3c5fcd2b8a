"""What should not be on disk after a write that succeeded.

Every file of the table has to be explained: by a write that tells of it (on the active timeline or the
archived one), by a service that is pending, or as one of the few that the protocol keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hoodoo.kernel.archived import load_archived
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Entry
from hoodoo.storage.temporaries import TEMP_DIR
from hoodoo.timeline import properties, replaced_note
from hoodoo.timeline.decision import FOLDER as LEDGER
from hoodoo.timeline.heartbeat import FOLDER as HEARTBEATS
from hoodoo.timeline.ledger import KEPT
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load
from hoodoo.timeline.view import list_data
from hoodoo_clustering.plan import pending_clusterings
from hoodoo_services.archived import manifest as history
from hoodoo_standard.storage.local import LocalStorage
from metadata_leaks import is_metadata, metadata_leaks

TEMPORARY = ".hoodie/.temp"
LOCKS = ".hoodie/.hoodoo/locks"
# A lock keeps a few of its numbers, and never more (hoodoo_standard.lock.conditional_put).
LOCK_NUMBERS = 8
_USUAL = {properties.PATH, replaced_note.PATH}
_ARCHIVE = re.compile(r"\.hoodie/archived/\.commits_\.archive\.\d+_1-0-1")


def leaks(path: Path, services: bool = False) -> list[str]:
    """What should not be there, in words. With ``services`` a compaction may be pending, with what it
    has written so far, or the plan of a clustering that nobody has begun; and a file of the archived
    timeline may wait for the next archiving to name it."""
    storage = LocalStorage(str(path), durable=False)
    timeline = load(storage, properties.load(storage))
    pending = timeline.pending()
    running = {i.requested for i in pending if services and i.action == "compaction"}
    plans = pending_clusterings(Snapshot(storage, timeline)) if services else ()
    waiting = running | {i.requested for i, _ in plans if i.state is State.REQUESTED}
    waiting |= {
        i.requested
        for i in pending
        if services and i.action == "logcompaction" and i.state is State.REQUESTED
    }
    found = [f"pending {instant}" for instant in pending if instant.requested not in waiting]
    found += _data(storage, timeline, running)
    found += _temporaries(storage, running)
    found += metadata_leaks(storage, timeline, services)
    return [*found, *_ledger(storage), *_beside(storage, timeline, services)]


def _data(storage: LocalStorage, timeline: Timeline, running: set[str]) -> Iterator[str]:
    named = _named(storage, timeline)
    for entry in list_data(storage):
        file = parse_path(entry.path)
        if file is not None and entry.path not in named and file.instant not in running:
            yield f"data file {entry.path}"
        if file is None and not entry.name.startswith(".hoodie_partition_metadata"):
            yield f"foreign file {entry.path}"


def _named(storage: LocalStorage, timeline: Timeline) -> set[str]:
    """The files that writes and rollbacks, archived ones too, say that they have put."""
    found = {s.path for i in timeline.writes() for s in timeline.metadata(storage, i).stats}
    told = [timeline.contents(storage, i) for i in timeline.completed() if _undoes(i)]
    for gone in load_archived(storage, timeline.config):
        if gone.is_write:
            found.update(stat.path for stat in gone.metadata().stats)
        elif _undoes(gone.instant):
            told.append(gone.contents())
    return found | {path for record in told for path in _taken_back(storage, record)}


def _undoes(instant: Instant) -> bool:
    return instant.action in ("rollback", "restore")


def _taken_back(storage: LocalStorage, record: dict[str, Any]) -> Iterator[str]:
    """The log files that a rollback, or those of a restore, has put."""
    restored = (record.get("hoodieRestoreMetadata") or {}).values()
    for rollback in (record, *(r for listed in restored for r in listed)):
        for partition in (rollback.get("partitionMetadata") or {}).values():
            for name in partition.get("rollbackLogFiles") or ():
                yield str(name).removeprefix(storage.root.removeprefix("file://")).strip("/")


def _temporaries(storage: LocalStorage, running: set[str]) -> Iterator[str]:
    for folder in storage.list(TEMPORARY):
        if folder.name not in running:
            # A directory of markers is a leak too, even if it is empty: Spark Hudi looks at its name.
            yield f"directory {folder.path}"
            for entry in storage.list(folder.path, recursive=True):
                yield f"temporary {entry.path}"


def _ledger(storage: LocalStorage) -> Iterator[str]:
    """A few numbers in a row, all of them carried out, and nothing else."""
    entries = storage.list(LEDGER)
    numbers = [e.name for e in entries if e.name.isdigit()]
    first = int(min(numbers, default="1"))
    if len(numbers) > KEPT or [int(n) for n in numbers] != [*range(first, first + len(numbers))]:
        yield f"numbers of the ledger: {numbers}"
    done = {e.name for e in entries} - set(numbers)
    if numbers and f"{numbers[-1]}.done" not in done:
        yield f"number {numbers[-1]} of the ledger is not known to be carried out"
    yield from (f"ledger {name}" for name in sorted(done - {f"{n}.done" for n in numbers}))


def _beside(storage: LocalStorage, timeline: Timeline, services: bool) -> Iterator[str]:
    """Below ``.hoodie``: timelines, and what they have beside them."""
    archive = _archive(storage, timeline, services) if timeline.layout.number == 2 else set()
    locks: dict[str, int] = {}
    for entry in storage.list(".hoodie", recursive=True):
        folder = entry.path.rpartition("/")[0]
        if entry.path.startswith(f"{HEARTBEATS}/"):
            yield f"heartbeat {entry.name}"
        elif entry.path.startswith(f"{LOCKS}/"):
            locks[folder] = locks.get(folder, 0) + 1
        elif not is_metadata(entry.path) and not _explained(entry, timeline, archive):
            yield f"foreign file {entry.path}"
    for folder, count in locks.items():
        if count > LOCK_NUMBERS:
            yield f"{count} files of lock {folder}"


def _explained(entry: Entry, timeline: Timeline, archive: set[str]) -> bool:
    folder = entry.path.rpartition("/")[0]
    if folder == timeline.config.timeline_path and timeline.layout.parse_instant(entry.name):
        return True
    if timeline.layout.number == 1 and _ARCHIVE.fullmatch(entry.path):
        return True
    told_of = (f"{LEDGER}/", f"{TEMPORARY}/", TEMP_DIR)
    return entry.path in archive or entry.path in _USUAL or entry.path.startswith(told_of)


def _archive(storage: LocalStorage, timeline: Timeline, unnamed: bool) -> set[str]:
    """The manifests of the archived timeline, and the files that they name (or also ``unnamed`` ones)."""
    where = history.folder(timeline.config)
    entries = tuple(storage.list(where))
    if unnamed:
        return {entry.path for entry in entries}
    numbers = history.manifest_numbers(entries)
    names = {
        f.name for n in numbers for f in history.read_manifest(storage, timeline.config, n) or ()
    }
    names |= {f"manifest_{n}" for n in numbers} | {history.VERSION_FILE, ".keep"}
    return {f"{where}/{name}" for name in names}
