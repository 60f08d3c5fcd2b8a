"""Reading one file. Lance decodes the columns that are asked for, by ranges of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.file_format import MembershipFilter
from hoodoo.model.schema import logical
from hoodoo.storage.api import Storage, open_named
from hoodoo_formats import record_keys
from hoodoo_rows.api import Reads
from hoodoo_rows.model.normalize import conform, plain_schema
from lance.file import LanceFileReader

from hoodoo_lance.near import NearFile

_BROKEN = (pa.ArrowException, OSError, ValueError, RuntimeError)
_PANIC = "PanicException"  # of Lance, in Rust: no Exception, and no module has it
# How Hudi names the vectors of a file: emb:VECTOR(4),d:VECTOR(2, DOUBLE).
_VECTORS, _VECTOR = "hoodie.vector.columns", re.compile(r"\s*([^,]+):(VECTOR\([^)]*\))")
# A batch is about this long, and what Lance decodes ahead of it.
_BATCH_BYTES, _AHEAD = 16 << 20, 2
_MIN_BATCH, _MAX_BATCH = 1000, 65_536
# Rows that are decoded where the filter is true of one of them.
_STEP = 8192


class LanceReader:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileReader` and ``KnowsKeys``."""

    def __init__(self, storage: Storage, path: str) -> None:
        self._obj = f"base file {path}"
        self._near = NearFile(storage, path, open_named(storage, path, self._obj))
        try:
            with self._broken():
                opened = LanceFileReader(self._near.local())
                said = opened.metadata()  # takes time in proportion to the file's pages
                self._near.opened(said)
                self._rows, stored = said.num_rows, said.schema
                self.metadata: Mapping[str, str] = {
                    key.decode("utf-8", "replace"): text.decode("utf-8", "replace")
                    for key, text in (stored.metadata or {}).items()
                }
                self.schema: pa.Schema = plain_schema(self._with_vectors(stored))
        except BaseException:
            self._near.close()
            raise

    def _with_vectors(self, stored: pa.Schema) -> pa.Schema:
        """Lists of a fixed size are vectors where the file says so."""
        for name, text in _VECTOR.findall(self.metadata.get(_VECTORS, "")):
            at = stored.get_field_index(name)
            if at >= 0:
                field = stored.field(at)
                known = logical.declared(field.with_metadata({logical.MARK: text}), "", name)
                stored = stored.set(at, field.with_type(known or field.type))
        return stored

    @property
    def num_rows(self) -> int:
        return int(self._rows)

    def size(self) -> int:
        """Bytes of the file."""
        return self._near.size

    def key_range(self) -> tuple[str, str] | None:
        return record_keys.key_range(self.metadata)

    def key_filter(self) -> MembershipFilter | None:
        return record_keys.key_filter(self.metadata, self._obj)

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Lance files have no statistics: of ``where`` its own columns are read first, and of the
        others those ranges of rows alone in which it is true of one."""
        names = self.schema.names if columns is None else columns
        there = frozenset(self.schema.names)
        wanted = [name for name in names if name in there]
        step = min(max(_BATCH_BYTES * self._rows // max(1, self.size()), _MIN_BATCH), _MAX_BATCH)
        step = min(step, batch_rows or step)
        if not wanted:
            for start in range(0, self._rows, step):
                rows = min(step, self._rows - start)
                yield pa.record_batch([pa.nulls(rows)], ["none"]).select([])
            return
        for start, count in [(0, self._rows)] if where is None else self._ranges(where):
            yield from self._read(wanted, start, count, step)

    def _read(
        self, names: Sequence[str], start: int, count: int, step: int
    ) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(name) for name in names])
        rows = 0
        with self._broken():
            self._near.bring(self.schema, names)
            # In the order of the file, each once: Lance gives columns so.
            opened = LanceFileReader(self._near.local(), columns=list(names))
            found = opened.read_range(start, count, batch_size=step, batch_readahead=_AHEAD)
            for batch in found.to_batches() if count else ():
                rows += batch.num_rows
                yield conform(batch.select(list(names)), schema)
        if rows != count:
            raise self._corrupt(f"it has {rows} rows from {start} on, and says {count}")

    def _ranges(self, where: pc.Expression) -> list[tuple[int, int]]:
        """The first row and the number of rows of all parts of the file that can match: the same
        for all columns, as rows and their keys are read side by side."""
        every = [(0, self._rows)]
        try:
            asked = Reads.referenced(where, self.schema)
            if not asked:
                return every
            found: list[tuple[int, int]] = []
            start = 0
            for batch in self._read(asked, 0, self._rows, _STEP):
                if batch.filter(where).num_rows:
                    if found and sum(found[-1]) == start:
                        start_of, count = found.pop()
                        found.append((start_of, count + batch.num_rows))
                    else:
                        found.append((start, batch.num_rows))
                start += batch.num_rows
        except (pa.ArrowException, TypeError):
            return every  # of what can't be computed here, whoever asks finds out
        return found

    @contextmanager
    def _broken(self) -> Iterator[None]:
        """Errors of Lance are about the file."""
        try:
            yield
        except _BROKEN as error:
            raise self._corrupt(error) from error
        except BaseException as error:
            if type(error).__name__ != _PANIC:
                raise
            raise self._corrupt(str(error)) from error

    def _corrupt(self, error: Exception | str) -> CorruptTableError:
        return CorruptTableError(
            self._obj,
            f"it can't be read as a Lance file ({error}).",
            "Restore the file from a copy, or roll back or restore the table to before it.",
        )

    def close(self) -> None:
        self._near.close()

    def __enter__(self) -> LanceReader:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()
