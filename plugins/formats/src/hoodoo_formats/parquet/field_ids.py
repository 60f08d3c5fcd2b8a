"""Field ids of Parquet columns, by which readers of Iceberg know a column, whatever its name is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

import pyarrow as pa
from hoodoo.errors import ConfigError
from hoodoo.model.meta import META_COLUMNS
from hoodoo.options.table import FIELD_IDS

from hoodoo_formats.logical import stored_field

_KEY = b"PARQUET:field_id"


@lru_cache(maxsize=8)
def field_ids(text: str) -> Mapping[str, int]:
    """Path of a column -> id, as the table property says. ConfigError for another text."""
    try:
        found = {str(path): int(number) for path, number in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"table property {FIELD_IDS}",
            f"is no JSON object of numbers ({error}).",
            "Remove it: new files have no field ids then.",
        ) from error
    return found


def with_ids(schema: pa.Schema, ids: Mapping[str, int]) -> pa.Schema:
    """``schema``, all of whose columns have their ``ids``, at any depth. Where one has none, or two
    have the same, no column gets any: readers take a file with ids by these alone. The same where
    ``ids`` has other columns: it is of another schema, in which names may mean something else."""
    if len(set(ids.values())) < len(ids):
        return schema
    left = {*ids} - {*META_COLUMNS, ""}  # "": the last id of columns that are not there any more
    try:
        found = pa.schema([_field(stored_field(f), f.name, ids, left) for f in schema])
    except KeyError:
        return schema
    return schema if left else found


def _field(field: pa.Field, path: str, ids: Mapping[str, int], left: set[str]) -> pa.Field:
    left.discard(path)
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_field(f, f"{path}.{f.name}", ids, left) for f in kind])
    elif pa.types.is_list(kind):
        kind = pa.list_(_field(kind.value_field, f"{path}.element", ids, left))
    elif pa.types.is_map(kind):
        parts = (kind.key_field, f"{path}.key"), (kind.item_field, f"{path}.value")
        kind = pa.map_(*(_field(part, at, ids, left) for part, at in parts))
    return pa.field(field.name, kind, field.nullable, {_KEY: str(ids[path]).encode()})
