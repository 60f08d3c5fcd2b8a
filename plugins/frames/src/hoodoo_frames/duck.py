"""A read as a relation of DuckDB, whose own reader takes files that are plain ones."""

from __future__ import annotations

from typing import Any

from hoodoo.read.rows import Rows

from hoodoo_frames.dataset import RowsDataset
from hoodoo_frames.eager import absent
from hoodoo_frames.plain_files import plain_files

# What DuckDB finds files by, where a name has it.
_PATTERN = frozenset("*?[")


def to_duckdb(self: Rows, connection: Any = None) -> Any:
    """This read as a relation of DuckDB, of ``connection`` or of its default one: ``.filter(...)``, ``.aggregate(...)``,
    or ``.create_view("trips")`` for SQL.

    Where its rows are those of plain Parquet files on this machine, DuckDB reads them by itself; elsewhere it asks the
    dataset (:func:`~hoodoo_frames.dataset.to_dataset`). It is of the moment at which the read was planned.

    Raises EngineError where DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise absent("to_duckdb", "duckdb") from error
    connection = duckdb.default_connection() if connection is None else connection
    files = plain_files(self, self) if self.schema.names else None
    if files and not any(_PATTERN & set(path) for path in files):
        found = connection.read_parquet(files, hive_partitioning=False).project(_listed(self))
        if found.types == connection.from_arrow(self.schema.empty_table()).types:
            return found
    return connection.from_arrow(RowsDataset(self))


def _listed(rows: Rows) -> str:
    return ", ".join('"{}"'.format(name.replace('"', '""')) for name in rows.schema.names)
