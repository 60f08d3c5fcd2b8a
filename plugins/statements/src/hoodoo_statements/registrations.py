"""What hoodoo-statements offers. Imports nothing heavy: discovery reads it in every process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_statements import options


@hookimpl
def hoodoo_actions() -> Iterable[Registration]:
    return [
        Registration(
            "delete",
            "hoodoo_statements.actions:DeleteAction.from_settings",
            summary="rows that a condition is true of are deleted",
            roles=("deletes_where",),
        ),
        Registration(
            "update",
            "hoodoo_statements.actions:UpdateAction.from_settings",
            summary="columns of rows that a condition is true of get other values",
            verbs={"update": "hoodoo_statements.verbs:update"},
        ),
        Registration(
            "merge",
            "hoodoo_statements.actions:MergeAction.from_settings",
            options=(options.SOURCE_LIMIT,),
            summary="rows of a source change those that they belong to, or come in",
            verbs={"merge": "hoodoo_statements.verbs:merge"},
        ),
        Registration(
            "alter",
            "hoodoo_statements.alter:AlterAction.from_settings",
            summary="columns are added, widened, made nullable; no row changes",
            verbs={"alter": "hoodoo_statements.verbs:alter"},
        ),
    ]


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    return [
        Registration(
            "sql",
            "hoodoo_statements.sql:sql",
            options=(options.INSERT_INTO,),
            summary="runs MERGE INTO, UPDATE, DELETE FROM, INSERT INTO, SELECT",
        ),
        Registration(
            "session",
            "hoodoo_statements.session.session:session",
            summary="tables that have names, for statements of SQL by DuckDB or Spark",
        ),
        Registration(
            "where",
            "hoodoo_statements.text.filters:where",
            summary="a condition of SQL, or a Column of Spark, as a pyarrow expression",
        ),
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "sql",
            "hoodoo_statements.commands.sql:sql",
            summary="Run SQL over tables: SELECT, INSERT INTO, UPDATE, DELETE FROM, MERGE INTO, "
            "ALTER TABLE.",
        )
    ]


@hookimpl
def hoodoo_arrow_schema(schema: Any) -> Any:
    if isinstance(schema, str):
        from hoodoo_statements.column_types import columns_of

        return columns_of(schema)
    if not isinstance(schema, Mapping):
        return None
    from hoodoo_statements.column_types import columns_of_dict

    return columns_of_dict(schema)
