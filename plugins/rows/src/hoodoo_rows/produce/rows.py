"""From travelling rows to stored rows: the meta columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.hookspecs.file_format import BaseFileReader
from hoodoo.model.meta import COMMIT_SEQNO, COMMIT_TIME, FILE_NAME, encoded_as, repeated

from hoodoo_rows.model.conform import conform
from hoodoo_rows.produce.columns import arranged
from hoodoo_rows.write.promote import promoted


@cache
def _first() -> pa.Array:
    """The first numbers: most files of many have few rows."""
    return pa.array(np.arange(1024)).cast(pa.string())


def stored_rows(
    rows: pa.Table, schema: pa.Schema, instant: str, file_name: str, place: int | str, start: int
) -> pa.Table:
    """``rows`` (keyed) in the stored ``schema``, as rows of this instant; those meta columns that
    have one value are dictionaries.

    ``place`` and ``start`` make the sequence number ``<instant>_<place>_<n>``.
    """
    count = rows.num_rows
    numbers = _first()[start : start + count]
    if len(numbers) < count:
        numbers = pa.array(np.arange(start, start + count)).cast(pa.string())
    made = {
        COMMIT_TIME: repeated(instant, count),
        COMMIT_SEQNO: pc.binary_join_element_wise(f"{instant}_{place}", numbers, "_"),
        FILE_NAME: repeated(file_name, count),
    }
    return arranged(rows, schema.names, made)


def read_stored(base: BaseFileReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a base file that is rewritten, in the stored ``schema`` without the name of the
    file that they leave; columns of text may stay dictionaries."""
    kept = pa.schema([f for f in schema if f.name != FILE_NAME])
    known = frozenset(kept.names)
    names = [n for n in base.schema.names if n in known]
    for batch in base.batches(names, encoded=True):
        if not batch.schema.equals(kept):
            batch = promoted(batch, kept)
        yield conform(batch, encoded_as(kept, batch.schema))


def renamed(batch: pa.RecordBatch, file_name: str) -> pa.RecordBatch:
    """Rows that stay, read without the old file name: commit time and sequence number are kept, the
    file name is the new one's."""
    return batch.append_column(FILE_NAME, repeated(file_name, batch.num_rows))


def completed(rows: pa.Table, schema: pa.Schema, lacking: Sequence[str]) -> pa.Table:
    """``rows`` with the columns ``lacking`` of ``schema``, null."""
    if not lacking:
        return rows
    more = [schema.field(name) for name in lacking]
    columns = [*rows.columns, *(pa.nulls(rows.num_rows, field.type) for field in more)]
    return pa.Table.from_arrays(columns, schema=pa.schema([*rows.schema, *more]))
