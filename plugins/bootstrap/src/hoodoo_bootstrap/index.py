"""The index of a bootstrap: which source file has the columns of which base file.

Two HFiles below ``.hoodie/.aux/.bootstrap``, by partition path and by file id. There is an index if
both exist. They are written once, before the commit of the bootstrap."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import CommitConflictError, CorruptTableError, UnsupportedTableError
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import scratch_file
from hoodoo.storage.uri import split
from hoodoo_metadata.hfile import ENTRIES, FileWindow, HFile, write_hfile
from hoodoo_rows.api import StoredFiles

from hoodoo_bootstrap import records

SKELETONS = StoredFiles.SKELETONS  # the instant
_NAME = f"00000000-0000-0000-0000-000000000000-0_1-0-1_{SKELETONS}.hfile"
FOLDER = ".hoodie/.aux/.bootstrap"
PARTITIONS, FILES = f"{FOLDER}/.partitions/{_NAME}", f"{FOLDER}/.fileids/{_NAME}"
_INFO = "INDEX_INFO"
_BLOCK = 1 << 20  # Hudi's
_AT_ONCE = 256  # entries that are made together
# Entries that stay in memory, of so many lookups: some hundreds, of 1 MiB, for each. Files are read
# in the order of their paths, by a few tasks side by side.
_LOOKUPS = 8
FIX = (
    "Restore the index from a copy of the table; without it the columns of the rows can't be found."
)


@frozen
class SourceFile:
    """A file of the source: its ``path`` below the source's folder, its ``size`` in bytes and when
    it was ``modified`` (seconds since 1970)."""

    path: str
    size: int
    modified: float = 0.0

    @property
    def folder(self) -> str:
        """The folder below the source's, which is its partition path in the table."""
        return self.path.rpartition("/")[0]


@frozen
class BootstrapIndex:
    """The open index of a table."""

    by_file: HFile
    base: str
    # The entries of blocks that were read last, by key.
    _entries: list[dict[bytes, bytes]] = field(factory=list, eq=False, repr=False)

    @classmethod
    def open(cls, storage: Storage) -> BootstrapIndex | None:
        """None where a table has none. CorruptTableError for one that can't be read."""
        try:
            found = HFile.open(FileWindow.of(storage, FILES))
        except FileNotFoundError:
            return None
        if storage.head(PARTITIONS) is None:
            return None
        info = found.info.get(_INFO)
        if info is None:
            raise CorruptTableError(f"{storage.root}/{FILES}", f"it lacks {_INFO}.", FIX)
        base = records.decode(info, FILES).get("bootstrapBasePath")
        return cls(found, str(base or ""))

    def source_of(self, file: BaseFile) -> SourceFile | None:
        """The source file of a base file; None if the index lacks it."""
        key = f"part={file.partition_path};fileid={file.file_id}"
        value = self._value(key.encode())
        if value is None:
            return None
        record = records.decode(value, f"{FILES}, entry {key}")
        status: Mapping[str, Any] = record.get("bootstrapFileStatus") or {}
        uri = (status.get("path") or {}).get("uri")
        path = None if not uri else below(str(uri), self.base)
        if path is None:
            raise CorruptTableError(
                f"{FILES}, entry {key}",
                f"names the file {uri}, which is not in the source {self.base}.",
                FIX,
            )
        modified = int(status.get("modificationTime") or 0) / 1000
        return SourceFile(path, int(status.get("length") or 0), modified)

    def _value(self, key: bytes) -> bytes | None:
        for there in self._entries:
            if key in there:
                return there[key]
        found = self.by_file.beside(key)
        names, values = found.column("key").to_pylist(), found.column("value").to_pylist()
        there = dict(zip(names, values, strict=True))
        if key not in there:  # Java may have another order of keys
            one = self.by_file.get(pa.array([key], pa.binary())).column("value")
            return one[0].as_py() if len(one) else None
        self._entries[:] = [there, *self._entries[: _LOOKUPS - 1]]
        return there[key]


def below(uri: str, base: str) -> str | None:
    """The path of ``uri`` below the folder ``base``; None if it is elsewhere."""
    (_, path), (_, folder) = split(uri), split(base)
    folder = folder.rstrip("/") + "/"
    inside = path.startswith(folder) and ".." not in path.split("/")
    return path[len(folder) :] if inside else None


