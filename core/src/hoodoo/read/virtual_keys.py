"""Virtual keys of files that are read: RFC-21 asks readers to raise where a key can't be made."""

from __future__ import annotations

from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.errors import MissingColumnError
from hoodoo.hookspecs.file_format import BaseFileReader, KnowsNulls
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.merge.virtual import RESTORE, key_columns, record_keys


def check_columns(generator: KeyGenerator, schema: pa.Schema, obj: str) -> None:
    """MissingColumnError where ``schema``, that of ``obj``, lacks a column of the key."""
    for name in generator.record_key_fields:
        if name not in schema.names and name.split(".")[0] not in schema.names:
            raise MissingColumnError(obj, f"lacks the column {name}, from which its virtual keys are computed.", RESTORE)  # fmt: skip


def check_rows(generator: KeyGenerator, reader: BaseFileReader, path: str) -> None:
    """MissingColumnError where the base file lacks a column of the key, NullKeyError where a row's key can't be
    made as columns are null. Reads these columns where the file itself does not know that they have no null."""
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
