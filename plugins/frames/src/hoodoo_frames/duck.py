"""A read as a relation of DuckDB, whose own reader takes files that are plain ones."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hoodoo_rows.api import Rows

from hoodoo_frames.dataset import RowsDataset
from hoodoo_frames.eager import absent
from hoodoo_frames.plain_files import plain_files

if TYPE_CHECKING:
    import duckdb

# What DuckDB finds files by, where a name has it.
_PATTERN = frozenset("*?[")


def to_duckdb(
    self: Rows, connection: Any = None, *, unfiltered: bool = False
) -> duckdb.DuckDBPyRelation:
    """This read as a DuckDB relation of ``connection``, or of DuckDB's default connection: use
    ``.filter(...)``, ``.aggregate(...)``, or ``.create_view("trips")`` for SQL.

    If all rows are in plain Parquet files on this machine, DuckDB reads the files itself; otherwise
    it reads the dataset (``to_dataset``). The relation shows the state at the time when the read
    was planned.

    ``unfiltered``: for a query that has the filter of this read, too. The filter chooses file
    slices, and the relation may have more rows of them than it lets through.

    Raises EngineError if DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise absent("to_duckdb", "duckdb") from error
    connection = duckdb.default_connection() if connection is None else connection
    files = plain_files(self, unfiltered=unfiltered) if self.schema.names else None
    if files and not any(_PATTERN & set(path) for path in files):
        try:
            found = _read(connection, files, self)
            if found.types == _types(self.schema):
                return found
        except duckdb.Error:  # it has no TRY; of other errors, the read itself says what is wrong
            pass
    return connection.from_arrow(RowsDataset(self))


def _read(connection: Any, files: list[str], rows: Rows) -> Any:
    """Statistics of Parquet leave NaN out. DuckDB takes them to be of all values, and finds no row
    by ``isnan(x)``, unless an option says that there may be such values. An older DuckDB lacks the
    option; there TRY keeps the statistics away from its planner, and costs a tenth of a query that
    reads little else."""
    import duckdb

    listed = ", ".join("'{}'".format(path.replace("'", "''")) for path in files)
    source = f"read_parquet([{listed}], hive_partitioning = false"
    names = {field.name: _quoted(field.name) for field in rows.schema}
    floats = {field.name for field in rows.schema if _has_floats(field.type)}
    try:
        option = ", can_have_nan = true" if floats else ""
        return connection.sql(f"SELECT {', '.join(names.values())} FROM {source}{option})")
    except duckdb.BinderException:
        if not floats:
            raise
    tried = (f"TRY({q}) AS {q}" if name in floats else q for name, q in names.items())
    return connection.sql(f"SELECT {', '.join(tried)} FROM {source})")


@lru_cache(maxsize=1024)
def _types(schema: pa.Schema) -> Any:
    """What DuckDB makes of the types of Arrow, which takes it as long as to find a file's."""
    import duckdb

    with duckdb.connect() as own:
        return own.from_arrow(schema.empty_table()).types


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _has_floats(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_floats(kind.field(n).type) for n in range(kind.num_fields))
    return bool(pa.types.is_floating(kind))
