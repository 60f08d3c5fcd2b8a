"""The log files that a failed write left in a table of version 6, whose names don't say who wrote
them.

Which file groups it may have touched is said by its markers (Hoodoo's, and both kinds of Spark
Hudi's) and by its inflight file; which of their log files, and which blocks, by the blocks
themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attrs import frozen

from hoodoo.errors import CorruptTableError
from hoodoo.kernel.log_files import LogFiles
from hoodoo.model.filegroup import LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.timeline.markers import MARKERS
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot

_MARKER = re.compile(r"(.+)\.marker\.[A-Z]+")
Group = tuple[str, str]  # partition path, file id


@frozen
class FailedLogs:
    """``whole``: log files of the failed instant alone. ``shared``: file groups in which one of its
    blocks stands among others', with the newest log file of the slice."""

    whole: tuple[LogFile, ...] = ()
    shared: tuple[LogFile, ...] = ()


def touched_groups(snapshot: Snapshot, instant: Instant) -> frozenset[Group]:
    """The file groups that ``instant`` may have written log files into."""
    found = {
        (file.partition_path, file.file_id)
        for path in _marked(snapshot.storage, instant.requested)
        if (file := parse_path(path)) is not None
    }
    try:
        profile = snapshot.metadata(instant.at(State.INFLIGHT))
    except FileNotFoundError:
        return frozenset(found)
    found.update((s.partition_path, s.file_id) for s in profile.stats if s.file_id)
    return frozenset(found)


def _marked(storage: Storage, instant: str) -> list[str]:
    """Paths of data files that the markers of ``instant`` name."""
    folder = f"{MARKERS}/{instant}"
    names: list[str] = []
    for entry in storage.list(folder, recursive=True):
        path = entry.path[len(folder) + 1 :]
        if re.fullmatch(r"MARKERS\d+", path):  # Spark's timeline server: a list in one file
            names += storage.get(entry.path).decode("utf-8", "replace").splitlines()
        else:
            names.append(path)
    return [match[1] for name in names if (match := _MARKER.fullmatch(name.strip()))]


def failed_logs(
    storage: Storage,
    groups: frozenset[Group],
    instant: str,
    opener: LogFiles,
    named: frozenset[str] | None = None,
) -> FailedLogs:
    """Those log files of ``groups`` that hold blocks of ``instant`` which no rollback took back;
    only of those ``named`` after one of these instants, if given."""
    logs: dict[tuple[str, str, str], list[LogFile]] = {}
    for partition in sorted({p for p, _ in groups if ".." not in p.split("/")}):
        for entry in storage.list(partition):
            file = None if entry.is_dir else parse_path(entry.path, entry.size)
            if not isinstance(file, LogFile) or (named is not None and file.instant not in named):
                continue
            if (partition, file.file_id) in groups:
                logs.setdefault((partition, file.file_id, file.instant), []).append(file)
    whole: list[LogFile] = []
    shared: list[LogFile] = []
    for files in logs.values():
        files.sort(key=lambda log: (log.version, log.write_token))
        mixed = False
        for file in files:
            written = _writers(storage, file, instant, opener)
            if written == {instant}:
                whole.append(file)
            elif instant in written:
                mixed = True
            elif written == {_ROLLED_BACK}:
                mixed = False
        if mixed:
            shared.append(files[-1])
    return FailedLogs(tuple(whole), tuple(shared))


def left_behind(
    storage: Storage, files: Iterable[LogFile], undone: set[str], opener: LogFiles
) -> list[LogFile]:
    """Those of ``files`` that a task of Hoodoo's put after its write, one of the instants
    ``undone``, had been rolled back.

    No marker need be left that says so. But a name ends with the time of day of the instant that it
    was planned for, and where that fits, the blocks tell.
    """
    by_token = {str(int(i[8:])): i for i in undone if i[8:].isdigit()}
    named = ((file, by_token.get(file.write_token.rpartition("-")[2])) for file in files)
    return [
        f for f, instant in named if instant and _writers(storage, f, instant, opener) == {instant}
    ]


def writers(storage: Storage, file: LogFile, opener: LogFiles) -> frozenset[str] | None:
    """The instants of the blocks of ``file``, if it is certain that there are no others: empty
    where it takes something back, or has bytes that no block can be read from. None if it went away
    meanwhile."""
    try:
        with opener.reader(storage, file.path, file.size) as reader:
            blocks = list(reader.blocks)
            if reader.damages or any(block.is_rollback for block in blocks):
                return frozenset()
            return frozenset(block.instant for block in blocks if block.instant)
    except CorruptTableError:
        if storage.head(file.path) is not None:
            raise
        return None


_ROLLED_BACK = "rolled back"
_UNKNOWN = "unknown"


def _writers(storage: Storage, file: LogFile, instant: str, opener: LogFiles) -> set[str]:
    """The instants of the file's data and delete blocks; or that it takes ``instant`` back. Bytes
    that no block can be read from may be anybody's. Empty if the file went away meanwhile."""
    try:
        with opener.reader(storage, file.path, file.size) as reader:
            if any(b.is_rollback and b.target_instant == instant for b in reader.blocks):
                return {_ROLLED_BACK}
            lost = {_UNKNOWN for damage in reader.damages if damage.size}
            return {b.instant for b in reader.blocks if not b.is_rollback} | lost
    except CorruptTableError:
        if storage.head(file.path) is not None:
            raise
        return set()  # a late task has taken its own file away
