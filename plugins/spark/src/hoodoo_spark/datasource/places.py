"""Where a table is, as a source in Python sees it: what Spark knows of stores, and of its catalog's
tables, is not said here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hoodoo.errors import SchemaError, StorageError
from hoodoo.model.meta import META_COLUMNS
from hoodoo.storage.uri import split

from hoodoo_spark.datasource.options import Wanted

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


def refuse_other_columns(wanted: Wanted, names: Sequence[str], there: Sequence[str]) -> None:
    """SchemaError where Spark's catalog has columns that the table lacks. ``names``: those of the
    catalog, ``there``: of the table."""
    missing = [name for name in names if name not in (*there, *META_COLUMNS)]
    if wanted.catalog and missing:
        raise SchemaError(
            f"the entry of table {wanted.path} in Spark's catalog",
            f"has columns that the table has not: {', '.join(missing)}; the table has "
            f"{', '.join(there)}. "
            "Spark's ALTER TABLE changes the entry alone",
            'Change the table, table.alter(add={"name": "type"}), or make the entry anew: DROP '
            "TABLE, which leaves the rows, then "
            f"CREATE TABLE name USING hoodoo LOCATION '{wanted.path}', without columns.",
        )
