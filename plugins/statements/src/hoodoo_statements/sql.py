"""SQL: a statement as people write it for Spark -> the same as a call of the table's methods would
do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import sqlglot
from attrs import frozen
from hoodoo.errors import ConfigError, DataError
from hoodoo.hookspecs.engine import Engine
from hoodoo.table.table import Table
from hoodoo_rows.api import Commit
from sqlglot import exp

from hoodoo_statements.alter_sql import altered_table, arguments
from hoodoo_statements.assignments import assignments, or_default, refuse_but, refuse_twice
from hoodoo_statements.binding import ALL
from hoodoo_statements.builder import MergeBuilder
from hoodoo_statements.by_query import found_rows, has_queries
from hoodoo_statements.options import INSERT_INTO
from hoodoo_statements.overwrite import overwrite
from hoodoo_statements.partition_spec import PartitionSpec
from hoodoo_statements.query import Query
from hoodoo_statements.refused_parts import cut, refuse_more
from hoodoo_statements.spark_sql.kinds import kind_of, spark_name
from hoodoo_statements.text.chains import shallow
from hoodoo_statements.text.dialect import DIALECT, fault
from hoodoo_statements.text.forms import usual, usual_text
from hoodoo_statements.text.of_others import instead_of, refuse_of_others
from hoodoo_statements.text.scope import named, unknown_column
from hoodoo_statements.text.vector_search import without_calls

_WHOLE = ("tinyint", "smallint", "int", "bigint")
# What a node of sqlglot has that names a table.
_NAME = frozenset(["this", "db", "catalog", "alias"])
_KNOWN = "MERGE INTO, UPDATE, DELETE FROM, INSERT INTO, INSERT OVERWRITE, ALTER TABLE and SELECT"


def sql(
    statement: str,
    tables: Mapping[str, Any] | None = None,
    spark: Any = None,
    *,
    engine: str | Engine | None = None,
) -> Any:
    """Run one statement of SQL: MERGE INTO, UPDATE, DELETE FROM, INSERT INTO, INSERT OVERWRITE,
    ALTER TABLE, SELECT.

    ``tables`` maps the names in the statement to tables of Hoodoo, or to any rows that a write
    accepts. The text is Spark's SQL. A query returns a pyarrow Table, which DuckDB computes. With a
    session ``spark``, a query runs lazily on Spark and returns a DataFrame. Other statements return
    the commit; ``engine`` has the same meaning as for the methods, and is Spark if ``spark`` is
    given.

    Raises ConfigError for a text that is not such a statement, and SchemaError and DataError as the
    methods do."""
    check_session(spark)
    tree = tree_of(statement)
    check_names(tables or ())
    return run_tree(tree, tables or {}, spark, engine)


def check_session(spark: Any) -> None:
    """Raise ConfigError for a ``spark`` that is no session."""
    if spark is not None and not hasattr(type(spark), "createDataFrame"):
        raise ConfigError(f"spark={spark!r}", "is no SparkSession.", "Give one, or leave it out.")


def run_tree(tree: Any, tables: Mapping[str, Any], spark: Any, engine: Any = None) -> Any:
    """Run the statement ``tree`` as :func:`sql` does."""
    names = Names(tables)
    if spark is not None and engine is None:
        engine = "spark"
    if isinstance(tree, exp.Delete):
        return _delete(tree, names, engine, spark)
    if isinstance(tree, exp.Update):
        return _update(tree, names, engine, spark)
    if isinstance(tree, exp.Merge):
        return _merge(tree, names, engine, spark)
    if isinstance(tree, exp.Insert):
        return _insert(tree, names, engine, spark)
    if isinstance(tree, exp.Query):
        return Query(names.known, spark).run(tree)
    table = names.table(altered_table(tree))
    return table.handle.run("alter", engine=engine, **arguments(tree, table.schema))


def check_names(given: Iterable[str]) -> None:
    """Each name in a statement means one table, and SQL takes names in any case."""
    seen: dict[str, str] = {}
    for name in given:
        if name.lower() in seen:
            raise ConfigError(
                f"tables {seen[name.lower()]} and {name}",
                "have one name: SQL takes names in any case.",
                "Give one of them another name.",
            )
        seen[name.lower()] = name


def tree_of(statement: str) -> Any:
    """The one statement of a text, as sqlglot reads it. ConfigError for a text that is not a
    statement of the kinds that :func:`sql` takes; whether its names mean something is not known
    yet."""
    tree = without_calls(read_statement(statement))
    kinds = (exp.Delete, exp.Update, exp.Merge, exp.Insert, exp.Query)
    if not isinstance(tree, kinds) and altered_table(tree) is None:
        raise ConfigError(
            f"statement {cut(statement)}",
            "is of another kind.",
            f"It takes {_KNOWN}. hoodoo.session(tables={{...}}).sql(...) takes CREATE TABLE, DROP "
            "TABLE, TRUNCATE TABLE, SHOW, DESCRIBE and CALL, too.",
        )
    return tree


def read_statement(statement: str, known: str = _KNOWN) -> Any:
    """The one statement of a text, of any kind. ConfigError for a text that is none; the error
    names those that are ``known``."""
    instead = instead_of(statement)
    if instead is not None:
        raise ConfigError(f"statement {cut(statement)}", "is not supported here.", instead)
    try:
        with shallow("statement", statement):
            parsed = sqlglot.parse(usual_text(statement), read=DIALECT)
    except sqlglot.errors.SqlglotError as error:
        said = fault(error)
        raise ConfigError(
            f"statement {cut(statement)}",
            f"is no SQL: {said}.",
            _unfinished(error) or f"It takes {known}.",
        ) from None
    # What follows the last semicolon may be a comment.
    found = [tree for tree in parsed if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(found) != 1:
        raise ConfigError(
            f"statement {cut(statement)}", f"is {len(found)} statements.", "Give one at a time."
        )
    refuse_of_others(found[0])
    for alias in found[0].find_all(exp.TableAlias):
        if isinstance(alias.this, exp.Parameter):  # sqlglot takes Delta Lake's t@v1 for a name
            raise ConfigError(
                f"statement {cut(statement)}",
                f"has {alias.this.sql()} behind the name of a table, as Delta Lake names versions.",
                "Write t VERSION AS OF 1, or t TIMESTAMP AS OF '2026-01-31 12:00:00'.",
            )
    return usual(found[0])


def _unfinished(error: Exception) -> str:
    """What a MERGE lacks that says only which rows match."""
    if "Whens" not in str(error):
        return ""
    return "Say what to do: WHEN MATCHED THEN UPDATE SET *, or WHEN NOT MATCHED THEN INSERT *."


@frozen
class Names:
    """What the names of a statement mean."""

    known: Mapping[str, Any]

    def table(self, node: Any) -> Table:
        """The table that a statement changes. ConfigError where there is none of the name, or more
        is said of it."""
        found = self.rows(node)
        refuse_more(node, *_NAME)
        if not isinstance(found, Table):
            raise ConfigError(
                f"table {name_of(node)}",
                f"is a {type(found).__name__}, and no table of Hoodoo.",
                f'Give the table itself: tables={{"{name_of(node)}": hoodoo.open(path)}}.',
            )
        return found

    def rows(self, node: Any) -> Any:
        name = name_of(node)
        lower = {key.lower(): value for key, value in self.known.items()}
        if name.lower() not in lower:
            close = difflib.get_close_matches(name, list(self.known), 3, 0.5) or list(self.known)
            shown = ", ".join(close) or "none"
            raise ConfigError(
                f"table {name}",
                f"is not among tables= ({shown}).",
                f'Say what it is: tables={{"{name}": table}}.',
            )
        return lower[name.lower()]


def name_of(node: Any) -> str:
    """The name of the table ``node``. ConfigError where something else stands in its place."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise ConfigError(
            f"statement {cut(str(node))}",
            "has this in the place of the name of a table.",
            "Name the table.",
        )
    return ".".join(part.name for part in node.parts)


