"""The data files of the archived timeline of versions 8 and 9: Parquet rows
HoodieLSMTimelineInstant."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq
from hoodoo.errors import CorruptTableError
from hoodoo.storage.api import Storage
from hoodoo.timeline.codec.avro import schema_text
from hoodoo.timeline.codec.bounded import corrupt

NAME = "HoodieLSMTimelineInstant"
TIMES = ("instantTime", "completionTime", "action")
CONTENTS = ("metadata", "plan")
SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in TIMES),
        *(pa.field(name, pa.binary()) for name in CONTENTS),
        pa.field("version", pa.int32(), nullable=False),
    ]
)
_ROWS = 100  # of a row group, at most: one is read to get at one instant's contents
_BROKEN = (pa.ArrowException, OSError)


class HistoryWriter:
    """Writes one file, to a local path or in memory; a context manager, which ends the file."""

    def __init__(self, sink: str | io.BytesIO) -> None:
        self._writer = pq.ParquetWriter(
            sink,
            SCHEMA,
            compression="gzip",  # as Hudi does; schemas repeat in every row
            use_dictionary=["action", "version"],
            write_statistics=[*TIMES, "version"],
            store_schema=False,
        )

    def __enter__(self) -> HistoryWriter:
        return self

    def write(self, rows: pa.Table | pa.RecordBatch) -> None:
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        self._writer.write_table(table.cast(SCHEMA), row_group_size=_ROWS)

    def __exit__(self, *exc: object) -> None:
        footer = {"parquet.avro.schema": schema_text(NAME), "writer.model.name": "avro"}
        self._writer.add_key_value_metadata(footer)
        self._writer.close()


def read_rows(storage: Storage, path: str, columns: Iterable[str]) -> pa.Table:
    """``columns`` of all rows. Raises FileNotFoundError, or CorruptTableError naming the file."""
    with _opened(storage, path) as file:
        try:
            return pq.ParquetFile(file, pre_buffer=False).read(list(columns), use_threads=False)
        except _BROKEN as error:
            raise _corrupt(storage, path, error) from error


def read_batches(storage: Storage, path: str) -> Iterable[pa.RecordBatch]:
    """All rows, some at a time. Raises as :func:`read_rows`."""
    with _opened(storage, path) as file:
        try:
            parquet = pq.ParquetFile(file, pre_buffer=False)
            yield from parquet.iter_batches(_ROWS, columns=SCHEMA.names, use_threads=False)
        except _BROKEN as error:
            raise _corrupt(storage, path, error) from error


def read_group(storage: Storage, path: str, row: int) -> tuple[int, pa.Table]:
    """The row group that ``row`` lies in: the number of its first row, and its contents.

    Raises as :func:`read_rows`.
    """
    with _opened(storage, path) as file:
        try:
            parquet = pq.ParquetFile(file, pre_buffer=False)
            start = 0
            for number in range(parquet.num_row_groups):
                rows = parquet.metadata.row_group(number).num_rows
                if row < start + rows:
                    names = [*TIMES, *CONTENTS]
                    return start, parquet.read_row_group(number, names, use_threads=False)
                start += rows
        except _BROKEN as error:
            raise _corrupt(storage, path, error) from error
    raise corrupt(f"{storage.root}/{path}", f"it has no row {row}")


def _opened(storage: Storage, path: str) -> pa.NativeFile:
    return storage.open(path)


def _corrupt(storage: Storage, path: str, error: Exception) -> CorruptTableError:
    return corrupt(
        f"{storage.root}/{path}",
        f"not a readable file of the archived timeline ({type(error).__name__}: {error})",
    )