def needed(index: BootstrapIndex | None, path: str) -> BootstrapIndex:
    """``index``, which the skeleton file ``path`` needs. UnsupportedTableError where there is
    none."""
    if index is None:
        raise UnsupportedTableError(
            f"base file {path}",
            "has Hudi's meta columns only, as a bootstrap (METADATA_ONLY) makes it, and the "
            f"index of the other files ({FOLDER}) is not there.",
            FIX,
        )
    return index


def write(
    storage: Storage,
    base: str,
    files: Sequence[tuple[BaseFile, SourceFile]],
    block_size: int = 32 << 20,
) -> None:
    """Write the index of ``files`` of the source ``base``. CommitConflictError if there is one.

    Entries are made when they are written, and the files grow on disk: an entry has the schema of
    its record in it, and takes some 1,300 bytes. Memory: the keys, and the entry of the partition
    path with the most files."""
    now = int(time.time() * 1000)
    folders: dict[str, list[int]] = {}
    for number, (file, _source) in enumerate(files):
        folders.setdefault(file.partition_path, []).append(number)

    def of_path(key: bytes) -> bytes:
        path = key.decode().removeprefix("part=")
        found = {
            file.file_id: _status(base, source, block_size)
            for file, source in (files[number] for number in folders[path])
        }
        record = {
            "version": None,
            "bootstrapPartitionPath": path,
            "partitionPath": path,
            "fileIdToBootstrapFile": found,
        }
        return records.encode(records.PARTITION, record)

    def of_file(number: int) -> bytes:
        file, source = files[number]
        record = {
            "version": None,
            "bootstrapPartitionPath": source.folder,
            "bootstrapFileStatus": _status(base, source, block_size),
            "partitionPath": file.partition_path,
        }
        return records.encode(records.FILE, record)

    paths = sorted(f"part={path}".encode() for path in folders)
    _put(storage, PARTITIONS, base, now, len(paths), ((key, of_path(key)) for key in paths))

    def key(number: int) -> bytes:
        file, _source = files[number]
        return f"part={file.partition_path};fileid={file.file_id}".encode()

    order = sorted(range(len(files)), key=key)
    _put(storage, FILES, base, now, len(files), ((key(n), of_file(n)) for n in order))


def remove(storage: Storage) -> None:
    """Take the index away, if there is one."""
    for path in (FILES, PARTITIONS):
        storage.delete(path)


def _status(base: str, source: SourceFile, block_size: int) -> dict[str, Any]:
    scheme, path = split(f"{base.rstrip('/')}/{source.path}")
    uri = f"file:{path}" if scheme in ("", "file") else f"{scheme}://{path}"
    modified = int(source.modified * 1000)
    return {
        "version": None,
        "path": {"version": 1, "uri": uri},
        "length": source.size,
        "isDir": False,
        "blockReplication": 1,
        "blockSize": block_size,
        "modificationTime": modified,
        "accessTime": modified,
    }


def _put(
    storage: Storage,
    path: str,
    base: str,
    now: int,
    count: int,
    entries: Iterator[tuple[bytes, bytes]],
) -> None:
    """``entries``: keys in order, and values."""
    info = {"bootstrapBasePath": base, "createdTimestamp": now, "numKeys": count}

    def batches() -> Iterator[pa.RecordBatch]:
        while some := list(islice(entries, _AT_ONCE)):
            columns = [pa.array(column, pa.binary()) for column in zip(*some, strict=True)]
            yield pa.record_batch(columns, schema=ENTRIES)

    with scratch_file(storage) as local:
        with open(local, "wb") as sink:
            write_hfile(
                sink,
                batches(),
                schema_text="",
                codec="none",
                block_bytes=_BLOCK,
                info={_INFO: records.encode(records.INFO, info)},
            )
        if not storage.put_file_if_absent(path, local):
            raise CommitConflictError(
                f"{storage.root}/{path}",
                "exists: another process bootstraps this table.",
                "Look at table.timeline(). If that process has died, run hoodoo.bootstrap again.",
            )
