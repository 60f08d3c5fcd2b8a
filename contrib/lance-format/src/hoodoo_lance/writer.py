"""Writing one file: batches of 1000 rows, and a schema that says what is known of its keys."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import DataError, SchemaError, StorageError
from hoodoo.model.meta import RECORD_KEY
from hoodoo.model.schema import logical
from hoodoo_formats.logical import footer
from hoodoo_formats.record_keys import KeyStats
from hoodoo_rows.model.normalize import conform, plain_schema
from lance.file import LanceFileWriter

# What Hudi 1.2 writes, and all that reads it.
VERSION = "2.0"
_BATCH_ROWS = 1000
# Of a file, and of each of its columns, without values: nearly.
_FILE_BYTES, _COLUMN_BYTES = 700, 160
# A column of texts with fewer values is stored as a dictionary, with a byte a row.
_DISTINCT, _LOOKED_AT = 100, 8192
_OTHERWISE = "Use base files of another format: hoodie.table.base.file.format=PARQUET."


class LanceWriter:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileWriter`.

    Lance holds some MB of each column. ``keys`` collects what the file says of record keys; None:
    nothing."""

    def __init__(self, local: str, schema: pa.Schema, keys: KeyStats | None) -> None:
        self._local = local
        self._schema = plain_schema(schema)
        self._said = footer(self._schema)
        for field in self._schema:
            _check_type(field.type, field.name)
        self._stored = pa.schema([(f.name, _stored_type(f.type)) for f in self._schema])
        self._keys = keys
        self._nested = [f.name for f in self._schema if pa.types.is_nested(f.type)]
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        try:
            self._file = LanceFileWriter(local, self._stored, version=VERSION)
        except (ValueError, OSError) as error:
            raise self._failed(error) from error

    def write(self, batch: pa.RecordBatch | pa.Table, known: bool = False) -> None:
        for one in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
            rows = conform(one, self._schema)
            for name in self._nested:
                _check_values(rows.column(name), name)
            if self._keys is not None:
                self._keys.add(rows.column(RECORD_KEY), known)
            self._waiting.append(rows)
            self._rows += rows.num_rows
            if self._rows >= _BATCH_ROWS:
                self._put(self._rows - self._rows % _BATCH_ROWS)

    def _put(self, count: int) -> None:
        """The first ``count`` rows that wait go to Lance."""
        table = pa.Table.from_batches(self._waiting, self._schema).combine_chunks()
        self._waiting = table.slice(count).to_batches()
        self._rows -= count
        (rows,) = table.slice(0, count).to_batches()
        if self._said:
            columns = map(_stored, rows.columns, self._stored.types)
            rows = pa.RecordBatch.from_arrays(list(columns), schema=self._stored)
        self._bytes += sum(map(_stored_bytes, rows.columns))
        try:
            for start in range(0, count, _BATCH_ROWS):
                part = rows.slice(start, _BATCH_ROWS)
                own = list(map(_own, part.columns))
                self._file.write_batch(pa.RecordBatch.from_arrays(own, schema=self._stored))
        except (ValueError, OSError) as error:
            raise self._failed(error) from error

    @property
    def written(self) -> int:
        """A guess: Lance does not say what it holds, and stores most values as they are in
        memory."""
        leaves = sum(map(_leaves, self._schema.types))
        filter_bytes = self._keys.filter_bytes if self._keys else 0
        return self._bytes + leaves * _COLUMN_BYTES + _FILE_BYTES + filter_bytes

    def flush(self) -> int:
        if self._rows:
            self._put(self._rows)
        return self.written

    def close(self) -> int:
        self.flush()
        keys = self._keys.footer() if self._keys else {}
        for name, text in {**self._said, **keys}.items():
            said = text.decode("ascii") if isinstance(text, bytes) else text
            self._file.add_schema_metadata(name, said)
        try:
            self._file.close()
        except (ValueError, OSError) as error:
            raise self._failed(error) from error
        return int(self._file.size_bytes or 0)

    def _failed(self, error: Exception) -> StorageError:
        return StorageError(
            f"file {self._local}",
            f"it could not be written ({error}).",
            "Check space and permissions of the directory; nothing was published.",
        )


def _stored_type(kind: pa.DataType) -> pa.DataType:
    """Vectors are lists of a fixed size, and the file says elsewhere that they are vectors."""
    fixed = pa.types.is_fixed_size_list(kind)
    return pa.list_(kind.value_type, kind.list_size) if fixed else kind


def _stored(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return values.cast(kind) if pa.types.is_fixed_size_list(kind) else values


def _own(values: pa.Array) -> pa.Array:
    """A copy: Lance counts what a slice is of, and would make a page of each few."""
    return pa.concat_arrays([values, values.slice(0, 0)])


def _check_type(kind: pa.DataType, path: str) -> None:
    text = logical.text_of(kind)
    if text and not (pa.types.is_fixed_size_list(kind) and pa.types.is_floating(kind.value_type)):
        raise SchemaError(
            f"column {path}", f"Hudi has no columns {text} in Lance files, or none yet.", _OTHERWISE
        )
    if pa.types.is_map(kind):
        raise SchemaError(
            f"column {path}", f"Lance files of version {VERSION} have no maps.", _OTHERWISE
        )
    for field in (kind.field(i) for i in range(kind.num_fields)):
        _check_type(field.type, f"{path}.{field.name}")


def _check_values(values: pa.Array, path: str) -> None:
    """Lance files of this version can't tell a struct that is null from one of nulls."""
    if pa.types.is_struct(values.type):
        if values.null_count:
            raise DataError(
                f"column {path}",
                f"Lance files of version {VERSION} store no struct that is null.",
                f"Give it fields that are null ({{...: None}}). {_OTHERWISE}",
            )
        for field in values.type:
            _check_values(pc.struct_field(values, field.name), f"{path}.{field.name}")
    elif pa.types.is_list(values.type):
        _check_values(pc.list_flatten(values), f"{path}.{values.type.value_field.name}")


def _leaves(kind: pa.DataType) -> int:
    """Columns of the file that a column becomes: each struct and list is one."""
    return 1 + sum(_leaves(kind.field(i).type) for i in range(kind.num_fields))


def _stored_bytes(values: pa.Array) -> int:
    """Of these values in the file: nearly."""
    kind = values.type
    if pa.types.is_struct(kind):
        return sum(_stored_bytes(pc.struct_field(values, field.name)) for field in kind)
    if pa.types.is_list(kind):
        return 8 * len(values) + _stored_bytes(pc.list_flatten(values))
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        return int(values.nbytes)
    few = values.slice(0, _LOOKED_AT)
    if pc.count_distinct(few).as_py() < _DISTINCT:
        return len(values)
    return 8 * len(values) + int(pc.sum(pc.binary_length(values)).as_py() or 0)
