"""Field ids of new base files: a table that is published as Iceberg notes the ids of its columns
in a property, and writers put them into files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from hoodoo.errors import CommitConflictError
from hoodoo.model.config import TableConfig
from hoodoo.model.meta import META_COLUMNS, without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.options.table import FIELD_IDS
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties

from hoodoo_publishing.files import Head
from hoodoo_publishing.iceberg.metadata import IcebergMetadata
from hoodoo_publishing.iceberg.schema import LAST, Ids, columns, known_ids, stored_ids


def with_ids(
    config: TableConfig, formats: Sequence[Any], schema: pa.Schema, storage: Storage | None = None
) -> TableConfig:
    """``config`` with the ids of the columns of ``schema``: those of the Iceberg metadata in
    ``storage``; None: of a new table, which has none. The same where new files get no ids."""
    iceberg = next((form for form in formats if isinstance(form, IcebergMetadata)), None)
    if iceberg is None or config.base_file_format.upper() != "PARQUET":
        return config
    stored = stored_ids(config.properties)
    if stored and _are_known(stored, schema):
        return config
    head = Head() if storage is None else iceberg.head(storage)
    if storage is not None and head.detail is None:  # the first metadata gives the ids
        return config
    now = iceberg.field_ids(head, schema)
    if not now:
        return config  # the next action that publishes
    # Columns of now alone: one that is called later as another was until a rollback, a restore or
    # a drop would get that one's id. Nobody else may get the ids of these: the last one is noted.
    last = max(stored.values(), default=0)
    ids = now if last <= max(now.values()) else {**now, LAST: last}
    text = json.dumps(ids, separators=(",", ":"))
    return TableConfig({**config.properties, FIELD_IDS: text})


def note_ids(
    storage: Storage,
    config: TableConfig,
    formats: Sequence[Any],
    schema_text: Callable[[Storage], str | None],
) -> None:
    """The next base files have ids of all columns, also of those that came since. Each process
    notes the same ones: they are in the Iceberg metadata, which is decided."""
    text = schema_text(storage) or config.create_schema
    if text is None:
        return
    now = with_ids(config, formats, without_meta(arrow_schema(text)), storage)
    if now is not config:
        with suppress(CommitConflictError):  # another process changes properties: the next action
            properties.update(storage, config, {FIELD_IDS: now.properties[FIELD_IDS]})


def _are_known(stored: dict[str, int], schema: pa.Schema) -> bool:
    """Whether ``stored`` are the ids of the columns of ``schema``, each of its own, and no more."""
    ids = Ids(stored, 0)
    now = known_ids(columns(schema, ids))
    others = stored.keys() - now.keys() - {*META_COLUMNS, LAST}
    return ids.last == 0 and not others and len(set(stored.values())) == len(stored)
