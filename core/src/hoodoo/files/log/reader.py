"""Reading one log file: its frames, and the rows or deletes of a block."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from hoodoo.errors import CorruptTableError, HoodooError, UnsupportedTableError
from hoodoo.files.log.avro import Undecodable, avro_rows
from hoodoo.files.log.blocks import BlockKind, Damage, LogBlock
from hoodoo.files.log.deletes import decode_deletes
from hoodoo.files.log.scan import scan
from hoodoo.files.opening import open_named
from hoodoo.model.schema.normalize import conform, plain_schema
from hoodoo.storage.api import Storage

# Of a larger Parquet block only the columns asked for are read.
_WHOLE = 1 << 20
_FOOTER_BYTES = 1 << 30
_BROKEN = (pa.ArrowException, OSError, UnicodeDecodeError)


class LogReader:
    """One log file. Opening reads nothing; :attr:`blocks` and :attr:`damages` scan the frames once.

    Raises CorruptTableError naming ``path`` if it is missing. ``size`` in bytes spares asking the
    store for it; what was appended after it was taken is not seen. Not for several threads at once.
    """

    def __init__(self, storage: Storage, path: str, size: int | None = None) -> None:
        self._obj = f"log file {path}"
        self._path = path
        self._file = open_named(storage, path, self._obj)
        self._size = size
        self._scanned: tuple[tuple[LogBlock, ...], tuple[Damage, ...]] | None = None

    def __enter__(self) -> LogReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    @property
    def path(self) -> str:
        """Relative to the table."""
        return self._path

    @property
    def blocks(self) -> tuple[LogBlock, ...]:
        """The blocks that are provably whole, in file order."""
        return self._scan()[0]

    @property
    def damages(self) -> tuple[Damage, ...]:
        """What is wrong with the file's frames, in file order. Contents were not looked at."""
        return self._scan()[1]

    def _scan(self) -> tuple[tuple[LogBlock, ...], tuple[Damage, ...]]:
        if self._scanned is None:
            found = int(self._file.size())
            end = found if self._size is None else min(found, self._size)
            blocks, damages = scan(self._file, self._path, end)
            if self._size is not None and found < self._size:
                missing = self._size - found
                reason = f"the file was {self._size} bytes long and is {found} now"
                damages.append(Damage(self._path, found, missing, reason))
            self._scanned = tuple(blocks), tuple(damages)
        return self._scanned

    def rows(self, block: LogBlock, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of an Avro or Parquet block, in file order, all columns nullable and in plain
        types; of ``columns`` those that the block has, in that order.

        Raises UnsupportedTableError for a block of another kind, CorruptTableError for a content
        that can't be decoded, SchemaError for a type that no table holds.
        """
        if block.kind in (BlockKind.AVRO, BlockKind.CDC):
            try:
                return avro_rows(self._content(block), block.schema_text, columns, self._at(block))
            except Undecodable as error:
                raise self._corrupt(block, error) from error
        if block.kind is BlockKind.PARQUET:
            try:
                return self._parquet(block, columns)
            except _BROKEN as error:
                raise self._corrupt(block, error) from error
        if block.kind is BlockKind.HFILE:
            raise UnsupportedTableError(
                self._at(block),
                "it is an HFile block, whose content is not read yet.",
                "Have the table compacted by its writer, or read it with that.",
            )
        raise UnsupportedTableError(
            self._at(block), f"a {block.kind.name} block has no rows.", "Ask for data blocks only."
        )

    def deletes(self, block: LogBlock, ordering: Sequence[pa.DataType]) -> pa.Table:
        """The deletes of a delete block, in file order: ``record_key`` and ``partition_path``
        (strings), ``always`` (bool: no ordering value, or Hudi's default, an int 0, so that the
        delete wins whatever came before), and ``o0`` ... of the types ``ordering``, null where
        ``always`` is true. Without ``ordering`` every delete is always.

        Raises CorruptTableError for a content that can't be decoded or an ordering value that does
        not fit, UnsupportedTableError for a block that is none of deletes or of an old version.
        """
        if block.kind is not BlockKind.DELETE:
            raise UnsupportedTableError(
                self._at(block),
                f"a {block.kind.name} block has no deletes.",
                "Ask for delete blocks only.",
            )
        try:
            return decode_deletes(self._content(block), ordering, self._at(block))
        except Undecodable as error:
            raise self._corrupt(block, error) from error

    def _content(self, block: LogBlock) -> pa.Buffer:
        self._file.seek(block.content_start)
        data = self._file.read_buffer(block.content_size)
        if data.size < block.content_size:
            raise self._corrupt(block, Undecodable("the file has become shorter"))
        return data

    def _parquet(self, block: LogBlock, columns: Sequence[str] | None) -> pa.Table:
        source: pa.NativeFile
        if columns is None or block.content_size <= _WHOLE:
            source = pa.BufferReader(self._content(block))
        else:
            source = pa.PythonFile(
                _Range(self._file, block.content_start, block.content_size), mode="r"
            )
        file = pq.ParquetFile(
            source,
            pre_buffer=False,
            page_checksum_verification=True,
            coerce_int96_timestamp_unit="us",
            thrift_string_size_limit=_FOOTER_BYTES,
        )
        schema = plain_schema(file.schema_arrow)
        if len(set(schema.names)) < len(schema.names):
            raise self._corrupt(block, Undecodable("two of its columns have one name"))
        wanted_names = schema.names if columns is None else dict.fromkeys(columns)
        names = [n for n in wanted_names if n in schema.names]
        wanted = pa.schema([schema.field(n) for n in names])
        if not names:
            return pa.table({"none": pa.nulls(file.metadata.num_rows)}).select([])
        found = file.read(columns=names, use_threads=False).select(names)
        batches = [conform(batch, wanted) for batch in found.to_batches()]
        return pa.Table.from_batches(batches, schema=wanted)

    def _at(self, block: LogBlock) -> str:
        return f"{self._obj}, block at offset {block.offset}"

    def _corrupt(self, block: LogBlock, error: Exception) -> HoodooError:
        known = isinstance(error, Undecodable)
        what = str(error) if known else f"{type(error).__name__}: {error}"
        return CorruptTableError(
            self._at(block),
            f"its content can't be decoded ({what}).",
            "Restore the file from a copy, or roll back the commit that wrote it.",
        )


class _Range:
    """A stretch of a file as a file that Arrow reads from."""

    closed = False

    def __init__(self, file: pa.NativeFile, start: int, size: int) -> None:
        self._file, self._start, self._size, self._place = file, start, size, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._place = offset + (0, self._place, self._size)[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, count: int = -1) -> bytes:
        left = max(0, self._size - self._place)
        count = left if count < 0 else min(count, left)
        self._file.seek(self._start + self._place)
        data: bytes = self._file.read(count)
        self._place += len(data)
        return data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def flush(self) -> None: ...

    def close(self) -> None:
        self.closed = True
