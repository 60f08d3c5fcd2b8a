"""HFiles for the tests."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pytest
from hoodoo_metadata.hfile import ENTRIES, FileWindow, HFile, write_hfile

Pairs = list[tuple[bytes, bytes]]


class Made:
    """Makes HFiles of dictionaries, and lists of what is read."""

    SCHEMA = '"bytes"'

    def batch(self, model: Mapping[bytes, bytes]) -> pa.RecordBatch:
        keys = sorted(model)
        columns = [self.keys(keys), self.keys(model[k] for k in keys)]
        return pa.RecordBatch.from_arrays(columns, schema=ENTRIES)

    def data(self, model: Mapping[bytes, bytes], pieces: int = 1, **settings: Any) -> bytes:
        """An HFile, its entries given to the writer in so many batches."""
        sink = io.BytesIO()
        whole = self.batch(model)
        size = -(-whole.num_rows // pieces) or 1
        batches = [whole.slice(at, size) for at in range(0, whole.num_rows, size)]
        write_hfile(sink, batches, schema_text=self.SCHEMA, **settings)
        return sink.getvalue()

    def open(self, data: bytes) -> HFile:
        return HFile.open(FileWindow.on(data, "made.hfile"))

    def pairs(self, found: pa.Table | Iterable[pa.RecordBatch]) -> Pairs:
        batches = found.to_batches() if isinstance(found, pa.Table) else list(found)
        return [pair for b in batches for pair in zip(b[0].to_pylist(), b[1].to_pylist())]

    def keys(self, values: Iterable[bytes]) -> pa.Array:
        return pa.array(list(values), pa.binary())


@pytest.fixture(scope="session")
def made() -> Made:
    return Made()
