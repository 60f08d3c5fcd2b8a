"""Virtual keys of files that are read: RFC-21 asks readers to raise where a key can't be made."""

from __future__ import annotations

from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.errors import MissingColumnError, NullKeyError
from hoodoo.hookspecs.file_format import BaseFileReader, KnowsNulls
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.merge.virtual import key_columns, record_keys

_FIX = "Restore what is there to the state before it was changed: keys of such rows are made of nothing else."


def check_columns(generator: KeyGenerator, schema: pa.Schema, obj: str) -> None:
    """MissingColumnError where ``schema``, that of ``obj``, lacks a column of the key."""
    for name in generator.record_key_fields:
        if name not in schema.names and name.split(".")[0] not in schema.names:
            raise MissingColumnError(obj, f"lacks the column {name}, of which its virtual keys are made.", _FIX)  # fmt: skip


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
    try:
        for batch in reader.batches(columns, null):
            record_keys(generator, batch, columns)
    except NullKeyError as error:
        raise NullKeyError(f"base file {path}: {error.obj}", error.rule, _FIX) from error
