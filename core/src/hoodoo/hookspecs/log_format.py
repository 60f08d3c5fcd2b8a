"""Log format: the files that a table which is merged on read adds to its file groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hoodoo.hookspecs.family import Family, Optional
from hoodoo.hookspecs.log_block import LogBlockFormat
from hoodoo.model.log_block import Damage, LogBlock
from hoodoo.storage.api import Storage

# By the kind of the blocks that each reads and writes.
LogBlockFormats = Mapping[int, LogBlockFormat]
Numbers = npt.NDArray[np.int64]


class LogFileReader(Protocol):
    """One log file. Opening reads no row; :attr:`blocks` and :attr:`damages` look at the file once.
    Close it, or use it as a context manager. Not for several threads at once."""

    @property
    def path(self) -> str:
        """Relative to the table."""

    @property
    def blocks(self) -> tuple[LogBlock, ...]:
        """The blocks that are provably whole, in file order."""

    @property
    def damages(self) -> tuple[Damage, ...]:
        """Bytes that are not as they should be, in file order, as far as that is seen without the
        contents."""

    def rows(self, block: LogBlock, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a block of data or changes, in file order, all columns nullable and in plain
        types; of ``columns`` those that the block has, in that order.

        UnsupportedTableError for a block without rows, or of a kind that none of the formats given
        reads, CorruptTableError for a content that can't be decoded, SchemaError for a type that no
        table holds."""

    def rows_at(self, block: LogBlock, at: Numbers, columns: Sequence[str] | None) -> pa.Table:
        """:meth:`rows` in the places ``at`` (from 0, ascending). May be missing: all are read."""

    def rows_near(self, block: LogBlock, column: str, values: pa.Array) -> Numbers | None:
        """Places (ascending, from 0) among which are those of all rows with one of ``values``
        (strings, which ascend) in ``column``; None: all places. May be missing: None."""

    def deletes(self, block: LogBlock, ordering: Sequence[pa.DataType]) -> pa.Table:
        """The deletes of a delete block, in file order: ``record_key`` and ``partition_path``
        (strings), ``always`` (bool: the delete wins whatever came before), and ``o0`` ... of the
        types ``ordering``, null where ``always`` is true. Without ``ordering`` every delete is
        always.

        CorruptTableError for a content that can't be decoded or an ordering value that does not
        fit, UnsupportedTableError for a block that is none of deletes or of an old version."""

    def base_rows(self, block: LogBlock, base_instant: str) -> Numbers | None:
        """The numbers, from 0 and ascending, of the rows of the base file of ``base_instant`` that
        the rows or deletes of ``block`` are about, one for each; None where it does not say them
        of that file. May be missing: no block says it."""

    def close(self) -> None:
        """Close the file. Nothing more can be read from it."""

    def __enter__(self) -> LogFileReader: ...

    def __exit__(self, *exc: object) -> None: ...


class LogFileWriter(Protocol):
    """Appends blocks to a new local file. Each method writes one whole block and answers it; one
    that could not be written leaves nothing behind. Holds no more than what is being encoded. A
    context manager, which closes the file. StorageError if the local file can't be written."""

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
        """A block of ``rows``, which have one schema; ``partial``: of changed columns only. With
        ``meta``, the meta columns come first, null where the rows lack them. SchemaError for a type
        that can't be stored, UnsupportedTableError for a kind that none of the formats given
        writes."""

    def delete_block(
        self,
        keys: pa.Array | pa.ChunkedArray,
        partition_paths: pa.Array | pa.ChunkedArray,
        orderings: Sequence[pa.Array | pa.ChunkedArray] | None,
        always: pa.Array | pa.ChunkedArray | None,
        instant: str,
        schema_text: str | None = None,
    ) -> LogBlock:
        """A block of deletes: strings, an array for each ordering column, in plain types, and
        ``always``, booleans: the rows whose delete wins whatever came before. Without ``orderings``
        all do; so does a row whose only ordering value is null. ``schema_text``: the table's schema
        as Avro, which no reader needs. SchemaError for an ordering value that the format can't
        hold."""

    def change_block(
        self, batches: Sequence[pa.RecordBatch], instant: str, schema_text: str
    ) -> LogBlock:
        """A block of change data, whose Avro schema is ``schema_text``."""

    def block(
        self, kind: int, instant: str, schema_text: str, content: Callable[[BinaryIO], object]
    ) -> LogBlock:
        """A block whose content ``content`` writes at the place where the file given to it is;
        ``schema_text`` is the Avro schema of its values."""

    def stands_for(self, instants: Sequence[str]) -> None:
        """The blocks that follow are of a log compaction, and replace those of ``instants``."""

    def at_rows(self, base_instant: str, rows: Numbers) -> None:
        """The rows of the next block have the numbers ``rows`` (from 0, ascending) in the base file
        of ``base_instant``. May be missing: blocks do not say it."""

    def rollback_block(self, instant: str, target: str) -> LogBlock:
        """A command: readers skip what ``target`` wrote into this file group before."""

    def close(self) -> int:
        """The file's size in bytes. It need not be synced: handing it to the store does that."""

    def __enter__(self) -> LogFileWriter: ...

    def __exit__(self, *exc: object) -> None: ...


@runtime_checkable
class LogFormat(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.log_format``. Picklable. It finds the blocks of a
    file, whatever lies between them, and has their headers, deletes and commands; ``blocks`` read
    and write the rows of the others, and say which kinds there are beside Hudi's."""

    def reader(
        self, storage: Storage, path: str, size: int | None, blocks: LogBlockFormats
    ) -> LogFileReader:
        """Open ``path``; CorruptTableError naming it if it is missing. ``size`` in bytes spares
        asking the store for it; what was appended after it was taken is not seen."""

    def writer(self, local: str, blocks: LogBlockFormats) -> LogFileWriter:
        """Start a file at ``local``."""


@runtime_checkable
class NotesRows(Protocol):
    """Optional for a :class:`LogFormat`: its blocks say which rows of a base file they change."""

    @property
    def notes_rows(self) -> bool:
        """Whether :meth:`LogFileWriter.at_rows` is to be called where the rows are known."""


FAMILY = Family(
    "hoodoo_log_formats",
    """Offer formats of log files. When: log files are read or written. Default: ``HOODIE_LOG``
    (hoodoo-formats).

    Names are those of ``hoodie.table.log.file.format``. The factory returns a
    :class:`LogFormat`.""",
    (LogFormat,),
    optional=(NotesRows,),
    lacking={"notes_rows": Optional(False)},
    parts={"log_reader": (LogFileReader,), "log_writer": (LogFileWriter,)},
    parts_lack={
        "rows_at": Optional(
            lambda reader, block, at, columns: reader.rows(block, columns).take(at)
        ),
        "rows_near": Optional(lambda reader, block, column, values: None),
        "base_rows": Optional(lambda reader, block, base_instant: None),
        "at_rows": Optional(lambda writer, base_instant, rows: None),
    },
    travels=True,
)
