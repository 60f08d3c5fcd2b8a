"""Reading one file, a record batch at a time; the last batch says what is in the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.file_format import ColumnBounds
from hoodoo.model.meta import RECORD_KEY
from hoodoo.storage.api import Storage

from hoodoo_arrow_format.key_filter import KeyFilter
from hoodoo_arrow_format.ranges import read_ranges
from hoodoo_arrow_format.writer import ROWS

_BROKEN = (pa.ArrowException, OSError, ValueError)
_BATCH_ROWS = 1 << 16


class ArrowReader:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileReader` and ``KnowsKeys``."""

    def __init__(self, storage: Storage, path: str) -> None:
        self._obj = f"base file {path}"
        try:
            self._file = storage.open(path)
        except FileNotFoundError as error:
            raise self._corrupt("it is not there") from error
        try:
            self._whole = self._opened()
            self.schema: pa.Schema = self._whole.schema
        except _BROKEN as error:
            self._file.close()
            raise self._corrupt(error) from error

    def _opened(self, columns: Sequence[int] = ()) -> Any:
        """The file, of which only some columns are read; none: all of them."""
        options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=list(columns))
        return pa.ipc.open_file(self._file, options=options)

    @cached_property
    def metadata(self) -> Mapping[str, str]:
        count = self._whole.num_record_batches
        if not count or not self.schema.names:
            return {}
        try:
            found = self._opened([0]).get_batch_with_custom_metadata(count - 1).custom_metadata
        except _BROKEN as error:
            raise self._corrupt(error) from error
        return {k.decode(): v.decode() for k, v in (found or {}).items()}

    @cached_property
    def num_rows(self) -> int:
        said = self.metadata.get(ROWS)
        return sum(self._sizes()) if said is None else int(said)

    def ranges(self) -> Mapping[str, ColumnBounds]:
        """By column, without reading a row."""
        try:
            return read_ranges(self.metadata)
        except _BROKEN as error:
            raise self._corrupt(error) from error

    def key_range(self) -> tuple[str, str] | None:
        known = self.ranges().get(RECORD_KEY)
        if known is None or known.least is None or known.greatest is None:
            return None
        return known.least.as_py(), known.greatest.as_py()

    def key_filter(self) -> KeyFilter | None:
        try:
            return KeyFilter.read(self.metadata)
        except _BROKEN as error:
            raise self._corrupt(error) from error

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        names = self.schema.names if columns is None else columns
        wanted = [name for name in names if name in self.schema.names]
        step = batch_rows or _BATCH_ROWS
        if not wanted:
            for size in self._sizes():
                for start in range(0, size, step):
                    yield pa.record_batch([pa.nulls(min(step, size - start))], ["none"]).select([])
            return
        rows = 0
        try:
            opened = self._opened([self.schema.get_field_index(name) for name in wanted])
            for number in range(opened.num_record_batches):
                batch = opened.get_batch(number).select(wanted)
                rows += batch.num_rows
                for start in range(0, batch.num_rows, step):
                    yield batch.slice(start, step)
        except _BROKEN as error:
            raise self._corrupt(error) from error
        if rows != self.num_rows:
            raise self._corrupt(f"it has {rows} rows, and says {self.num_rows}")

    def _sizes(self) -> Iterator[int]:
        """The rows of each batch, of which one column is read."""
        try:
            opened = self._opened([0])
            for number in range(opened.num_record_batches):
                yield opened.get_batch(number).num_rows
        except _BROKEN as error:
            raise self._corrupt(error) from error

    def _corrupt(self, error: Exception | str) -> CorruptTableError:
        return CorruptTableError(
            self._obj,
            f"can't be read as an Arrow file ({error}).",
            "Restore the file from a copy, or roll back or restore the table to before it.",
        )

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> ArrowReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
