"""Rows into a file, batch after batch: the file is there whole, or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
from hoodoo.errors import ConfigError, HoodooError
from hoodoo.storage.api import Storage

from hoodoo_cli.toolkit.data_files import STANDARD, kind_of, packing_of
from hoodoo_cli.toolkit.places import is_local, located
from hoodoo_cli.toolkit.values import is_nested, rows_of

# A row group of Parquet has as many rows at least, unless they are large.
_GROUP_ROWS, _GROUP_BYTES = 128 << 10, 32 << 20
# A file that is put in the place of another one in a store is held in memory, unless it is larger.
_IN_MEMORY = 64 << 20


class _Writer(Protocol):
    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


def write_rows(
    path: str,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    options: Mapping[str, str],
    kind: str | None = None,
    overwrite: bool = False,
) -> int:
    """Write all rows, and return their number. Memory: some batches. ConfigError if the file is
    there, unless it is to be overwritten."""
    found = kind_of(path, kind)
    if path == STANDARD:
        return _write(sys.stdout.buffer, schema, batches, found, None)
    if is_local(path):
        return _local(path, schema, batches, found, overwrite)
    storage, name = located(path, options)
    if storage.head(name) is not None and not overwrite:
        raise _exists(path)
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, "rows")
        with open(local, "wb") as out:
            count = _write(out, schema, batches, found, packing_of(path))
        if overwrite:
            _replace(storage, name, local, path)
        elif not storage.put_file_if_absent(name, local):
            raise _exists(path)
    return count


def _replace(storage: Storage, name: str, local: str, path: str) -> None:
    """Put a local file in the place of an object. A failure loses nothing: the old object is there
    until the new one is stored as a whole, under its own name or, if it is too large for the
    memory, under another one."""
    if os.path.getsize(local) <= _IN_MEMORY:
        with open(local, "rb") as file:
            storage.put(name, file.read())
        return
    beside, again = f"{name}.{uuid.uuid4().hex}.part", f"{local}.again"
    try:
        os.link(local, again)  # the store may move the file that it is given
    except OSError:
        shutil.copyfile(local, again)
    storage.put_file_if_absent(beside, local)
    try:
        storage.delete(name)
        if not storage.put_file_if_absent(name, again):
            raise _exists(path)
    except HoodooError as error:
        raise HoodooError(
            error.obj,
            f"{error.rule.rstrip('.')}; all rows are in {path.rpartition('/')[0]}/{beside}.",
            "Copy that file, or export again and delete it.",
        ) from error
    storage.delete(beside)


def _local(
    path: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch], kind: str, overwrite: bool
) -> int:
    from hoodoo.storage.uri import local_path

    target = local_path(path)
    if os.path.isdir(target):
        raise ConfigError(f"file {path}", "is a folder.", "Give the path of a file.")
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe, /dev/null
        with open(target, "wb") as out:
            return _write(out, schema, batches, kind, packing_of(path))
    if os.path.exists(target) and not overwrite:
        raise _exists(path)
    try:
        handle, partial = tempfile.mkstemp(".part", ".hoodoo-", os.path.dirname(target))
    except OSError as error:
        raise ConfigError(
            f"file {path}", f"can't be created: {error.strerror}.", "Give another path."
        ) from error
    try:
        with os.fdopen(handle, "wb") as out:
            count = _write(out, schema, batches, kind, packing_of(path))
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)
        raise
    return count


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found


def _exists(path: str) -> HoodooError:
    return ConfigError(
        f"file {path}", "exists already.", "Give another path; hoodoo export has --overwrite."
    )


def _write(
    out: BinaryIO,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    kind: str,
    packing: str | None,
) -> int:
    count = 0
    sink: Any = out
    if packing is not None and kind in ("csv", "jsonl"):
        sink = pa.CompressedOutputStream(pa.PythonFile(out, mode="w"), packing)
    with contextlib.closing(_writer(sink, schema, kind)) as writer:
        for batch in batches:
            count += batch.num_rows
            writer.write(batch)
    if sink is not out:
        sink.close()
    return count


def _writer(out: Any, schema: pa.Schema, kind: str) -> _Writer:
    if kind == "parquet":
        return _Parquet(out, schema)
    if kind == "csv":
        return _Csv(out, schema)
    if kind == "jsonl":
        return _JsonLines(out)
    return _Arrow(out, schema)


class _Parquet:
    """Row groups of a good size, whatever that of the batches."""

    def __init__(self, out: Any, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._writer = pq.ParquetWriter(out, schema, compression="zstd")
        self._schema = schema
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        rows = sum(one.num_rows for one in self._waiting)
        if rows >= _GROUP_ROWS or sum(one.nbytes for one in self._waiting) >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
            self._waiting = []

    def close(self) -> None:
        self._flush()
        self._writer.close()


class _Arrow:
    def __init__(self, out: Any, schema: pa.Schema) -> None:
        self._writer = pa.ipc.new_stream(out, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


class _Csv:
    """Nested values as JSON, bytes in base64: what CSV has no form for."""

    def __init__(self, out: Any, schema: pa.Schema) -> None:
        from pyarrow import csv

        fields = [f.with_type(pa.string()) if _is_text(f.type) else f for f in schema]
        self._schema = pa.schema(fields)
        self._writer = csv.CSVWriter(out, self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        columns = []
        for at, field in enumerate(batch.schema):
            column = batch.column(at)
            if _is_text(field.type):
                rows = rows_of(batch.select([at]))
                values = [next(iter(row.values())) for row in rows]
                column = pa.array([_text(value) for value in values], pa.string())
            columns.append(column)
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


def _is_text(kind: pa.DataType) -> bool:
    return is_nested(kind) or bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


class _JsonLines:
    def __init__(self, out: Any) -> None:
        self._out = out

    def write(self, batch: pa.RecordBatch) -> None:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows_of(batch))
        self._out.write("".join(lines).encode("utf-8"))

    def close(self) -> None:
        pass
