"""Virtual keys: base files that don't store their record keys, read and written as if they did.

Only writers need the keys of whole files: to find rows, to merge with them, to compact. For these a
table with virtual keys (RFC-21; ``hoodie.populate.meta.fields=false``) looks like any other through
:class:`VirtualKeys`. Stored keys, of files from before, are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, frozen
from hoodoo.errors import ConfigError, MissingColumnError, NullKeyError
from hoodoo.hookspecs.file_format import (
    BaseFileFormat,
    BaseFileReader,
    BaseFileWriter,
    ColumnBounds,
    HasColumnRanges,
    KnowsNulls,
    is_plain_parquet,
)
from hoodoo.hookspecs.key_generator import KeyGenerator, can_be_virtual
from hoodoo.model.config import STORED_UNTIL, TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import META_COLUMNS, PARTITION_PATH, RECORD_KEY, emptied
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key

from hoodoo_rows.model.filter_text import text_of
from hoodoo_rows.read.reader_around import ReaderAround


def check_columns(generator: KeyGenerator, schema: pa.Schema, obj: str) -> None:
    """MissingColumnError where ``schema``, that of ``obj``, lacks a column of the key."""
    for name in generator.record_key_fields:
        if name not in schema.names and name.split(".")[0] not in schema.names:
            raise MissingColumnError(
                obj, f"lacks the column {name}, from which its virtual keys are computed.", RESTORE
            )


def check_rows(generator: KeyGenerator, reader: BaseFileReader, path: str) -> None:
    """MissingColumnError where the base file lacks a column of the key, NullKeyError where a row's
    key can't be made as columns are null. Reads these columns where the file itself does not know
    that they have no null."""
    if isinstance(reader, KnowsNulls) and reader.without_nulls(generator.record_key_fields):
        return
    check_columns(generator, reader.schema, f"base file {path}")
    columns = key_columns(generator, reader.schema)
    if not columns:
        return
    fields = [n if n in columns else tuple(n.split(".")) for n in generator.record_key_fields]
    null = reduce(or_, (pc.field(field).is_null() for field in fields))
    for batch in reader.batches(columns, null):
        record_keys(generator, batch, columns, path)


_MADE = (RECORD_KEY, PARTITION_PATH)
RESTORE = "Restore the key columns to their state before the change: keys are computed from them."


@frozen
class VirtualKeys:
    """Implements :class:`~hoodoo.hookspecs.file_format.BaseFileFormat` around another one.
    ``filled``: the meta columns that new files store all the same."""

    inner: BaseFileFormat
    generator: KeyGenerator
    filled: frozenset[str] = frozenset()

    @property
    def extension(self) -> str:
        """As of the inner format, for example ``.parquet``."""
        return self.inner.extension

    @property
    def plain_parquet(self) -> bool:
        """Whether other programs can read the files as plain Parquet."""
        return is_plain_parquet(self.inner)

    def column_ranges(
        self, storage: Storage, path: str, columns: Sequence[str]
    ) -> Mapping[str, ColumnBounds]:
        """As the inner format's; of the keys that are made nothing is known."""
        if not isinstance(self.inner, HasColumnRanges):
            return {}
        stored = [name for name in columns if name not in _MADE]
        return self.inner.column_ranges(storage, path, stored)

    def reader(self, storage: Storage, path: str) -> KeyedReader:
        """A reader of the file at ``path`` that adds the keys."""
        return KeyedReader(self.inner.reader(storage, path), self.generator, path)

    def writer(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None = None,
        base: BaseFileReader | None = None,
    ) -> BaseFileWriter:
        """A writer of the file ``local`` that leaves the keys out. The arguments are those of
        the inner format."""
        return _Writer(self.inner.writer(local, schema, expected_rows, base), self.filled)


