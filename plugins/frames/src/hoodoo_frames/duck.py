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
    """This read as a DuckDB relation of ``connection``, or of DuckDB's default connection: use ``.filter(...)``,
    ``.aggregate(...)``, or ``.create_view("trips")`` for SQL.

    If all rows are in plain Parquet files on this machine, DuckDB reads the files itself; otherwise it reads the
    dataset (``to_dataset``). The relation shows the state at the time when the read was planned.

    Raises EngineError if DuckDB is not installed.
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
