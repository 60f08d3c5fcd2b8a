"""Writing one file: record batches of some MB, and at the end one without rows that says what is in
them.

The footer of an Arrow file is fixed when the file is begun. What is known at the end only, the
ranges of its columns and the filter of its keys, is the metadata of a last batch that has no rows:
any reader of Arrow files passes over it.
"""

from __future__ import annotations

import os

import pyarrow as pa
from hoodoo.errors import StorageError
from hoodoo.model.meta import RECORD_KEY, encoded_as
from hoodoo_rows.model.conform import conform

from hoodoo_arrow_format.key_filter import Keys
from hoodoo_arrow_format.ranges import Ranges

ROWS = "hoodoo_arrow_format.rows"
_BATCH_BYTES, _BATCH_ROWS = 16 << 20, 1 << 17
# What the last batch says of one column, and the footer of one batch: nearly.
_COLUMN_BYTES, _BLOCK_BYTES = 220, 24


class ArrowWriter:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileWriter`; holds the rows of one
    batch."""

    def __init__(self, local: str, schema: pa.Schema, compression: str | None) -> None:
        self._local = local
        self._schema = schema.remove_metadata()
        self._keys = Keys() if RECORD_KEY in schema.names else None
        self._ranges = Ranges()
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = self._put = self._blocks = 0
        options = pa.ipc.IpcWriteOptions(compression=compression)
        try:
            self._sink = pa.OSFile(local, "wb")
            self._file = pa.ipc.new_file(self._sink, self._schema, options=options)
        except OSError as error:
            raise self._failed(error) from error

    def write(self, batch: pa.RecordBatch | pa.Table, known: bool = False) -> None:
        for one in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
            rows = _plain(conform(one, encoded_as(self._schema, one.schema)), self._schema)
            if not rows.num_rows:
                continue
            if self._keys is not None:
                self._keys.add(rows.column(RECORD_KEY))
            self._ranges.add(rows)
            each = max(1, rows.nbytes // rows.num_rows)
            step = max(1, min(_BATCH_ROWS, _BATCH_BYTES // each))
            for start in range(0, rows.num_rows, step):
                part = rows.slice(start, step)
                self._waiting.append(part)
                self._rows += part.num_rows
                self._bytes += part.num_rows * each
                if self._rows >= _BATCH_ROWS or self._bytes >= _BATCH_BYTES:
                    self.flush()

    @property
    def written(self) -> int:
        """Without what any file of this schema ends with, and with what the last batch will say of
        keys."""
        if not self._put:
            return int(self._sink.tell())
        said = len(self._schema.names) * _COLUMN_BYTES + self._blocks * _BLOCK_BYTES
        return int(self._sink.tell()) + said + (self._keys.text_bytes if self._keys else 0)

    def flush(self) -> int:
        """The rows that wait are a record batch of their own."""
        if self._rows:
            table = pa.Table.from_batches(self._waiting, self._schema).combine_chunks()
            self._put += self._rows
            self._waiting, self._rows, self._bytes = [], 0, 0
            try:
                for batch in table.to_batches():
                    self._file.write_batch(batch)
                    self._blocks += 1
            except OSError as error:
                raise self._failed(error) from error
        return self.written

    def close(self) -> int:
        self.flush()
        said: dict[str, str] = {ROWS: str(self._put), **self._ranges.texts()}
        if self._keys is not None:
            said |= self._keys.texts()
        last = pa.RecordBatch.from_pylist([], schema=self._schema)
        try:
            self._file.write_batch(last, said)
            self._file.close()
            self._sink.close()
            return os.path.getsize(self._local)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(
            f"file {self._local}",
            f"could not be written ({error}).",
            "Check space and permissions of the directory; nothing was published.",
        )


def _plain(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Without dictionaries: an Arrow file has one for each column, which several batches don't
    agree on."""
    columns = [
        column.dictionary_decode().cast(field.type)
        if pa.types.is_dictionary(column.type)
        else column
        for column, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
