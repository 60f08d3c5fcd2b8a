"""What hoodoo-rows offers. Imports nothing heavy: discovery reads it in every process."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_rows.options import BY_ROWS, GROUP

_WRITES = (
    "upsert",
    "insert",
    "append",
    "bulk_insert",
    "delete",
    "insert_overwrite",
    "insert_overwrite_table",
    "delete_partitions",
)


_READS = ("read", "query", "to_arrow", "count", "head", "__arrow_c_stream__")


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    """``hoodoo.write``."""
    return [
        Registration(
            "write",
            "hoodoo_rows.write.first_rows:write",
            summary="Rows upserted into a table, which is created if there is none.",
        )
    ]


@hookimpl
def hoodoo_first_rows(data: Any) -> Any:
    """Data in place of a schema."""
    from hoodoo_rows.write.first_rows import first_rows

    return first_rows(data)


@hookimpl
def hoodoo_table_rows() -> Any:
    """The methods of tables that read and write rows."""
    return import_module("hoodoo_rows.of_table")


@hookimpl
def hoodoo_actions() -> Iterable[Registration]:
    """The action that writes rows."""
    return [
        Registration(
            "write",
            "hoodoo_rows.writes:Write.from_settings",
            summary="Write rows: upsert, insert, delete and the other operations, each one commit.",
            options=(GROUP,),
            verbs={name: f"hoodoo_rows.writes:{name}" for name in _WRITES},
        )
    ]


@hookimpl
def hoodoo_participants() -> Iterable[Registration]:
    """What refuses actions on tables that other programs keep."""
    return [
        Registration(
            "kept_elsewhere",
            "hoodoo_rows.kept_elsewhere:KeptElsewhere.from_settings",
            summary="refuses to write tables that another program makes of another format",
        )
    ]


@hookimpl
def hoodoo_query_types() -> Iterable[Registration]:
    """The query type that reads rows."""
    return [
        Registration(
            "snapshot",
            "hoodoo_rows.reads:SnapshotQuery.from_settings",
            summary="The rows of the table now, or at an older instant.",
            options=(BY_ROWS,),
            verbs={name: f"hoodoo_rows.reads:{name}" for name in _READS},
        )
    ]