def _delete(tree: Any, names: Names, engine: Any, spark: Any) -> Commit:
    refuse_more(tree, "this", "where")
    table, where = names.table(tree.this), tree.args.get("where")
    condition = "true" if where is None else where.this
    if has_queries(where):
        condition = found_rows(tree.this, table, condition, {}, Query(names.known, spark))
    found: Commit = table.handle.run(
        "delete", where=condition, engine=engine, alias=tree.this.alias_or_name
    )
    return found


def _update(tree: Any, names: Names, engine: Any, spark: Any) -> Commit:
    refuse_more(tree, "this", "expressions", "where")
    table, where = names.table(tree.this), tree.args.get("where")
    condition = None if where is None else where.this
    values = assignments(tree.expressions)
    if has_queries(where, *values.values()):
        condition = found_rows(tree.this, table, condition, values, Query(names.known, spark))
        values = condition.values
    found: Commit = table.handle.run(
        "update", values=values, where=condition, engine=engine, alias=tree.this.alias_or_name
    )
    return found


def _merge(tree: Any, names: Names, engine: Any, spark: Any) -> Commit:
    refuse_more(tree, "this", "using", "on", "whens")
    table, using = names.table(tree.this), tree.args["using"]
    if not tree.args.get("on"):
        raise ConfigError(
            f"MERGE INTO {name_of(tree.this)}", "lacks ON.", "Say which rows match: ON t.id = s.id."
        )
    if isinstance(using, exp.Table) and _only_named(using):
        source = names.rows(using)
    else:
        # Names of columns after AS, a version, a sample: a query knows what they mean, or refuses
        # them.
        plain = isinstance(using, exp.Subquery) and _only_named(using)
        rows = using.this if plain else exp.select("*").from_(using)
        source = Query(names.known, spark).run(rows)
    called = (tree.this.alias_or_name, using.alias_or_name or "source")
    if called[0].lower() == called[1].lower():
        raise ConfigError(
            f"MERGE INTO {called[0]}",
            "has one name for the table and the source: each row would match itself.",
            "Name the source: USING ... AS s.",
        )
    if isinstance(source, Table):
        source = source.read()
    # The builder judges the order of clauses.
    made = MergeBuilder(table.handle, source, tree.args["on"], engine, names=called)
    for when in tree.args["whens"].expressions:
        made = _clause(made, when, table.schema.names)
    return made.execute()


