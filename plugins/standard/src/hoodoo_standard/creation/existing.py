"""Existing: whether a table that is there is the one that somebody would create."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import OptionConflictError, SchemaError
from hoodoo.hookspecs.creation import NewTable
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import same_plugin
from hoodoo.kernel.resolve import default_name
from hoodoo.model.brief import some
from hoodoo.model.config import TableConfig, partition_spec
from hoodoo.model.meta import without_meta
from hoodoo_rows.model.normalize import normalise_schema, without_index

from hoodoo_standard.creation.agreed import names_of


def existing_config(wanted: NewTable) -> TableConfig:
    """The properties of the table ``wanted.exists``. Arguments that say nothing agree with any
    table; options and plugins were judged when it was opened.

    Raises OptionConflictError for an argument that the table contradicts, SchemaError for a column
    that it lacks, or has in another type. The table may have more columns: it may have got them
    since."""
    table: Any = wanted.exists
    config: TableConfig = table.config
    parts = names_of(wanted.partition_by)
    named: tuple[tuple[str, Any, Any], ...] = (
        ("name", wanted.name, config.name),
        ("record_key", names_of(wanted.record_key), config.record_key_fields),
        (
            "partition_by",
            tuple(name for name, _type in partition_spec(",".join(parts))) if parts else (),
            config.partition_fields,
        ),
        ("ordering", names_of(wanted.ordering), config.ordering_fields),
        ("table_type", wanted.table_type, config.table_type),
        ("table_version", wanted.table_version, config.version),
        ("index", wanted.index if isinstance(wanted.index, str) else None, _index(wanted)),
    )
    for argument, value, stored in named:
        same = argument == "index" and same_plugin("index", value, stored)
        if value is not None and value != () and value != stored and not same:
            raise OptionConflictError(
                f"{argument}={_shown(value)}",
                f"contradicts the table at {table.path}, which has {argument}={_shown(stored)}.",
                "Leave the argument out, or choose another path.",
            )
    given = without_meta(
        normalise_schema(without_index(wanted.schema, named[1][1]), wanted.options)
    )
    stored_types = {field.name: field.type for field in table.schema}
    for field in given if stored_types else ():
        if field.name not in stored_types:
            raise SchemaError(
                f"column {field.name}",
                f"is in the schema, and the table at {table.path} lacks it ({some(stored_types)}).",
                f"Add it: table.alter(add={{{field.name!r}: ...}}); or leave it out.",
            )
        if field.type != stored_types[field.name]:
            raise SchemaError(
                f"column {field.name}",
                f"is {field.type} in the schema, and {stored_types[field.name]} in the table at "
                f"{table.path}.",
                "Give the type of the table, or choose another path.",
            )
    return config


def _index(wanted: NewTable) -> str:
    config = wanted.exists.config
    return config.index_name or str(default_name("index", Settings(config, wanted.options)))


def _shown(value: Any) -> str:
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
