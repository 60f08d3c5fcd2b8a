"""``.hoodie_partition_metadata``: the file by which Hudi's listing knows a partition (format
3.5)."""

from __future__ import annotations

from functools import lru_cache

from attrs import frozen

from hoodoo.errors import CorruptTableError
from hoodoo.storage.api import Storage
from hoodoo.timeline import javaprops

FILE_NAME = ".hoodie_partition_metadata"


@frozen
class PartitionMetadata:
    """``commit_time`` is the instant that made the partition, ``depth`` its number of
    directories."""

    commit_time: str
    depth: int


def path_of(partition: str) -> str:
    """Return the path of the metadata file of a ``partition`` path
    (``.hoodie_partition_metadata``)."""
    return f"{partition}/{FILE_NAME}" if partition else FILE_NAME


def ensure(storage: Storage, partition: str, instant: str) -> bool:
    """Write the file unless it is there; True if this call wrote it.

    ``partition`` is the directory relative to the table root, ``""`` for a table without
    partitions.
    """
    depth = partition.count("/") + 1 if partition else 0
    return storage.put_if_absent(path_of(partition), _rendered(instant, depth))


@lru_cache(maxsize=16)  # one for all paths of a write
def _rendered(instant: str, depth: int) -> bytes:
    values = {"commitTime": instant, "partitionDepth": str(depth)}
    return javaprops.render(values, "partition metadata")


def parse(data: bytes, name: str = FILE_NAME) -> PartitionMetadata:
    """Raises :class:`~hoodoo.errors.CorruptTableError` where a key is missing."""
    values = javaprops.parse(data)
    try:
        return PartitionMetadata(values["commitTime"], int(values["partitionDepth"]))
    except (KeyError, ValueError) as error:
        raise CorruptTableError(
            name,
            "needs commitTime and an integer partitionDepth.",
            "Delete this file: the next write to the partition makes a new one.",
        ) from error
