"""Staging: every partition of a stream as one Arrow IPC file in the workspace, written once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import EngineError
from hoodoo.hookspecs.engine import Task
from hoodoo.storage.api import Storage

from hoodoo_spark.packed import Out


@frozen
class WriteStaged:
    """The end of a chain that writes its batches to ``<prefix>/stage-<token>-<number>.arrow``.

    The name is the driver's: a retry, or a speculative copy, that finds the file there takes it and
    drops its own, so that all readers see one evaluation even of a source that is not deterministic.
    Returns one packed row that holds the name.
    """

    storage: Storage
    prefix: str
    token: str
    schema: pa.Schema
    route: int = 0

    def path(self, number: int) -> str:
        return f"{self.prefix}/stage-{self.token}-{number:06d}.arrow"

    def __call__(self, batches: Iterator[pa.RecordBatch], origin: int) -> Iterator[pa.RecordBatch]:
        path = self.path(origin)
        handle, local = tempfile.mkstemp(suffix=".arrow", dir=self.storage.scratch())
        os.close(handle)
        try:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with (
                pa.OSFile(local, "wb") as sink,
                pa.ipc.new_stream(sink, self.schema, options=options) as writer,
            ):
                for batch in batches:
                    if batch.num_rows:
                        writer.write_batch(batch)
            self.storage.put_file_if_absent(path, local)
        finally:
            if os.path.exists(local):
                os.unlink(local)
        out = Out(origin, 1 << 20)
        yield from out.message(0, 0, None, pa.py_buffer(path.encode()))
        yield out.flush()


@frozen
class ReadStaged:
    """Payloads that name staged files -> their batches. One batch in memory at a time."""

    storage: Storage
    out_schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path in batch.column("payload").to_pylist():
                try:
                    source = self.storage.open(path.decode())
                except FileNotFoundError as error:
                    raise EngineError(
                        f"staged file {path.decode()}",
                        "is gone.",
                        "A staged stream is read within the action that made it.",
                    ) from error
                with source, pa.ipc.open_stream(source) as reader:
                    yield from reader


def check_complete(paths: list[str], storage: Storage, prefix: str) -> None:
    """Raise EngineError unless each of ``paths`` is there, once."""
    there = {entry.path for entry in storage.list(prefix)}
    missing = sorted(set(paths) - there)
    if missing or len(set(paths)) != len(paths):
        raise EngineError(
            f"staged rows below {prefix}",
            f"are not complete: {len(missing)} of {len(paths)} files are missing"
            + (f", the first is {missing[0]}." if missing else "."),
            "All workers write to the same storage: check that the table's path is shared.",
        )
