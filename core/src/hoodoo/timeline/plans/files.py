"""The files that the plan of a service names."""

from __future__ import annotations

from hoodoo.errors import CorruptTableError
from hoodoo.model.filegroup import BaseFile, LogFile, path_of
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path


def planned_file(partition: str, path: str, where: str, service: str) -> BaseFile | LogFile:
    """The file that ``path``, a name or an absolute path, means; ``where`` is the plan of the ``service``.

    CorruptTableError naming the plan if it is no file of a table.
    """
    found = parse_path(path_of(partition, path.rpartition("/")[2]))
    if found is None:
        raise CorruptTableError(
            where, f"the plan of a {service} names {path}, which is no file of a table.",
            f"Give it up (table.rollback): a {service} can always be planned anew.",
        )  # fmt: skip
    return found


def reading_order(log: LogFile) -> tuple[str, int, str]:
    """Format page 4.4."""
    return (order_key(log.instant), log.version, log.write_token)
