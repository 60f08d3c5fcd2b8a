"""Log block format: the content of a log file's blocks that hold rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hoodoo.hookspecs.family import Family, Optional


class BlockContent(Protocol):
    """The content of one block."""

    def whole(self) -> pa.Buffer:
        """All bytes. CorruptTableError, or an error that becomes one, where there are fewer."""

    def opened(self, sparsely: bool = False) -> pa.NativeFile:
        """The bytes as a file of their own; ``sparsely``: a large one is read by what is asked of
        it."""


@runtime_checkable
class LogBlockFormat(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.log_block``. Picklable. The frame of a block, its
    headers, and blocks without rows (deletes, commands) are the log format's."""

    @property
    def kind(self) -> int:
        """The type of its blocks on disk: one of :class:`hoodoo.model.log_block.BlockKind` that
        holds rows, or a number from 7 on, which no other reader of Hudi knows."""

    def decode(
        self, content: BlockContent, schema_text: str, columns: Sequence[str] | None, obj: str
    ) -> pa.Table:
        """The rows of a block, in their order, in plain types; of ``columns`` (None: all) those
        that it has. ``schema_text`` is the Avro schema in its header. CorruptTableError naming
        ``obj`` for bytes that are not as they should be, SchemaError for a type that no table
        holds."""

    def encode(
        self, rows: Sequence[pa.RecordBatch], schema: pa.Schema, schema_text: str
    ) -> Iterable[bytes | pa.Buffer]:
        """The content of a block, in pieces. ``rows`` have the columns of ``schema``, which is
        plain: those of strings may be dictionaries; ``schema_text`` is the same as Avro.
        SchemaError for a type that can't be stored."""


@runtime_checkable
class DecodesSome(Protocol):
    """Optional for a :class:`LogBlockFormat`: it decodes few rows of a block faster than all."""

    def decode_rows(self, at: npt.NDArray[np.int64], *decode: Any) -> pa.Table:
        """The rows in the places ``at`` (from 0, ascending) of what :meth:`LogBlockFormat.decode`
        answers to the arguments ``decode``."""


class RecordColumns(Protocol):
    """Records of flat fields, all at the same field: read from the first field to the last."""

    def column(self, field: Any, kind: pa.DataType | None) -> pa.Array | None:
        """The values of the field at hand, which is ``field``, as ``kind``, and on to the next;
        None: passed over. ValueError for bytes that are no such value."""

    def finish(self) -> None:
        """ValueError where a record is longer than its fields."""


@runtime_checkable
class ReadsRecords(Protocol):
    """Optional for a :class:`LogBlockFormat`: it reads single records in the encoding of its rows,
    wherever they lie, all records a column at a time. The index of record keys has its values so,
    in Avro."""

    def fields(self, schema: Mapping[str, Any]) -> Sequence[Any] | None:
        """How each field of a record of ``schema`` is stored; None where one is nested."""

    def records(
        self,
        data: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
    ) -> RecordColumns:
        """The records of ``data`` that begin and end there. Some 32 bytes have to follow the last
        one."""


FAMILY = Family(
    "hoodoo_log_blocks",
    """Offer formats of log blocks. When: log files are read or written; for a kind of block that
    several offer, the first one named counts. Default: ``parquet``, ``avro``, ``change_data``
    (hoodoo-formats).

    Names are those of ``hoodie.logfile.data.block.format``. The factory returns a
    :class:`LogBlockFormat`.""",
    (LogBlockFormat,),
    optional=(ReadsRecords, DecodesSome),
    lacking={"decode_rows": Optional(lambda blocks, at, *given: blocks.decode(*given).take(at))},
    travels=True,
)
