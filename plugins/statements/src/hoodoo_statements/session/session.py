"""``hoodoo.session(...)``: SQL over tables by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import frozen
from hoodoo.calls import checked_methods, lacks
from hoodoo_rows.api import Scan
from sqlglot import exp

from hoodoo_statements.alter_sql import altered_table
from hoodoo_statements.session.alter_statements import NOTHING, alter, emptied
from hoodoo_statements.session.definitions import create, drop
from hoodoo_statements.session.index_statements import of_index, run_index
from hoodoo_statements.session.names import (
    SessionNames,
    opened_catalogs,
    own_tables,
    own_views,
)
from hoodoo_statements.session.parameters import bound
from hoodoo_statements.session.procedures.call import call
from hoodoo_statements.session.result import Result
from hoodoo_statements.session.shows import describe, show
from hoodoo_statements.session.table_functions import with_functions
from hoodoo_statements.session.table_settings import run_set
from hoodoo_statements.session.unsupported import STATEMENTS, unsupported
from hoodoo_statements.session.views import with_views
from hoodoo_statements.sql import check_session, read_statement, run_tree
from hoodoo_statements.text.forms import bare
from hoodoo_statements.text.vector_search import without_calls

_COMMANDS = {"SHOW": show, "CALL": call}
_CHANGES = (exp.Delete, exp.Update, exp.Merge, exp.Insert, exp.Query)


@checked_methods
@frozen(repr=False)
class Session:
    """Tables that have names, for statements of SQL. Returned by ``hoodoo.session``."""

    names: SessionNames

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            lacks("'Session' object has no attribute", "session", name, of=self)

    def __repr__(self) -> str:
        engine = "DuckDB" if self.names.spark is None else "Spark"
        tables = ", ".join(self.names.own) or "none"
        catalogs = ", ".join(self.names.catalogs) or "none"
        return f"<session on {engine}, tables: {tables}, catalogs: {catalogs}>"

    def table(self, name: str) -> Any:
        """The table of this name, on which all methods of a table can be called; of other rows of
        the session, the rows. Raises ConfigError if nothing has the name."""
        node = exp.to_table(name, dialect="spark")
        found = self.names.find(name, node)
        if found is None:
            raise self.names.unknown(name)
        return found

    def read(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        where: Any = None,
        as_of: Any = None,
    ) -> Scan:
        """The rows of a table by its name, lazily: ``session.table(name).read(...)``. Raises
        ConfigError if no table of Hoodoo has the name, and what ``table.read`` raises."""
        table = self.names.table(exp.to_table(name, dialect="spark"))
        found: Scan = table.read(columns, where, as_of)
        return found

    def sql(self, text: str, args: Mapping[str, Any] | Sequence[Any] | None = None) -> Result:
        """Run one statement of Spark's SQL. ``args`` are values for its parameters: a dict for
        names such as ``:city``, a list for each ``?``.

        A statement that changes rows is one commit, which is ``commit`` of the result. Without a
        Spark session, DuckDB computes a query at once; with one, Spark runs it as the result is
        used. Raises ConfigError for a statement that is not supported, and what the methods of a
        table raise."""
        text = bare(text)
        if of_index(text) and not args:
            run_index(text, self.names)
            return Result(pa.table({}))
        if not args and run_set(text, self.names):
            return Result(pa.table({}))
        tree = without_calls(bound(read_statement(text, STATEMENTS), args))
        if isinstance(tree, exp.Values):
            tree = _rows(tree)
        tree = with_views(tree, self.names.views, self.names.own)
        done = alter(tree, self.names)
        if done is not NOTHING:
            return Result(pa.table({})) if done is None else Result.of(done)
        if isinstance(tree, _CHANGES) or altered_table(tree) is not None:
            made = with_functions(tree, self.names)
            known = self.names.of_tree(tree, made)
            return Result.of(run_tree(tree, known, self.names.spark))
        if isinstance(tree, exp.Create) and tree.args["kind"] == "TABLE":
            create(tree, self.names)
        elif isinstance(tree, exp.Drop) and tree.args["kind"] == "TABLE":
            drop(tree, self.names)
        elif isinstance(tree, exp.TruncateTable):
            engine = None if self.names.spark is None else "spark"
            return Result.of(emptied(tree, self.names, engine))
        elif isinstance(tree, exp.Command) and str(tree.this).upper() in _COMMANDS:
            return Result(_COMMANDS[str(tree.this).upper()](tree, self.names))
        elif isinstance(tree, exp.Describe):
            return Result(describe(tree, self.names))
        else:
            raise unsupported(tree)
        return Result(pa.table({}))


def _rows(values: exp.Values) -> exp.Select:
    """VALUES as a query, whose columns have Spark's names."""
    first = values.expressions[0]
    count = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    columns = [exp.to_identifier(f"col{n}") for n in range(1, count + 1)]
    alias = exp.TableAlias(this=exp.to_identifier("given"), columns=columns)
    return exp.select("*").from_(exp.Values(expressions=values.expressions, alias=alias))


def session(
    spark: Any = None,
    catalogs: Any = None,
    tables: Mapping[str, Any] | None = None,
    views: Mapping[str, str] | None = None,
) -> Session:
    """A session for statements of SQL over several tables.

    ``tables`` maps names to tables, to paths of tables, and to any rows that a write accepts.
    ``catalogs`` is a place as ``hoodoo.catalog`` takes it, a catalog, or a list or dict of these:
    their tables are found as ``table`` or ``database.table``, and in a dict as
    ``name.database.table``, too. ``views`` maps names to queries, as text, which may read tables
    and other views of the session; a statement reads a view as if its query stood there. With a
    SparkSession as ``spark``, Spark runs queries, and its own
    tables and views can be used in them; else DuckDB runs queries in this process. The session of
    Spark is not changed.

    Raises ConfigError for arguments that are none of these, and what ``hoodoo.open`` and
    ``hoodoo.catalog`` raise.

    >>> session = hoodoo.session(tables={"trips": "/data/trips"})
    >>> session.sql("SELECT city, max(fare) FROM trips GROUP BY city").to_arrow()
    """
    check_session(spark)
    known = own_tables(tables), opened_catalogs(catalogs)
    return Session(SessionNames(*known, spark, views=own_views(views)))
