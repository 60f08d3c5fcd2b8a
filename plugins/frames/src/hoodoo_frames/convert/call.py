"""``hoodoo.convert``: what lies at a path, as a new Hudi table beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import hoodoo
import pyarrow as pa
from hoodoo.errors import CallError, ConfigError, DuplicateKeyError, SchemaError
from hoodoo_rows.api import ArrivingRows
from hoodoo_rows.model.conform import texts_for_uuids, uuids_as_texts
from hoodoo_rows.model.normalize import plain_schema

from hoodoo_frames.convert.sources import Source, found_at

# Appended to the path of the source where no other is given.
SUFFIX = "_hudi"


# Arguments of `create` that this call has under another name, or makes itself.
_NOT_OF_CREATE = {
    "path": "The path of the new table is the second argument, or to=....",
    "schema": "The source has it; cast the columns there, or alter the new table.",
    "exist_ok": "Rows go into a table that is there by hoodoo.open(path).upsert(...).",
}


def convert(
    source: Any,
    to: str | os.PathLike[str] | None = None,
    *,
    record_key: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] | None = None,
    as_of: int | str | None = None,
    options: Mapping[str, Any] | None = None,
    **table: Any,
) -> hoodoo.Table:
    """Copy a directory of Parquet files, a Delta Lake table or an Iceberg table into a new Hudi
    table, in one commit, and return the new table.

    ``source`` is a path or URI, a ``deltalake.DeltaTable``, a ``pyiceberg`` table, or a pyarrow
    Dataset. It is only read. ``to`` is the path of the new table, neither within the source nor
    around it; by default that of the source with ``_hudi`` at its end. ``record_key`` is
    required: the columns that identify a row, or () for generated keys. ``partition_by`` is by
    default the partitioning of the source. ``as_of`` is a version of a Delta Lake table, or the id
    of a snapshot of an Iceberg table. ``options`` and the other arguments are those of ``create``.

    If reading or writing fails, the new table exists and is empty. Raises DuplicateKeyError if two
    rows have the same key and no ``ordering`` says which one is newer, ConfigError for a source
    that cannot be converted or a path that overlaps with it, and the errors of ``create`` and of
    writes.
    """
    if record_key is None:
        raise CallError(
            "hoodoo.convert",
            "lacks record_key, and nothing in the source says which columns tell its rows apart.",
            'Give record_key="id", or several names; record_key=() makes keys, and rows can be '
            "appended then, and "
            "changed by predicate.",
        )
    for name, why in _NOT_OF_CREATE.items():
        if name in table:
            raise CallError("hoodoo.convert", f"does not take {name}={table[name]!r}.", why)
    keys = (record_key,) if isinstance(record_key, str) else tuple(record_key)
    found = found_at(source, as_of)
    path = _target(found, to)
    _refuse_overlap(found, path)
    parts = found.partition_by if partition_by is None else partition_by
    schema = plain_schema(texts_for_uuids(found.schema), check=True)
    for name in keys:
        if name not in schema.names:
            raise SchemaError(
                f"column {name!r}",
                "is to be of the record key, and is not in the source.",
                f"It has {', '.join(schema.names)}.",
            )
    made = hoodoo.create(
        path, schema, record_key=keys or None, partition_by=parts, options=options, **table
    )
    count = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal count
        for batch in found.batches():
            count += batch.num_rows
            yield from _plain(batch, schema)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    if not keys:
        made.bulk_insert(reader)
        return made
    # An upsert makes one row of each key, on whichever engine and of however many rows: what is
    # fewer, came twice.
    commit = made.upsert(reader)
    twice = count - commit.inserted
    if twice and not made.config.ordering_fields:
        made.rollback(commit.instant)
        raise DuplicateKeyError(
            f"record key {', '.join(keys)}",
            f"does not tell the rows apart: {twice} of {count} have the key of another.",
            "Name more columns; or say by ordering=... which row of a key is the newest. The new "
            "table "
            f"{made.path} is empty: delete it.",
        )
    return made


def _target(found: Source, to: str | os.PathLike[str] | None) -> str:
    if to is not None:
        return os.fspath(to)
    if not found.path:
        raise CallError(
            "hoodoo.convert",
            "lacks the path of the new table: the source has none beside which it could lie.",
            "Give to=....",
        )
    return found.path.rstrip("/") + SUFFIX


def _refuse_overlap(found: Source, path: str) -> None:
    """ConfigError for a table that would lie in its source, or around it: readers of the one would
    see files of the other."""
    for place in found.places:
        if ArrivingRows.overlap(path, place):
            beside = (found.path or place).rstrip("/") + SUFFIX
            raise ConfigError(
                f"path {path}",
                f"and the source {place} lie one in the other, and readers of the source would see "
                "the rows "
                "of the new table.",
                f"Choose a path beside the source, for example {beside}.",
            )


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """``batch`` in the types of the new table: dictionaries and large texts become plain."""
    table = pa.Table.from_batches([uuids_as_texts(batch)])
    columns = [_cast(table.column(f.name), f) for f in schema]
    yield from pa.table(columns, schema=schema).to_batches()


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"column {field.name}",
            f"is of {column.type} in some files, which does not become {field.type} ({error}).",
            "Cast it while reading: hoodoo.convert(pyarrow.dataset.dataset(path, schema=...), "
            "to=...).",
        ) from error
