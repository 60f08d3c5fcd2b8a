"""Evaluate: expressions over rows, in DuckDB, which reads and makes Arrow tables where they lie."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define
from hoodoo.errors import DataError, PluginError, SchemaError
from hoodoo.kernel.registry import kernel
from hoodoo.model.schema import logical
from hoodoo_rows.api import Scan

ROW = "_hoodie__row"
_FEW_FILES = 32
_MUCH = 256 << 20  # bytes of footers
Places = npt.NDArray[np.int64]

_TYPES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.time64("us"): "TIME",
    pa.time32("ms"): "TIME",
}


def sql_type(kind: pa.DataType) -> str | None:
    """What DuckDB calls a type, as far as it casts to it as an assignment does; None: it is left to
    Arrow."""
    if pa.types.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMPTZ"
    return _TYPES.get(kind)


@define
class Evaluator:
    """Computes expressions, in one thread where tasks run beside each other. Text of dates is of
    UTC."""

    threads: int = 1
    _connection: Any = None

    def columns(
        self, rows: pa.Table, expressions: Sequence[str], what: str
    ) -> list[pa.ChunkedArray]:
        """The value of each of ``expressions`` for each of ``rows``. DataError where one can't be
        computed of a value."""
        if not expressions:
            return []
        listed = ", ".join(f"({text}) AS c{n}" for n, text in enumerate(expressions))
        numbered = rows.append_column(ROW, pa.array(np.arange(rows.num_rows)))
        found = self._query(f"SELECT {ROW}, {listed} FROM rows", what, rows=numbered)
        if not (found.column(ROW).to_numpy() == np.arange(rows.num_rows)).all():
            found = found.sort_by(ROW)
        return [found.column(f"c{n}") for n in range(len(expressions))]

    def pairs(
        self, target: pa.Table, source: pa.Table, condition: str, what: str
    ) -> tuple[Places, Places]:
        """The numbers of the rows of both that ``condition`` is true of, in the order of the first,
        then the second."""
        found = self._query(
            f"SELECT t.{ROW} AS t, s.{ROW} AS s FROM target t JOIN source s ON ({condition})",
            what,
            target=_numbered(target),
            source=_numbered(source),
        )
        at, of = (found.column(n).to_numpy().astype(np.int64) for n in ("t", "s"))
        order = np.lexsort((of, at))
        return at[order], of[order]

    def query(
        self, text: str, tables: Mapping[str, Any], filtered: Collection[str] = ()
    ) -> pa.Table:
        """What a whole query answers of ``tables``, by their names: Arrow tables, and scans, whose
        rows are read as DuckDB asks for them. ``filtered``: names of scans with a filter that the
        query has, too."""
        connection, scans = self._opened(), {n: t for n, t in tables.items() if isinstance(t, Scan)}
        plain = {name: rows for name, rows in tables.items() if name not in scans}
        _remember_footers(connection, sum(len(scan.plan.slices) for scan in scans.values()))
        try:
            for name, scan in scans.items():
                if kernel().find("function", "Scan.to_duckdb") is not None:
                    relation: Any = scan.to_duckdb(connection, unfiltered=name in filtered)
                    relation.create_view(name)
                else:
                    plain[name] = scan.to_arrow()
            return self._query(text, "query", **plain)
        except DataError as error:
            if "hoodoo.errors." in str(
                error.__context__
            ):  # of a read: it raises its own error here
                for scan in scans.values():
                    scan.to_arrow()
            raise
        finally:
            for name in scans.keys() - plain.keys():
                connection.execute(f"DROP VIEW IF EXISTS {name}")
            _forget_footers(connection)

    def _query(self, text: str, what: str, **tables: Any) -> pa.Table:
        duckdb = _duckdb()
        connection = self._opened()
        try:
            for name, rows in tables.items():
                connection.register(name, _shown(rows))
            return connection.sql(text).to_arrow_table()
        except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException) as error:
            raise SchemaError(
                what, f"does not fit the columns: {_said(error)}.", "Change it."
            ) from None
        except duckdb.Error as error:
            raise DataError(
                what, f"can't be computed: {_said(error)}.", "Change it, or the rows."
            ) from None
        finally:
            for name in tables:
                connection.unregister(name)

    def _opened(self) -> Any:
        _duckdb()
        if self._connection is None:
            self._connection = _database(self.threads, os.getpid()).cursor()
            self._connection.execute("SET TimeZone = 'UTC'")
        return self._connection


@cache
def _database(threads: int, process: int) -> Any:
    """Empty: opening one takes longer than a small query. Tables and views have names of one query
    in it."""
    settings = {"threads": threads, "autoinstall_known_extensions": False}
    return _duckdb().connect(":memory:", config=settings)


def _remember_footers(connection: Any, files: int) -> None:
    """DuckDB reads the footer of a file each time that a view or a query names it, and Hudi's bloom
    filters make footers of megabytes. It can have those of few files in memory."""
    try:
        connection.execute(f"SET parquet_metadata_cache = {0 < files <= _FEW_FILES}")
    except _duckdb().Error:  # a version without it
        pass


def _forget_footers(connection: Any) -> None:
    """The next query gets a new database where this one has much in memory."""
    found = connection.execute(
        "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'OBJECT_CACHE'"
    ).fetchall()
    if (found[0][0] or 0) > _MUCH:
        _database.cache_clear()


if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads of a database, and would crash where it closes it.
    os.register_at_fork(before=_database.cache_clear)


def _shown(rows: Any) -> Any:
    """The rows of a table, whose columns of logical types are of the extension types that DuckDB
    knows, where there is one."""
    for at, field in enumerate(rows.schema):
        own = logical.of(field.type) if pa.types.is_nested(field.type) else None
        kind = field.type if own is None else own.shown(field.type)
        if kind != field.type:
            chunks = [pa.ExtensionArray.from_storage(kind, c) for c in rows.column(at).chunks]
            rows = rows.set_column(at, field.name, pa.chunked_array(chunks, kind))
    return rows


def _numbered(rows: pa.Table) -> pa.Table:
    return (
        rows
        if ROW in rows.column_names
        else rows.append_column(ROW, pa.array(np.arange(rows.num_rows)))
    )


def _said(error: Exception) -> str:
    text = str(error).splitlines()[0].replace('"target.', '"').replace('"source.', '"')
    return re.sub(r"^(\w+ )+Error: ", "", text).rstrip(".!")


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise PluginError(
            "an expression of SQL",
            "is computed by DuckDB, which is not installed.",
            'pip install "hoodoo-statements[sql]", or give a pyarrow expression.',
        ) from error
    return duckdb
