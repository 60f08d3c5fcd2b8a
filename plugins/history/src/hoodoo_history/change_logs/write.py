"""Change log: what a rewrite did to each row, noted beside the new base file.

For tables with ``hoodie.table.cdc.enabled``: Spark Hudi's change query refuses a commit that
rewrote a base file and left no such log."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from attrs import define, field, frozen
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.log_format import LogFileWriter
from hoodoo.kernel.log_files import LogFiles, log_files
from hoodoo.model.meta import RECORD_KEY, without_meta
from hoodoo_rows.model.normalize import conform, plain_schema

from hoodoo_history.change_logs.mode import (
    BEFORE_AFTER,
    DELETED,
    INSERTED,
    UPDATED,
    mode,
)
from hoodoo_history.change_logs.schema import arrow_columns, change_schema

# Rows of one block.
_BLOCK = 1 << 16


@frozen
class ChangeLogs:
    """How the logs of a table are written, by its ``mode``; ``table`` is its name."""

    mode: str
    table: str
    files: LogFiles = field(factory=log_files, eq=False, repr=False)

    @classmethod
    def from_settings(cls, settings: Settings) -> ChangeLogs:
        table = settings.table
        return cls(mode(table) or BEFORE_AFTER, table.name, log_files(table))

    def begin(self, local: str, instant: str, schema: pa.Schema) -> ChangeLog:
        images = plain_schema(without_meta(schema))
        text = change_schema(self.mode, images, self.table)
        return ChangeLog(self, local, instant, images, text)


@define
class ChangeLog:
    """The log of one rewrite, under construction in the ``local`` file."""

    logs: ChangeLogs
    local: str
    instant: str
    images: pa.Schema  # the table's own columns in plain types
    text: str  # the schema of the blocks
    _writer: LogFileWriter | None = None
    _held: list[pa.RecordBatch] = field(factory=list)
    _rows: int = 0

    def inserted(self, rows: pa.Table) -> None:
        self._note(INSERTED, rows.column(RECORD_KEY), None, rows)

    def updated(self, before: pa.Table, after: pa.Table) -> None:
        self._note(UPDATED, after.column(RECORD_KEY), before, after)

    def deleted(self, before: pa.Table) -> None:
        self._note(DELETED, before.column(RECORD_KEY), before, None)

    def close(self) -> int:
        """The log's size in bytes; without any change there is a block of no rows."""
        self._flush()
        assert self._writer is not None
        return self._writer.close()

    def abandon(self) -> None:
        """Close the local file, if there is one; again is no error."""
        if self._writer is not None:
            self._writer.__exit__(None, None, None)

    def _note(
        self, op: str, keys: pa.ChunkedArray, before: pa.Table | None, after: pa.Table | None
    ) -> None:
        for start in range(0, len(keys), _BLOCK):
            count = min(_BLOCK, len(keys) - start)
            made: dict[str, Any] = {
                "op": pa.repeat(op, count),
                "ts_ms": pa.repeat(self.instant, count),
                "record_key": _one(keys.slice(start, count)),
            }
            schema = arrow_columns(self.logs.mode, self.images)
            for name, rows in (("before", before), ("after", after)):
                if name in schema.names:
                    made[name] = self._image(rows, start, count)
            batch = pa.RecordBatch.from_arrays([made[n] for n in schema.names], schema=schema)
            self._held.append(batch)
            self._rows += count
            if self._rows >= _BLOCK:
                self._flush()

    def _image(self, rows: pa.Table | None, start: int, count: int) -> pa.Array:
        images = self.images
        if rows is None:
            return pa.nulls(count, pa.struct(list(images)))
        some = rows.select(images.names).slice(start, count).combine_chunks()
        batch = conform(some.to_batches()[0], images)
        return pa.StructArray.from_arrays(batch.columns, fields=list(images))

    def _flush(self) -> None:
        if self._writer is None:
            self._writer = self.logs.files.writer(self.local)
        if self._held:
            self._writer.change_block(self._held, self.instant, self.text)
            self._held, self._rows = [], 0


def _one(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    found = found if isinstance(found, pa.Array) else found.chunk(0)
    return found.cast(pa.string())
