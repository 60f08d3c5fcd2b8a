"""Writing one log file: blocks appended to a local file, which is then put into the table."""

from __future__ import annotations

import base64
import os
import struct
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hoodoo.errors import StorageError, UnsupportedTableError
from hoodoo.model.log_block import MAGIC, ROLLBACK, BlockKind, Header, LogBlock, kind_name
from hoodoo.model.meta import with_meta
from hoodoo.model.schema.avro import avro_text
from hoodoo_rows.model.normalize import plain_schema

from hoodoo_formats.log.deletes import encode_deletes

_FORMAT = struct.Struct(">qii")
_LONG = struct.Struct(">q")
_PAIR = struct.Struct(">ii")
_VERSION = 1


class EncodesRows(Protocol):
    """Makes the content of one kind of block
    (:class:`hoodoo.hookspecs.log_block.LogBlockFormat`)."""

    def encode(
        self, rows: Sequence[pa.RecordBatch], schema: pa.Schema, schema_text: str
    ) -> Iterable[bytes | pa.Buffer]: ...


NONE: Mapping[int, EncodesRows] = MappingProxyType({})


class LogWriter:
    """Appends blocks to the new file ``local``. Each method writes one whole block and returns it.

    A block that could not be written leaves nothing behind. Holds no more than what is being
    encoded. ``formats`` write rows, by the kind of their block. A context manager, which closes the
    file. Raises StorageError if the local file can't be written."""

    def __init__(self, local: str, formats: Mapping[int, EncodesRows] = NONE) -> None:
        self._local, self._formats = local, formats
        self._more: dict[Header, str] = {}
        self._next: dict[Header, str] = {}
        try:
            self._file: BinaryIO = open(local, "wb")  # noqa: SIM115
        except OSError as error:
            raise self._failed(error) from error

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def data_block(
        self,
        kind: int,
        rows: pa.Table | Sequence[pa.RecordBatch],
        *,
        instant: str,
        table_name: str,
        partial: bool = False,
        meta: bool = True,
    ) -> LogBlock:
        """A block of ``rows``, which have one schema; ``partial``: of changed columns only.

        With ``meta``, the meta columns come first, null where the rows lack them. Raises
        SchemaError for a type that can't be stored, UnsupportedTableError for a kind that none of
        the formats writes."""
        batches = list(rows.to_batches() if isinstance(rows, pa.Table) else rows)
        found = rows.schema if isinstance(rows, pa.Table) else batches[0].schema
        schema = plain_schema(with_meta(found) if meta else found)
        text = avro_text(schema, table_name, meta=meta)
        headers = {Header.INSTANT_TIME: instant, Header.SCHEMA: text}
        if partial:
            headers[Header.IS_PARTIAL] = "true"
        content = self._format(kind).encode(batches, schema, text)
        return self._block(kind, headers, lambda: self._write(content))

    def delete_block(
        self,
        keys: pa.Array | pa.ChunkedArray,
        partition_paths: pa.Array | pa.ChunkedArray,
        orderings: Sequence[pa.Array | pa.ChunkedArray] | None,
        always: pa.Array | pa.ChunkedArray | None,
        instant: str,
        schema_text: str | None = None,
    ) -> LogBlock:
        """A block of deletes: string arrays, an array for each ordering column, in plain types, and
        ``always``, booleans: the rows whose delete wins whatever came before. Without ``orderings``
        all rows are; a row whose only ordering value is null is, too. An int ordering value of 0 is
        the same bytes as ``always``: Hudi's default.

        ``schema_text``, the Avro schema of the table, is put in the header as Spark does; no reader
        needs it. Raises SchemaError for an ordering column or value that the format can't hold.
        """
        headers = {Header.INSTANT_TIME: instant}
        if schema_text is not None:
            headers = {Header.SCHEMA: schema_text, **headers}
        values = None if orderings is None else [_one(column) for column in orderings]
        mask = None if always is None else _one(always)
        pieces = encode_deletes(_one(keys), _one(partition_paths), values, mask)
        return self._block(BlockKind.DELETE, headers, lambda: self._write(pieces))

    def change_block(
        self, batches: Sequence[pa.RecordBatch], instant: str, schema_text: str
    ) -> LogBlock:
        """A block of change data, whose Avro schema is ``schema_text``."""
        headers = {Header.INSTANT_TIME: instant, Header.SCHEMA: schema_text}
        content = self._format(BlockKind.CDC).encode(batches, batches[0].schema, schema_text)
        return self._block(BlockKind.CDC, headers, lambda: self._write(content))

    def block(
        self, kind: int, instant: str, schema_text: str, content: Callable[[BinaryIO], object]
    ) -> LogBlock:
        """A block whose content ``content`` writes at the place where the file given to it is;
        ``schema_text`` is the Avro schema of its values."""
        headers = {Header.INSTANT_TIME: instant, Header.SCHEMA: schema_text}
        return self._block(kind, headers, lambda: content(self._file))

    def _format(self, kind: int) -> EncodesRows:
        found = self._formats.get(kind)
        if found is None or kind in (BlockKind.COMMAND, BlockKind.DELETE):
            raise UnsupportedTableError(
                f"block of kind {kind_name(kind)}",
                "no installed plugin writes rows into such blocks.",
                "Choose another kind (the usual ones: pip install hoodoo-formats).",
            )
        return found

    def stands_for(self, instants: Sequence[str]) -> None:
        """The blocks that follow replace those of ``instants``."""
        self._more = {Header.COMPACTED_BLOCK_TIMES: ",".join(instants)}

    def at_rows(self, base_instant: str, rows: npt.NDArray[np.int64]) -> None:
        """The rows of the next block have the numbers ``rows`` (from 0, ascending) in the base file
        of ``base_instant``: a set in the portable form of 64-bit roaring bitmaps."""
        from pyroaring import BitMap64  # few processes write log files

        found = BitMap64(array("Q", rows.astype(np.uint64).tobytes()))
        found.run_optimize()
        text = base64.b64encode(found.serialize()).decode()
        self._next = {Header.BASE_FILE_INSTANT: base_instant, Header.RECORD_POSITIONS: text}

    def rollback_block(self, instant: str, target: str) -> LogBlock:
        """A command: what ``target`` wrote into this file group before is gone."""
        headers = {
            Header.INSTANT_TIME: instant,
            Header.COMMAND_TYPE: ROLLBACK,
            Header.TARGET_INSTANT_TIME: target,
        }
        return self._block(BlockKind.COMMAND, headers, lambda: None)

    def close(self) -> int:
        """The file's size in bytes. It is not synced: handing it to the store does that."""
        try:
            self._file.close()
            return os.path.getsize(self._local)
        except OSError as error:
            raise self._failed(error) from error

    def _block(
        self, kind: int, headers: Mapping[Header, str], content: Callable[[], object]
    ) -> LogBlock:
        headers = {**headers, **self._more, **self._next}
        self._next = {}
        try:
            start = self._file.tell()
            try:
                begin, size, end = self._framed(kind, headers, content)
            except BaseException:
                self._file.seek(start)
                self._file.truncate()
                raise
        except OSError as error:
            raise self._failed(error) from error
        named = {int(key): text for key, text in headers.items()}
        return LogBlock(kind, start, end - start, named, begin, size)

    def _framed(
        self, kind: int, headers: Mapping[Header, str], content: Callable[[], object]
    ) -> tuple[int, int, int]:
        """Write a block; where its content begins, the content's size, and where the block ends."""
        file = self._file
        start = file.tell()
        file.write(MAGIC + _FORMAT.pack(0, _VERSION, kind))
        file.write(len(headers).to_bytes(4, "big"))
        for key, text in headers.items():
            coded = text.encode()
            file.write(_PAIR.pack(key, len(coded)) + coded)
        file.write(_LONG.pack(0))
        begin = file.tell()
        content()
        size = file.tell() - begin
        file.write(bytes(4))  # no footers
        end = file.tell() + _LONG.size
        file.write(_LONG.pack(end - _LONG.size - start))
        # Sizes are known only now.
        file.seek(start + len(MAGIC))
        file.write(_LONG.pack(end - start - len(MAGIC) - _LONG.size))
        file.seek(begin - _LONG.size)
        file.write(_LONG.pack(size))
        file.seek(end)
        return begin, size, end

    def _write(self, pieces: Iterable[bytes | pa.Buffer]) -> None:
        for piece in pieces:
            self._file.write(piece)

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(
            f"file {self._local}",
            f"it could not be written ({error}).",
            "Check space and permissions of the directory; nothing was published.",
        )


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array in plain types."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    kind = plain_schema(pa.schema([pa.field("value", column.type)])).field(0).type
    return column.cast(kind)