def _only_named(node: Any) -> bool:
    """Whether a table or query gets a name, and nothing more is said of it."""
    said = {key for key, value in node.args.items() if value}
    return said <= _NAME and not node.alias_column_names


def _clause(made: MergeBuilder, when: Any, columns: Sequence[str]) -> MergeBuilder:
    then, condition = when.args["then"], when.args.get("condition")
    inserts, by_source = isinstance(then, exp.Insert), bool(when.args.get("source"))
    if (when.args["matched"] or by_source) == inserts:
        # Taken for what else it may mean, such a clause would change rows that nobody meant.
        raise ConfigError(
            f"clause {when.sql(DIALECT)}",
            "is not possible: WHEN NOT MATCHED has INSERT, and WHEN MATCHED and WHEN NOT MATCHED "
            "BY SOURCE have UPDATE or DELETE.",
            "Say which rows are meant.",
        )
    if isinstance(then, exp.Update):
        stars = [e for e in then.expressions if isinstance(e, exp.Star)]
        for star in stars:
            refuse_but(star, "UPDATE SET a = s.a, b = s.b")
        values = ALL if stars else assignments(then.expressions)
        if when.args["matched"]:
            return made.when_matched_update(values, condition)
        return made.when_not_matched_by_source_update(values, condition)
    if inserts:
        return made.when_not_matched_insert(_inserted(then, columns), condition)
    if then.name.lower() == "delete":
        if when.args["matched"]:
            return made.when_matched_delete(condition)
        return made.when_not_matched_by_source_delete(condition)
    raise ConfigError(
        f"clause {when.sql(DIALECT)}", "does what is not known.", "Update, delete or insert."
    )


def _inserted(then: Any, columns: Sequence[str]) -> Mapping[str, Any] | str:
    if isinstance(then.this, exp.Star):
        refuse_but(then.this, "INSERT (a, b) VALUES (s.a, s.b)")
        return ALL
    names = [
        ".".join(p.name for p in c.parts) if isinstance(c, exp.Column) else c.name
        for c in (then.this.expressions if then.this is not None else ())
    ] or list(columns)
    values = [] if then.expression is None else then.expression.expressions
    refuse_twice(names)
    if len(names) != len(values):
        raise ConfigError(
            f"insert of {', '.join(names)}",
            f"has {len(values)} values for {len(names)} columns.",
            "Give one for each.",
        )
    return dict(zip(names, map(or_default, values)))