@frozen
class KeyedReader(ReaderAround):
    """A base file whose record keys and partition path are made when they are asked for. It is no
    :class:`~hoodoo.hookspecs.file_format.KnowsKeys`: what the inner one knows is of stored keys."""

    generator: KeyGenerator
    path: str

    @property
    def schema(self) -> pa.Schema:
        """The columns of the file, and those that are computed."""
        stored = self.inner.schema
        made = [pa.field(name, pa.string()) for name in _MADE if name not in stored.names]
        return pa.schema([*stored, *made])

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """As the inner reader's. A filter on meta columns prunes nothing: the file's statistics are
        not those of the values made here."""
        stored = self.inner.schema.names
        asked = self.schema.names if columns is None else columns
        wanted = [name for name in asked if name in _MADE or name in stored]
        if where is not None and any(name in text_of(where) for name in META_COLUMNS):
            where = None
        there = [name for name in wanted if name not in _MADE]
        if len(there) == len(wanted):
            yield from self.inner.batches(there, where, batch_rows, encoded)
            return
        keys = key_columns(self.generator, self.inner.schema) if RECORD_KEY in wanted else []
        read = [*there, *(n for n in keys if n not in there)]
        for batch in self.inner.batches(read, where, batch_rows, encoded):
            made = [
                record_keys(self.generator, batch, keys, self.path)
                if name == RECORD_KEY
                else pa.repeat(self.path.rpartition("/")[0], batch.num_rows)
                if name == PARTITION_PATH
                else batch.column(name)
                for name in wanted
            ]
            yield pa.RecordBatch.from_arrays(made, names=wanted)


def key_columns(generator: KeyGenerator, schema: pa.Schema) -> list[str]:
    """The top-level columns of ``schema`` that record keys are made of."""
    tops = (n if n in schema.names else n.split(".")[0] for n in generator.record_key_fields)
    return [name for name in dict.fromkeys(tops) if name in schema.names]


def record_keys(
    generator: KeyGenerator, batch: pa.RecordBatch, columns: Sequence[str], path: str
) -> pa.Array:
    """The keys of the rows of the base file ``path``, made of ``columns``, which may be
    dictionaries here."""
    found = [batch.column(name) for name in columns]
    plain = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in found]
    try:
        return generator.record_keys(pa.RecordBatch.from_arrays(plain, names=list(columns)))
    except NullKeyError as error:
        raise NullKeyError(f"base file {path}: {error.obj}", error.rule, RESTORE) from error


def made_deletes(generator: KeyGenerator | None, found: pa.Table) -> pa.Table:
    """``found``, rows of a delete block, with their ``record_key`` as ``generator`` makes it: one
    whose form differs by release says how by a method ``deleted_keys``, which may answer
    several."""
    method = getattr(generator, "deleted_keys", None)
    if method is None:
        return found
    at = found.schema.get_field_index("record_key")
    forms = method(found.column(at))
    return pa.concat_tables([found.set_column(at, "record_key", keys) for keys in forms])


def delete_block_keys(generator: KeyGenerator | None, keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """Keys of ``generator`` as a delete block names them, by its method of this name if it has
    one."""
    method = getattr(generator, "delete_block_keys", None)
    return keys if method is None else method(keys)


@define
class _Writer:
    inner: BaseFileWriter
    filled: frozenset[str]

    def write(self, batch: pa.RecordBatch | pa.Table, known: bool = False) -> None:
        """Write ``batch`` without its keys."""
        self.inner.write(emptied(batch, self.filled), known)

    @property
    def written(self) -> int:
        """Bytes so far."""
        return self.inner.written

    def flush(self) -> int:
        """End a row group; bytes so far."""
        return self.inner.flush()

    def close(self) -> int:
        """End the file; its bytes."""
        return self.inner.close()


def check_virtual(generator: KeyGenerator, name: str) -> None:
    """ConfigError where files may not lack the generator's keys."""
    if can_be_virtual(generator):
        return
    if not generator.record_key_fields:
        raise ConfigError(
            "virtual keys",
            "the table has no key columns: its keys are made when rows are written, and can't be "
            "computed again.",
            "Name columns: record_key=...; or store the keys.",
        )
    raise ConfigError(
        f"key generator {name}",
        "can't make virtual keys: readers could not compute the keys again (Hudi allows SIMPLE, "
        "COMPLEX and NON_PARTITION).",
        "use one of these, store the keys, or see docs/virtual-keys.md for an option that allows "
        "some others.",
    )


def stores_keys(slice_: FileSlice, config: TableConfig) -> bool:
    """Whether some of the slice's files are from when the table stored its keys."""
    until = config.get(STORED_UNTIL)
    return not config.populate_meta_fields and until is not None and begun_by(slice_, until)


def begun_by(slice_: FileSlice, until: str) -> bool:
    """Whether some of the slice's files are of the instant ``until`` or one before."""
    base = () if slice_.base_file is None else (slice_.base_file,)
    return any(order_key(f.instant) <= order_key(until) for f in (*base, *slice_.log_files))
