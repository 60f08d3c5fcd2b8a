"""Verify: ``hoodie.properties`` as it lies on disk."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo.model.config import TableConfig
from hoodoo.model.findings import Finding
from hoodoo.options.table import DATABASE
from hoodoo.storage.api import Storage
from hoodoo.timeline import javaprops, properties
from hoodoo.timeline.javaprops import CHECKSUM

_REQUIRED = ("hoodie.table.name", "hoodie.table.version", "hoodie.table.type")
_TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
_COPY = "restore the file from a copy, or from its backup."


def check_properties(storage: Storage) -> tuple[TableConfig | None, tuple[Finding, ...]]:
    """The settings of the table, or None where the file does not give any that can be gone by; and
    what is wrong with the file.

    Raises NotATableError where there is no table.
    """
    try:
        config = properties.load(storage)
    except CorruptTableError as error:
        return None, (Finding("properties.unreadable", properties.PATH, error.rule, error.fix),)
    except UnsupportedTableError as error:
        return None, (Finding("properties.version", properties.PATH, error.rule, error.fix),)
    return config, tuple(_of_the_file(storage))


def _of_the_file(storage: Storage) -> Iterator[Finding]:
    """What a reader passes over, because the backup or a default helps."""
    if storage.head(properties.BACKUP) is not None:
        yield Finding(
            "properties.backup",
            properties.BACKUP,
            "an update of the properties was begun and not finished",
            "the next write finishes it.",
        )
    try:
        values = javaprops.parse(storage.get(properties.PATH))
    except FileNotFoundError:
        yield Finding(
            "properties.unreadable", properties.PATH, "is missing; its backup is read", _COPY
        )
        return
    name = values.get("hoodie.table.name", "")
    expected = properties.checksum(name, values.get(DATABASE.key, ""))
    if values.get(CHECKSUM, expected) != expected:
        yield Finding(
            "properties.unreadable",
            properties.PATH,
            f"{CHECKSUM} is {values[CHECKSUM]}, and that of the table's name {expected}",
            _COPY,
        )
    for key in _REQUIRED:
        if not values.get(key):
            yield Finding("properties.key", properties.PATH, f"{key} is missing", f"set {key}.")
    kind = values.get("hoodie.table.type") or _TYPES[0]
    if kind not in _TYPES:
        yield Finding(
            "properties.key",
            properties.PATH,
            f"hoodie.table.type is {kind!r}, which is not one of {' and '.join(_TYPES)}",
            "correct it.",
        )


def check_columns(config: TableConfig, schema: pa.Schema) -> Iterator[Finding]:
    """Properties that name columns which the table, whose own columns are ``schema``, lacks."""
    named = {
        "hoodie.table.recordkey.fields": config.record_key_fields,
        "hoodie.table.partition.fields": (
            () if config.drop_partition_columns else config.partition_fields
        ),
        "hoodie.table.ordering.fields": config.ordering_fields,
    }
    known = {name.lower() for name in schema.names}
    for key, columns in named.items():
        for column in columns:
            if column.split(".")[0].lower() not in known:
                yield Finding(
                    "properties.key",
                    properties.PATH,
                    f"{key} names {column!r}, which is no column of the table",
                    "correct the property.",
                )
