"""Rows of a write, staged by tasks below the table's ``.hoodie/.temp`` until the commit takes
them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, timezone

import pyarrow as pa
from attrs import frozen
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import scratch_file

from hoodoo_spark.shape import gathered, received

_HOME = ".hoodie/.temp"
_NAME = "hoodoo-rows-"  # no instant follows: a writer that recovers leaves it alone
_STAMP = "%Y%m%d%H%M%S"
_KEPT = timedelta(days=7)  # what a driver that died has left


@frozen
class Staged:
    """What one task staged. ``path`` is empty where it had no rows. ``size``: bytes in memory.
    ``query``: the id of the streaming query whose task it was. ``dynamic``: whether its session
    overwrites partition paths only. ``entered``: whether the write makes an entry of Spark's
    catalog."""

    path: str = ""
    rows: int = 0
    size: int = 0
    query: str = ""
    dynamic: bool = False
    entered: bool = False


@frozen
class Staging:
    """Where the tasks of one write put their rows, which have the columns ``schema``."""

    storage: Storage
    prefix: str
    schema: pa.Schema

    @classmethod
    def begin(cls, storage: Storage, schema: pa.Schema, name: str = "") -> Staging:
        """A new one; ``name`` instead of a moment where later attempts have to find it."""
        if not name:
            _sweep(storage)
            name = f"{datetime.now(timezone.utc):{_STAMP}}-{secrets.token_hex(8)}"
        return cls(storage, f"{_HOME}/{_NAME}{name}", schema)

    def write(self, batches: Iterable[pa.RecordBatch], query: str = "") -> Staged:
        """In a task: its rows become one file, of a name that no other attempt has."""
        rows = size = 0
        with scratch_file(self.storage) as local:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with (
                pa.OSFile(local, "wb") as sink,
                pa.ipc.new_stream(sink, self.schema, options=options) as writer,
            ):
                for batch in gathered(received(iter(batches), self.schema)):
                    writer.write_batch(batch)
                    rows += batch.num_rows
                    size += batch.nbytes
            if not rows:
                return Staged(query=query)
            path = f"{self.prefix}/{secrets.token_hex(16)}.arrow"
            self.storage.put_file_if_absent(path, local)
        return Staged(path, rows, size, query)

    def batches(self, staged: Sequence[Staged]) -> Iterator[pa.RecordBatch]:
        """The rows again, one batch in memory at a time."""
        for one in staged:
            if one.path:
                with self.storage.open(one.path) as source, pa.ipc.open_stream(source) as reader:
                    yield from reader

    def discard(self) -> None:
        """Remove all of it; and the directories of a table, where none was made."""
        self.storage.delete_prefix(self.prefix)
        if self.storage.head(".hoodie/hoodie.properties") is not None:
            return
        if not self.storage.list(".hoodie", recursive=True):
            self.storage.delete_prefix(".hoodie")
            with suppress(OSError):
                root = self.storage.root
                if root.startswith("file://"):
                    os.rmdir(root.removeprefix("file://"))


def _sweep(storage: Storage) -> None:
    """Remove what writers that died have left here."""
    oldest = f"{datetime.now(timezone.utc) - _KEPT:{_STAMP}}"
    for entry in storage.list(_HOME):
        stamp = entry.name.removeprefix(_NAME).partition("-")[0]
        if entry.name.startswith(_NAME) and stamp.isdigit() and stamp < oldest:
            storage.delete_prefix(entry.path)
