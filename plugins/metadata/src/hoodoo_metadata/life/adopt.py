"""Adopt: indexes that another engine has made are kept from the first write of Hoodoo on.

Spark Hudi lists a secondary index, or one of an expression, in the properties and says in
``index.json`` which column it is of. Hoodoo notes it as one of its own then, and each of its
commits updates it. Reads of Hoodoo use it after it was rebuilt here: nobody has proven what the
other engine wrote into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from time import sleep

from hoodoo.errors import CommitConflictError
from hoodoo.model.config import TableConfig
from hoodoo.model.meta import without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.timeline import load

from hoodoo_metadata.life.definitions import (
    defined,
    is_partitioned,
    is_secondary_of,
    made_again,
    of_one_column,
)
from hoodoo_metadata.partitions.expression.definition import Expression
from hoodoo_metadata.partitions.known import is_possible
from hoodoo_metadata.partitions.secondary.rows import KEPT, indexes_of_columns, is_indexable, noted
from hoodoo_metadata.table.layout import RECORD_INDEX, is_expression, is_secondary
from hoodoo_metadata.table.metadata_table import listed

# In seconds, while another writer changes the properties. Who went on without the notes would
# remove the indexes.
_WAITS = (0.01, 0.05, 0.2, 1.0)


def adopt(storage: Storage, config: TableConfig) -> TableConfig:
    """The properties, in which those indexes of others are noted that Hoodoo can update. Reads
    nothing where there is none."""
    kept = indexes_of_columns(config)
    asked = [
        partition
        for partition in listed(config)
        if is_secondary(partition) or (is_expression(partition) and partition not in kept)
    ]
    if not asked:
        return config
    changed = made_again(storage, {p: kept[p] for p in asked if p in kept})
    others = [p for p in asked if p in changed or p not in kept]
    if not others:
        return config
    found = {p: column for p, column in _keepable(storage, config) if p in others}
    if not (found or changed):
        return config

    def change(now: TableConfig) -> dict[str, str | None]:
        left = {p: c for p, c in indexes_of_columns(now).items() if p not in changed}
        there = listed(now)  # what was dropped meanwhile is no index any more
        return {KEPT: noted({**left, **{p: c for p, c in found.items() if p in there}})}

    for wait in _WAITS:
        with suppress(CommitConflictError):  # another writer is at it, or has done it
            return properties.update(storage, config, change)
        sleep(wait)
        now = properties.load(storage)
        if all(indexes_of_columns(now).get(p) == found.get(p) for p in others if p in listed(now)):
            return now
    return properties.update(storage, config, change)


def _keepable(storage: Storage, config: TableConfig) -> Iterator[tuple[str, str]]:
    """Partition and column of the indexes whose entries Hoodoo writes as Hudi does."""
    text = load(storage, config).latest_schema_text(storage) or config.create_schema
    if text is None:
        return
    schema = without_meta(arrow_schema(text))
    for partition, one in defined(storage).items():
        column = of_one_column(config, one, partition)
        at = -1 if column is None else schema.get_field_index(column)
        if at < 0 or column is None or not is_possible(config, partition):
            continue
        if is_expression(partition):
            if Expression.of(one, schema, config.version) is not None:
                yield partition, column
        elif (
            is_indexable(schema.field(at).type)
            and is_secondary_of(config, one, partition, column)
            and _has_unique_keys(storage, config)
        ):
            yield partition, column


def _has_unique_keys(storage: Storage, config: TableConfig) -> bool:
    """Whether a secondary index can name rows by their keys."""
    there = RECORD_INDEX in listed(config) and config.populate_meta_fields
    return there and not is_partitioned(storage, config=config)
