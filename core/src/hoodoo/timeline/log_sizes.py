"""Log sizes: how long a log file has to be, by the commit that wrote it.

A log file has no footer and no checksum: one that was cut between two blocks looks whole. The write
stats of its commit know better.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.timeline.snapshot import Snapshot


def with_committed_sizes(snapshot: Snapshot, slices: Iterable[FileSlice]) -> tuple[FileSlice, ...]:
    """``slices``, where a log file that is shorter than its completed commit says has the ``size``
    that it says (bytes), so that the log reader names the bytes that are missing.

    Reads the metadata of the commits that may have written these logs, each once for a timeline;
    archived ones say nothing. Raises CorruptTableError for metadata that can't be decoded.
    """
    slices = tuple(slices)
    logs = [log for slice_ in slices for log in slice_.log_files]
    sizes: dict[str, int] = {}
    for instant in snapshot.layout.log_writers({log.instant for log in logs}, snapshot.timeline):
        for stat in snapshot.metadata(instant).stats:
            if stat.log_version is not None:
                sizes[stat.path] = max(stat.file_size, sizes.get(stat.path, 0))

    def sized(log: LogFile) -> LogFile:
        size = sizes.get(log.path, 0)
        return evolve(log, size=size) if size > log.size else log

    if all(log.size >= sizes.get(log.path, 0) for log in logs):
        return slices
    return tuple(evolve(s, log_files=tuple(map(sized, s.log_files))) for s in slices)
