"""Log block format: the content of a log file's blocks that hold rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

import pyarrow as pa

from hoodoo.files.log.content import BlockContent
from hoodoo.hookspecs.family import Family


@runtime_checkable
class LogBlockFormat(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.log_block``. Picklable. The frame of a block, its headers, and
    blocks without rows (deletes, commands) are core's."""

    @property
    def kind(self) -> int:
        """The type of its blocks on disk: one of :class:`hoodoo.files.log.blocks.BlockKind` that holds rows, or
        a number from 7 on, which no other reader of Hudi knows."""

    def decode(
        self, content: BlockContent, schema_text: str, columns: Sequence[str] | None, obj: str
    ) -> pa.Table:
        """The rows of a block, in their order, in plain types; of ``columns`` (None: all) those that it has.
        ``schema_text`` is the Avro schema in its header. CorruptTableError naming ``obj`` for bytes that are
        not as they should be (:func:`hoodoo.files.log.content.decoding` makes it), SchemaError for a type that
        no table holds."""

    def encode(
        self, rows: Sequence[pa.RecordBatch], schema: pa.Schema, schema_text: str
    ) -> Iterable[bytes | pa.Buffer]:
        """The content of a block, in pieces. ``rows`` have the columns of ``schema``, which is plain: those of
        strings may be dictionaries; ``schema_text`` is the same as Avro. SchemaError for a type that can't be
        stored."""


FAMILY = Family(
    "hoodoo_log_blocks",
    """Offer formats of log blocks. When: log files are read or written; for a kind of block that several
    offer, the first one named counts. Default: ``parquet``, ``avro``, ``change_data`` (hoodoo-formats).

    Names are those of ``hoodie.logfile.data.block.format``. The factory returns a
    :class:`LogBlockFormat`.""",
    (LogBlockFormat,),
    travels=True,
)
