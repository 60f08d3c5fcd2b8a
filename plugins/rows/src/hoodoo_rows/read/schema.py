"""The schema of a table at an instant: the newest commit that says one, else the table's
creation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from hoodoo.errors import CorruptTableError, SchemaError
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.meta import META_FIELDS, RECORD_KEY, with_meta, without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.timeline.instants import order_key

from hoodoo_rows.model.normalize import plain_schema


def stored_schema(
    source: ReadSource, file_format: BaseFileFormat, bound: str | None, slices: Iterable[FileSlice]
) -> tuple[str | None, pa.Schema]:
    """The newest write instant up to ``bound``, and the stored schema of the table there.

    Looks at: commits up to the bound, newest first; ``hoodie.table.create.schema``; a base file;
    the oldest later commit (a table asked for a time before it was filled). Of a table with virtual
    keys it has the meta columns that are filled. Raises CorruptTableError when there are commits
    and nothing tells."""
    visible, later = _split(source, bound)
    newest = visible[0].requested if visible else None
    data = (
        _from_commits(source, visible)
        or _from_text(source.config.create_schema, "property hoodie.table.create.schema")
        or _from_base_file(source, file_format, slices)
        or _from_commits(source, reversed(later))
    )
    if data is None and not (visible or later):
        data = pa.schema([])  # as hudi-rs makes tables: the first rows bring their columns
    if data is None:
        raise CorruptTableError(
            f"table {source.config.name or source.storage.root}",
            "no commit, property or base file has its schema",
            "restore its timeline, or set hoodie.table.create.schema.",
        )
    return newest, stored(data, source.config)


def stored(data: pa.Schema, config: TableConfig) -> pa.Schema:
    """The columns of the files that belong to the table: meta columns first, those that are filled.

    All nullable, at every depth: writers differ in what they declare, and no reader depends on it.
    """
    left_out = hidden(config)
    return plain_schema(pa.schema([f for f in with_meta(data) if f not in left_out]))


def hidden(config: TableConfig) -> tuple[pa.Field, ...]:
    """The meta columns that are null whatever files store: those that rows of the table don't fill,
    and the record key where it is virtual (RFC-21)."""
    if config.populate_meta_fields:
        return ()
    filled = config.filled_meta - {RECORD_KEY}
    return tuple(field for field in META_FIELDS if field.name not in filled)


def _split(source: ReadSource, bound: str | None) -> tuple[Sequence[Instant], Sequence[Instant]]:
    """Completed writes, newest request first: those up to the bound, and those after it."""
    writes = source.timeline.writes()[::-1]
    later = 0 if bound is None else sum(order_key(i.requested) > order_key(bound) for i in writes)
    return writes[later:], writes[:later]


def _from_commits(source: ReadSource, instants: Iterable[Instant]) -> pa.Schema | None:
    fallback: pa.Schema | None = None
    for instant in instants:
        metadata = source.timeline.metadata(source.storage, instant)
        path = f"{source.storage.root}/{source.timeline.path(instant)}"
        found = _from_text(metadata.schema_text, f"schema in {path}")
        if found is not None and metadata.operation.can_change_schema:
            return found
        fallback = fallback or found
    return fallback


def _from_text(text: str | None, obj: str) -> pa.Schema | None:
    try:
        return without_meta(arrow_schema(text, obj)) if text else None
    except SchemaError as error:
        if obj in error.obj:
            raise
        raise SchemaError(f"{obj}: {error.obj}", error.rule, error.fix) from error


def _from_base_file(
    source: ReadSource, file_format: BaseFileFormat, slices: Iterable[FileSlice]
) -> pa.Schema | None:
    for base in (slice_.base_file for slice_ in slices if slice_.base_file is not None):
        with file_format.reader(source.storage, base.path) as reader:
            return without_meta(reader.schema.remove_metadata())
    return None
