"""Log files for tests: small ones with a block of each kind, and stores that count what is read."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from hoodoo.files.log.blocks import BlockKind, LogBlock
from hoodoo.files.log.reader import LogReader
from hoodoo.files.log.writer import LogWriter
from hoodoo.kernel.log_blocks import log_formats
from hoodoo.storage.local import LocalStorage

INSTANT = "20250101000000001"


@lru_cache(maxsize=1)
def small_rows() -> pa.Table:
    """Two rows with a key and a number. (No constant: to make one imports pandas where it is.)"""
    return pa.table({"_hoodie_record_key": ["a", "b"], "n": pa.array([1, None], pa.int64())})


def small_log(local: Path, rows: pa.Table | None = None) -> tuple[LogBlock, ...]:
    """Write a log file with Avro, delete, Parquet, command and Avro block, of ``rows`` without meta
    columns of its own; what was written."""
    rows = small_rows() if rows is None else rows
    writer = LogWriter(str(local), log_formats())
    keys = rows.column(0).combine_chunks()

    def data(kind: BlockKind) -> LogBlock:
        return writer.data_block(kind, rows, instant=INSTANT, table_name="t", meta=False)

    blocks = (
        data(BlockKind.AVRO),
        writer.delete_block(keys, keys, None, None, INSTANT),
        data(BlockKind.PARQUET),
        writer.rollback_block(INSTANT, "20250101000000000"),
        data(BlockKind.AVRO),
    )
    writer.close()
    return blocks


def opened(local: Path) -> LogReader:
    """A reader of the local file ``local``."""
    return LogReader(LocalStorage(str(local.parent)), local.name, formats=log_formats())
