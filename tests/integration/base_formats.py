"""Three base file formats that are no plain Parquet: ``ipc`` (Arrow IPC files, which knows no ranges),
``ranged_ipc`` (the same, with ranges) and ``veiled`` (Parquet whose bytes are changed, ``.parquet``)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo import hookimpl
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs import Registration, Settings
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileReader, ColumnBounds
from hoodoo.model.meta import encoded_as
from hoodoo.storage.api import Storage
from hoodoo.testing.distributions import made
from hoodoo_rows.model.normalize import conform, plain_schema

__version__ = "1.0"
_MASK = bytes(range(1, 257 - 1))


def bounds_of(rows: pa.Table, columns: Sequence[str]) -> dict[str, ColumnBounds]:
    found = {}
    for column in columns:
        if column.split(".")[0] not in rows.schema.names:
            continue
        values: Any = rows
        for name in column.split("."):
            top = values is rows
            values = values.column(name) if top else pc.struct_field(values, name)
        ends = pc.min_max(values)
        found[column] = ColumnBounds(ends["min"], ends["max"], values.null_count)
    return found


@frozen
class IpcFormat:
    @property
    def extension(self) -> str:
        return ".arrow"

    @staticmethod
    def from_settings(settings: Settings) -> IpcFormat:
        return IpcFormat()

    def reader(self, storage: Storage, path: str) -> IpcReader:
        return IpcReader(storage, path)

    def writer(
        self, local: str, schema: pa.Schema, expected_rows: int | None = None, base: Any = None
    ) -> IpcWriter:
        return IpcWriter(local, schema)


@frozen
class RangedIpcFormat(IpcFormat):
    @staticmethod
    def from_settings(settings: Settings) -> RangedIpcFormat:
        return RangedIpcFormat()

    def column_ranges(
        self, storage: Storage, path: str, columns: Sequence[str]
    ) -> Mapping[str, ColumnBounds]:
        with self.reader(storage, path) as reader:
            rows = pa.Table.from_batches(list(reader.batches()), reader.schema)
        return bounds_of(rows, columns)


class IpcReader:
    def __init__(self, storage: Storage, path: str) -> None:
        self.metadata: Mapping[str, str] = {}
        try:
            with storage.open(path) as opened:
                self._rows = pa.ipc.open_file(opened).read_all()
        except (FileNotFoundError, pa.ArrowException, OSError) as error:
            raise CorruptTableError(f"base file {path}", f"can't be read ({error}).") from error
        self.schema = self._rows.schema
        self.num_rows = self._rows.num_rows

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        names = self.schema.names if columns is None else columns
        wanted = [name for name in names if name in self.schema.names]
        for batch in self._rows.to_batches(max_chunksize=batch_rows or 1 << 16):
            yield batch.select(wanted)

    def close(self) -> None: ...

    def __enter__(self) -> IpcReader:
        return self

    def __exit__(self, *exc: object) -> None: ...


class IpcWriter:
    def __init__(self, local: str, schema: pa.Schema) -> None:
        self._schema = plain_schema(schema)
        self._sink = pa.OSFile(local, "wb")
        self._local = local
        self._file = pa.ipc.new_file(self._sink, self._schema)

    def write(self, batch: pa.RecordBatch | pa.Table, known: bool = False) -> None:
        for one in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
            plain = conform(one, encoded_as(self._schema, one.schema))
            arrays = [
                array.cast(field.type) if array.type != field.type else array
                for array, field in zip(plain.columns, self._schema, strict=True)
            ]
            self._file.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    @property
    def written(self) -> int:
        return self._sink.tell()

    def flush(self) -> int:
        return self.written

    def close(self) -> int:
        self._file.close()
        self._sink.close()
        return os.path.getsize(self._local)


@frozen
class VeiledFormat:
    """What an encrypting format does: its files end with ``.parquet``, and no reader of Parquet reads them."""

    inner: BaseFileFormat

    @property
    def extension(self) -> str:
        return ".parquet"

    @staticmethod
    def from_settings(settings: Settings) -> VeiledFormat:
        return VeiledFormat(made("file_format", "PARQUET", settings.options))

    def reader(self, storage: Storage, path: str) -> BaseFileReader:
        return self.inner.reader(_Unveiled(storage), path)  # type: ignore[arg-type]

    def writer(
        self, local: str, schema: pa.Schema, expected_rows: int | None = None, base: Any = None
    ) -> VeiledWriter:
        return VeiledWriter(local, self.inner.writer(local, schema, expected_rows, base))

    def column_ranges(
        self, storage: Storage, path: str, columns: Sequence[str]
    ) -> Mapping[str, ColumnBounds]:
        with closing(self.reader(storage, path)) as reader:
            rows = pa.Table.from_batches(list(reader.batches()), reader.schema)
        return bounds_of(rows, columns)


class VeiledWriter:
    def __init__(self, local: str, inner: Any) -> None:
        self._local, self._inner = local, inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def close(self) -> int:
        size: int = self._inner.close()
        with open(self._local, "rb+") as file:
            data = veiled(file.read())
            file.seek(0)
            file.write(data)
        return size


@frozen
class _Unveiled:
    storage: Storage

    def open(self, path: str) -> pa.NativeFile:
        with self.storage.open(path) as opened:
            return pa.BufferReader(veiled(opened.read()))


def veiled(data: bytes) -> bytes:
    mask = (_MASK * (len(data) // len(_MASK) + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(data), "big")


@hookimpl
def hoodoo_file_formats() -> list[Registration]:
    return [
        Registration("IPC", IpcFormat.from_settings, summary="Arrow IPC, no ranges"),
        Registration("RANGED_IPC", RangedIpcFormat.from_settings, summary="Arrow IPC with ranges"),
        Registration("VEILED", VeiledFormat.from_settings, summary="Parquet, changed bytes"),
    ]
