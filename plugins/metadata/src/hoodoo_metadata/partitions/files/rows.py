"""Partition ``files``: which files each partition has, and which partitions there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import frozen
from hoodoo.errors import CorruptTableError

from hoodoo_metadata.table.keys import NON_PARTITIONED
from hoodoo_metadata.table.schema import FILE_LIST, PARTITION_LIST, decode_row, encode_row

__all__ = [
    "ALL_PARTITIONS",
    "NON_PARTITIONED",
    "FileChanges",
    "decode_files",
    "encode_files",
    "encode_partitions",
    "merge_files",
]

# The key of the list of partitions.
ALL_PARTITIONS = "__all_partitions__"


@frozen
class FileChanges:
    """What a row says. ``added``: files and their sizes in bytes; ``removed``: files that are gone.
    In the list of partitions: partition paths (``.`` for the one of a table without partitions),
    size 0."""

    added: Mapping[str, int]
    removed: frozenset[str] = frozenset()


def encode_files(added: Mapping[str, int], removed: Iterable[str] = ()) -> bytes:
    """The value for a partition that has got the files ``added`` and lost those ``removed``.

    Raises CorruptTableError for a file of no bytes, which no reader of the list accepts.
    """
    for name, size in added.items():
        if size <= 0:
            raise CorruptTableError(
                f"file {name}",
                f"has {size} bytes; a file that is listed has content.",
                "Find out who wrote it; roll that instant back.",
            )
    return _encoded(FILE_LIST, added, removed)


def encode_partitions(paths: Iterable[str], gone: Iterable[str] = ()) -> bytes:
    """The value of the list of partitions that says ``paths`` are there now and ``gone`` no
    longer."""
    named = {path or NON_PARTITIONED: 0 for path in paths}
    return _encoded(PARTITION_LIST, named, (path or NON_PARTITIONED for path in gone))


def _encoded(kind: int, added: Mapping[str, int], removed: Iterable[str]) -> bytes:
    # By name: the same files give the same bytes.
    files = {name: {"size": size, "isDeleted": False} for name, size in sorted(added.items())}
    files |= {name: {"size": 0, "isDeleted": True} for name in sorted(removed)}
    return encode_row({"type": kind, "filesystemMetadata": files})


def decode_files(value: bytes, schema_text: str | None = None) -> FileChanges:
    """What a value of partition ``files`` says. Raises CorruptTableError."""
    row = decode_row(value, schema_text)
    files = row["filesystemMetadata"] or {}
    added = {name: info["size"] for name, info in files.items() if not info["isDeleted"]}
    return FileChanges(added, frozenset(name for name in files if name not in added))


def merge_files(older: FileChanges, newer: FileChanges, base: bool = False) -> FileChanges:
    """What both rows of a key say together. ``base``: ``older`` is all there was before, so that
    what is removed need not be remembered.

    Of two sizes the larger one is right, as files only grow. Source:
    ``HoodieTableMetadataUtil.combineFileSystemMetadata``, which forgets a removal once it has met
    the file: a file told of in the base file and again in a log file would be back after the logs
    are merged first."""
    added = {name: size for name, size in older.added.items() if name not in newer.removed}
    for name, size in newer.added.items():
        added[name] = max(size, older.added.get(name, 0))
    if base:
        return FileChanges(added)
    return FileChanges(added, (older.removed - newer.added.keys()) | newer.removed)
