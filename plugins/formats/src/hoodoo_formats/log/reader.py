"""Reading one log file: its frames, and the rows or deletes of a block."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs.log_format import LogBlockFormats
from hoodoo.model.log_block import BlockKind, Damage, Header, LogBlock, kind_name
from hoodoo.storage.api import Storage, open_named

from hoodoo_formats.log.content import BlockContent, decoding
from hoodoo_formats.log.deletes import decode_deletes
from hoodoo_formats.log.parquet import rows_near
from hoodoo_formats.log.scan import scan

NONE: Mapping[int, Any] = MappingProxyType({})
# No file has more.
_MOST_ROWS = 1 << 62


class LogReader:
    """One log file. Opening reads nothing; :attr:`blocks` and :attr:`damages` scan the frames once.

    Raises CorruptTableError naming ``path`` if it is missing. ``size`` in bytes spares asking the
    store for it; what was appended after it was taken is not seen. ``formats`` read the rows of
    blocks, and say which kinds there are beside Hudi's (:func:`hoodoo.kernel.log_files.log_files`).
    Not for several threads at once."""

    def __init__(
        self,
        storage: Storage,
        path: str,
        size: int | None = None,
        formats: LogBlockFormats = NONE,
    ) -> None:
        self._obj = f"log file {path}"
        self._path = path
        self._file = open_named(storage, path, self._obj)
        self._size = size
        self._formats = formats
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
            blocks, damages = scan(self._file, self._path, end, frozenset(self._formats))
            if self._size is not None and found < self._size:
                missing = self._size - found
                reason = f"the file was {self._size} bytes long and is {found} now"
                damages.append(Damage(self._path, found, missing, reason))
            self._scanned = tuple(blocks), tuple(damages)
        return self._scanned

    def rows(self, block: LogBlock, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a block of data or changes, in file order, all columns nullable and in plain
        types; of ``columns`` those that the block has, in that order.

        Raises UnsupportedTableError for a block without rows, or of a kind that none of the formats
        given reads, CorruptTableError for a content that can't be decoded, SchemaError for a type
        that no table holds."""
        reads = self._reads(block)
        return reads.decode(self._content(block), block.schema_text, columns, self._at(block))

    def rows_at(
        self, block: LogBlock, at: npt.NDArray[np.int64], columns: Sequence[str] | None
    ) -> pa.Table:
        """:meth:`rows` in the places ``at`` (from 0, ascending)."""
        reads = self._reads(block)
        content, text = self._content(block), block.schema_text
        return reads.decode_rows(at, content, text, columns, self._at(block))

    def rows_near(
        self, block: LogBlock, column: str, values: pa.Array
    ) -> npt.NDArray[np.int64] | None:
        """Places (from 0, ascending) among which are those of all rows of a block with one of
        ``values`` (strings, which ascend) in ``column``; None: all places."""
        if block.kind != BlockKind.PARQUET:
            return None
        return rows_near(self._content(block), column, values)

    def _reads(self, block: LogBlock) -> Any:
        if not block.has_rows:
            raise UnsupportedTableError(
                self._at(block),
                f"a {kind_name(block.kind)} block has no rows.",
                "Ask for data blocks only.",
            )
        reads = self._formats.get(block.kind)
        if reads is None:
            raise UnsupportedTableError(
                self._at(block),
                f"no installed plugin reads the content of {kind_name(block.kind)} blocks.",
                "Install the distribution that does (the usual ones: pip install hoodoo-formats), "
                "or have "
                "the table compacted by its writer.",
            )
        return reads

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
                f"a {kind_name(block.kind)} block has no deletes.",
                "Ask for delete blocks only.",
            )
        with decoding(self._at(block)):
            return decode_deletes(self._content(block).whole(), ordering, self._at(block))

    def base_rows(self, block: LogBlock, base_instant: str) -> npt.NDArray[np.int64] | None:
        """The numbers, from 0 and ascending, of the rows of the base file of ``base_instant`` that
        the rows or deletes of ``block`` are about, one for each; None where its headers do not say
        them of that file, or can't be read: its keys say it, too."""
        text = block.headers.get(Header.RECORD_POSITIONS)
        if not text or block.headers.get(Header.BASE_FILE_INSTANT) != base_instant:
            return None
        from pyroaring import BitMap64

        try:
            found = BitMap64.deserialize(base64.b64decode(text, validate=True))
        except (ValueError, MemoryError):
            return None
        if len(found) and found.max() > _MOST_ROWS:
            return None
        return np.frombuffer(found.to_array(), np.uint64).astype(np.int64)

    def _content(self, block: LogBlock) -> BlockContent:
        return BlockContent(self._file, block.content_start, block.content_size)

    def _at(self, block: LogBlock) -> str:
        return f"{self._obj}, block at offset {block.offset}"
