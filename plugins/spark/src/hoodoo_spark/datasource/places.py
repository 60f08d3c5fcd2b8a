"""Where a table is, as a source in Python sees it: what Spark knows of stores, and of its catalog's
tables, is not said here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from hoodoo.errors import SchemaError, StorageError
from hoodoo.model.meta import META_COLUMNS
from hoodoo.storage.uri import split

from hoodoo_spark.datasource.options import Wanted
from hoodoo_spark.types import spark_schema

_SESSION = (
    "Spark does not show a source in Python the settings of the session (spark.hadoop.fs.*): "
    "repeat them as options, "
    '.option("fs.s3a.access.key", ...), or set the variables of the cloud before Spark starts.'
)


@contextmanager
def reached(path: str) -> Iterator[None]:
    """An error of an object store says as well where its credentials have to be."""
    try:
        yield
    except StorageError as error:
        if split(path)[0] in ("", "file"):
            raise
        fix = f"{error.fix} {_SESSION}".strip()
        raise type(error)(error.obj, error.rule, fix) from error


def anew(path: str) -> str:
    """How the entry of a table in Spark's catalog gets the columns of today."""
    return (
        "make the entry anew: DROP TABLE, which leaves the rows, then CREATE TABLE name USING "
        f"hoodoo LOCATION '{path}', without columns."
    )


def _differs(path: str, rule: str, instead: str) -> SchemaError:
    return SchemaError(
        f"the entry of table {path} in Spark's catalog",
        f"{rule}. Spark's ALTER TABLE changes the entry alone",
        f"Change the table, {instead}, or {anew(path)}",
    )


def refuse_other_columns(wanted: Wanted, struct: Any, there: pa.Schema) -> None:
    """SchemaError where Spark's catalog was altered, and the table ``there`` was not. ``struct``:
    the columns of the catalog. Columns that the table got since are no matter."""
    if not wanted.catalog:
        return
    kinds, has = _kinds(struct), _kinds(spark_schema(there))
    if missing := [name for name in kinds if name not in has]:
        rule = f"has columns that the table has not: {', '.join(missing)}; the table has "
        raise _differs(wanted.path, rule + ", ".join(has), 'table.alter(add={"name": "type"})')
    if gone := [name for name in wanted.noted if name in has and name not in kinds]:
        rule = f"lacks columns that the table has: {', '.join(gone)}"
        raise _differs(wanted.path, rule, f"table.alter(drop={gone})")
    for name, kind in kinds.items():
        if kind not in (has[name], wanted.noted.get(name, kind)):
            rule = f"has column {name} as {kind}, and the table as {has[name]}"
            raise _differs(wanted.path, rule, f'table.alter(widen={{"{name}": "{kind}"}})')


def _kinds(struct: Any) -> dict[str, str]:
    """The type of each column, without Hudi's own."""
    return {one.name: plain(one.dataType) for one in struct.fields if one.name not in META_COLUMNS}


def plain(kind: Any) -> str:
    """A type of Spark's without what it says of nulls."""
    return str(kind.simpleString())
