"""Connections: each thread of dbt has a workspace of Hoodoo, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.contracts.connection import (
    AdapterResponse,
    Connection,
    ConnectionState,
    Credentials,
)
from dbt.adapters.sql import SQLConnectionManager
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from hoodoo_dbt.workspace import Workspace

from hoodoo.errors import HoodooError


@dataclass
class HoodooCredentials(Credentials):
    """``path``: the catalog, as ``hoodoo.catalog`` takes it. ``database``: its name in SQL.
    ``location_root``: the folder of new tables, where the catalog is none. ``catalogs``: further
    ones by name, for sources. ``options``: those of ``hoodoo.open``, for all tables. ``spark``:
    whether Spark computes; ``spark_config`` are settings of its session, ``spark_remote`` the URL
    of Spark Connect."""

    path: str = "lake"
    database: str = "lake"
    schema: str = "main"
    location_root: str | None = None
    catalogs: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    spark: bool = False
    spark_config: dict[str, Any] = field(default_factory=dict)
    spark_remote: str | None = None

    @property
    def type(self) -> str:
        return "hoodoo"

    @property
    def unique_field(self) -> str:
        return self.path

    def _connection_keys(self) -> tuple[str, ...]:
        return ("path", "database", "schema", "location_root", "catalogs", "options", "spark")

    def session_of_spark(self) -> Any:
        """The SparkSession, or None. DbtRuntimeError where PySpark is missing."""
        if not (self.spark or self.spark_remote):
            return None
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise DbtRuntimeError(
                "profile with spark: true: PySpark is not installed. "
                'Fix: pip install "hoodoo[spark]".'
            ) from error
        builder = SparkSession.builder
        if self.spark_remote:
            builder = builder.remote(self.spark_remote)
        for key, value in self.spark_config.items():
            builder = builder.config(key, str(value))
        return builder.getOrCreate()


class Cursor:
    """What DB-API calls a cursor, over a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.result: Any = None
        self.rows: list[tuple[Any, ...]] | None = None

    def execute(self, sql: str, bindings: Any = None) -> None:
        self.rows, self.result = None, self.workspace.execute(sql)

    @property
    def commit(self) -> Any:
        """The commit that a statement made; None for others."""
        found = getattr(self.result, "commit", None)
        return self.result if hasattr(self.result, "instant") else found

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        if not hasattr(self.result, "schema"):
            return None
        return [(f.name, str(f.type), *[None] * 5) for f in self.result.schema]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(None)

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int | None) -> list[tuple[Any, ...]]:
        """The next rows, at most ``size``."""
        if self.rows is None:
            if not hasattr(self.result, "schema"):
                return []
            columns = [column.to_pylist() for column in self.result.to_arrow().columns]
            self.rows = list(zip(*columns, strict=True))
        found, self.rows = self.rows[:size], self.rows[len(self.rows[:size]) :]
        return found


class Handle:
    """What DB-API calls a connection. Each statement is a commit of its own."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def cursor(self) -> Cursor:
        return Cursor(self.workspace)

    def close(self) -> None:
        self.workspace.temporary.clear()


class HoodooConnectionManager(SQLConnectionManager):
    TYPE = "hoodoo"

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        if connection.state == ConnectionState.OPEN:
            return connection
        given = connection.credentials
        assert isinstance(given, HoodooCredentials)
        try:
            workspace = Workspace.at(
                given.path,
                given.database,
                given.location_root,
                given.catalogs,
                given.options,
                given.session_of_spark(),
            )
        except HoodooError as error:
            connection.handle, connection.state = None, ConnectionState.FAIL
            raise DbtRuntimeError(str(error)) from error
        connection.handle, connection.state = Handle(workspace), ConnectionState.OPEN
        return connection

    @classmethod
    def get_response(cls, cursor: Cursor) -> AdapterResponse:
        commit = cursor.commit
        if commit is None:
            return AdapterResponse(_message="OK")
        counts = {n: int(getattr(commit, n) or 0) for n in ("inserted", "updated", "deleted")}
        said = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        return AdapterResponse(
            _message=f"OK {said}".strip(),
            code=str(commit.operation or ""),
            rows_affected=sum(counts.values()),
        )

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        try:
            yield
        except HoodooError as error:  # object, rule and fix are one sentence each
            raise DbtDatabaseError(str(error)) from error
        except DbtRuntimeError:
            raise
        except Exception as error:
            raise DbtRuntimeError(f"{type(error).__name__}: {error}") from error

    def cancel(self, connection: Connection) -> None:
        """A statement runs to its end: DuckDB runs in this process."""

    def begin(self) -> None:
        """Nothing: a statement is one commit, and there is no transaction of several."""

    def commit(self) -> None:
        pass

    def clear_transaction(self) -> None:
        pass

    def commit_if_has_connection(self) -> None:
        pass

    def _add_query_comment(self, sql: str) -> str:
        return sql  # no server logs it

    @classmethod
    def data_type_code_to_name(cls, type_code: int | str) -> str:
        return str(type_code)
