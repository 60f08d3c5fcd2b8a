"""Log files for tests: small ones with a block of each kind, and stores that count what is read."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from hoodoo.hookspecs.log_format import LogFileReader, LogFileWriter
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import BlockKind, LogBlock
from hoodoo.testing.directory import DirectoryStorage

INSTANT = "20250101000000001"


@lru_cache(maxsize=1)
def small_rows() -> pa.Table:
    """Two rows with a key and a number. (No constant: to make one imports pandas where it is.)"""
    return pa.table({"_hoodie_record_key": ["a", "b"], "n": pa.array([1, None], pa.int64())})


def small_log(local: Path, rows: pa.Table | None = None) -> tuple[LogBlock, ...]:
    """Write a log file with Avro, delete, Parquet, command and Avro block, of ``rows`` without meta
    columns of its own; what was written."""
    rows = small_rows() if rows is None else rows
    writer = log_files().writer(str(local))
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


def new_log(local: Path) -> LogFileWriter:
    """A writer of a log file at the path ``local``; nothing is there before it is closed."""
    return log_files().writer(str(local))


def blocks(*files: Path) -> list[LogBlock]:
    """The blocks of local log files, in their order. Fails where a file is damaged."""
    found: list[LogBlock] = []
    for file in files:
        with opened(file) as reader:
            assert not reader.damages, file
            found += reader.blocks
    return found


def opened(local: Path) -> LogFileReader:
    """A reader of the local file ``local``."""
    return log_files().reader(DirectoryStorage(str(local.parent)), local.name)