def _insert(tree: Any, names: Names, engine: Any, spark: Any) -> Commit:
    refuse_more(tree, "this", "expression", "overwrite", "by_name", "with_", "with")
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    partition = target.args.get("partition")
    target.set("partition", None)
    table = names.table(target)
    schema = table.schema
    spec = PartitionSpec() if partition is None else PartitionSpec.of(partition, table)
    listed = [c.name for c in tree.this.expressions] if isinstance(tree.this, exp.Schema) else []
    names_in_order = listed or (schema.names if partition is None else spec.order(table))
    columns = [_column(schema, name, table) for name in names_in_order]
    query = tree.expression
    if not isinstance(query, (exp.Query, exp.Values)):
        raise ConfigError(
            f"statement {cut(tree.sql(DIALECT))}",
            "has no rows that are known here.",
            "Give VALUES or a SELECT.",
        )
    if isinstance(query, exp.Values):
        for row in query.expressions:
            if isinstance(row, exp.Tuple):
                row.set("expressions", [or_default(value) for value in row.expressions])
        query = exp.select("*").from_(
            exp.Values(
                expressions=query.expressions, alias=exp.TableAlias(this=exp.to_identifier("given"))
            )
        )
    for key in ("with_", "with"):  # WITH before INSERT is of the query
        if tree.args.get(key):
            if query.args.get(key):
                raise ConfigError("INSERT", "has WITH twice.", "Write it before SELECT alone.")
            query.set(key, tree.args[key])
    rows = Query(names.known, spark)
    found = rows.run(query)
    have = found.columns if spark is not None else found.column_names
    if tree.args.get("by_name"):
        if listed or isinstance(tree.expression, exp.Values):
            raise ConfigError(
                "INSERT ... BY NAME",
                "goes by the names of a query's columns.",
                "Write it as a SELECT, without a list.",
            )
        columns = [_column(schema, name, table) for name in have]
    if len(have) != len(columns):
        raise DataError(
            f"insert into {table.config.name}",
            f"gives {len(have)} columns for {len(columns)} ({', '.join(c.name for c in columns)}).",
            "Give one for each, or name those that are given: INSERT INTO t (a, b).",
        )
    if spec.values:
        found = _with_values(found, spec, spark)
        columns = [*columns, *(_column(schema, name, table) for name in spec.values)]
    refuse_twice([c.name for c in columns])
    if spark is not None:
        data = _of_types(found.toDF(*(c.name for c in columns)), {c.name: c.type for c in columns})
    else:
        data = rows.cast(found, columns)
    if tree.args.get("overwrite"):
        return overwrite(table, data, spec, spark, engine)
    # As in Spark Hudi 1.2, an INSERT looks for stored keys only where an option says so.
    operation = INSERT_INTO.read(table.handle.options)
    commit: Commit = getattr(table, operation)(data, engine=engine)
    return commit


def _with_values(found: Any, spec: PartitionSpec, spark: Any) -> Any:
    """The rows of a query with the values that PARTITION (...) gives as further columns."""
    given = [value.sql(DIALECT) for value in spec.values.values()]
    if spark is not None:
        plain = found.toDF(*(f"c{n}" for n in range(len(found.columns))))
        return plain.selectExpr("*", *(f"{one} AS v{n}" for n, one in enumerate(given)))
    values = Query({}).run(exp.select(*spec.values.values())).slice(0, 1)
    for column in values.columns:
        repeated = pa.chunked_array([pa.repeat(column[0], found.num_rows)])
        found = found.append_column("", repeated)
    return found


def _of_types(frame: Any, types: Mapping[str, pa.DataType]) -> Any:
    """``frame`` with its exact numbers as the decimal and floating numbers that the columns hold: a
    literal such as 1.5 is a ``decimal(2,1)`` for Spark. A text becomes what the column holds, as
    without Spark. A value that does not fit fails the statement, whether or not the session is
    ANSI."""
    columns: dict[str, str] = {}
    sources: tuple[str, ...]
    for column in frame.schema.fields:
        name, kind, wanted = column.name, column.dataType.simpleString(), types[column.name]
        columns[name] = f"`{name}`"
        if pa.types.is_decimal(wanted):
            becomes = f"decimal({wanted.precision},{wanted.scale})"
            sources = ("string", "decimal", *_WHOLE)
        elif pa.types.is_floating(wanted):
            becomes, sources = (
                "float" if wanted.bit_width == 32 else "double",
                ("string", "decimal"),
            )
        elif kind == "string" and _has_text(wanted):
            becomes, sources = spark_name(kind_of(wanted)).lower(), ("string",)
        else:
            continue
        if kind != becomes and kind.partition("(")[0] in sources:
            cast = f"try_cast(`{name}` AS {becomes})"
            said = f"column {name}: a value does not fit in {becomes}"
            columns[name] = (
                f"CASE WHEN `{name}` IS NOT NULL AND {cast} IS NULL THEN raise_error('{said}') "
                f"ELSE {cast} END AS `{name}`"
            )
    if all(text == f"`{name}`" for name, text in columns.items()):
        return frame
    return frame.selectExpr(*columns.values())


def _has_text(kind: pa.DataType) -> bool:
    """Whether Spark makes values of this type of a text."""
    t = pa.types
    return bool(t.is_integer(kind) or t.is_boolean(kind) or t.is_date(kind) or t.is_timestamp(kind))


def _column(schema: Any, name: str, table: Table) -> Any:
    column = named(schema, name)
    if column is None:
        raise unknown_column(name, "insert", schema.names, f"table {table.config.name}")
    return column
