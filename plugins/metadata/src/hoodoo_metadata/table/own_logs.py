"""Own logs: the log files of one instant, where their names don't say who wrote them (table version
6).

Hoodoo's end with the time of day of their instant; of others the commit says which file groups it
wrote to. Their blocks tell for certain."""

from __future__ import annotations

from collections.abc import Collection

from hoodoo.actions.rollback.failed_logs import FailedLogs, failed_logs
from hoodoo.kernel.log_files import LogFiles
from hoodoo.model.filegroup import LogFile
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path

from hoodoo_metadata.table.log_places import time_of_day


def logs_of(
    storage: Storage,
    partitions: Collection[str],
    requested: str,
    opener: LogFiles,
    groups: Collection[tuple[str, str]] = (),
) -> FailedLogs:
    """The log files in ``partitions`` of the metadata table that hold blocks of ``requested``:
    those that end like Hoodoo's, and of ``groups`` (partition and file id). Opens the log files of
    these file groups."""
    ending = f"-{time_of_day(requested)}"
    found = set(groups)
    for partition in partitions:
        for entry in storage.list(partition):
            file = None if entry.is_dir else parse_path(entry.path, entry.size)
            if isinstance(file, LogFile) and file.write_token.endswith(ending):
                found.add((partition, file.file_id))
    return failed_logs(storage, frozenset(found), requested, opener)
