"""Parse: the text of an expression -> what DuckDB computes, and the columns that it reads."""

from __future__ import annotations

import logging
from datetime import datetime, timezone

import sqlglot
from attrs import frozen
from hoodoo.errors import ConfigError, SchemaError
from sqlglot import exp

from hoodoo_statements.text.dialect import DIALECT, for_duckdb
from hoodoo_statements.text.scope import Found, Scope

# What sqlglot finds odd is in the error; without a handler it would go to stderr besides.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())
_NEVER_THE_SAME = frozenset(
    {
        "rand", "randn", "random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "shuffle", "setseed",
        "monotonically_increasing_id", "spark_partition_id", "input_file_name", "nextval", "currval",
        "input_file_block_start", "input_file_block_length", "unix_timestamp", "clock_timestamp", "txid_current",
        "today", "get_current_timestamp", "current_localtime", "current_localtimestamp", "localtimestamp",
    }
)  # fmt: skip
_NOW = frozenset({"now", "current_timestamp", "curdate", "current_date"})
# What needs more than one row, or another table.
_MORE_THAN_A_ROW = (
    exp.Subquery,
    exp.Select,
    exp.SetOperation,
    exp.Window,
    exp.AggFunc,
    exp.UDTF,
    exp.Star,
)


@frozen
class Expression:
    """``sql``: for DuckDB, over columns called as :func:`~hoodoo_statements.text.scope.flat` says. ``tree``: the same
    as sqlglot has it, before anything is made of it for DuckDB. ``columns``: those that it names."""

    sql: str
    columns: tuple[Found, ...]
    text: str
    tree: exp.Expression


def parsed(text: str, scope: Scope, what: str, now: datetime | None = None) -> Expression:
    """The expression ``text``. ``what``: what it is, for errors. ``now``: the time of the statement, which
    ``current_timestamp()`` and the like are.

    Raises ConfigError for a text that is no expression of a row, or whose value is another one each time;
    SchemaError for columns that are not there.
    """
    try:
        select = sqlglot.parse_one(f"SELECT {text}", read=DIALECT)
    except sqlglot.errors.SqlglotError as error:
        raise ConfigError(
            f"{what} {text!r}", f"is no SQL: {_first_line(error)}.", _EXAMPLE
        ) from None
    if not isinstance(select, exp.Select) or len(select.expressions) != 1 or _more(select):
        raise ConfigError(f"{what} {text!r}", "is not one expression.", _EXAMPLE)
    return checked(select.expressions[0].unalias(), scope, what, text, now)


_EXAMPLE = "Write an expression of SQL, such as \"city = 'oslo' and fare > 10\"."


def checked(
    tree: exp.Expression,
    scope: Scope,
    what: str,
    text: str | None = None,
    now: datetime | None = None,
) -> Expression:
    """As :func:`parsed`, of what sqlglot has read."""
    text = tree.sql(DIALECT) if text is None else text
    for node in tree.walk():
        if isinstance(node, _MORE_THAN_A_ROW) and not (
            isinstance(node, exp.Star) and isinstance(node.parent, exp.Func)
        ):
            raise ConfigError(
                f"{what} {text!r}", f"has {_described(node)}, and is computed of one row.",
                "Merge a source that has the answer: table.merge(source, on=...).",
            )  # fmt: skip
        if isinstance(node, (exp.Placeholder, exp.Parameter)):
            raise ConfigError(f"{what} {text!r}", "has a parameter.", "Put its value there.")
        if isinstance(node, exp.Func) and _name(node) in _NEVER_THE_SAME:
            raise ConfigError(
                f"{what} {text!r}", f"{_name(node)}() is another value each time that it is computed, and a task may run "
                "twice.", "Put the values into a column of a source, and merge that.",
            )  # fmt: skip
    found: dict[Found, None] = {}
    tree = _at_moment(tree.copy(), now or datetime.now(timezone.utc))

    def resolve(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Column):
            return node
        column = scope.find([part.name for part in node.parts], what)
        found[column] = None
        made: exp.Expression = exp.column(exp.to_identifier(column.flat, quoted=True))
        for name in column.fields:
            made = exp.Anonymous(
                this="struct_extract", expressions=[made, exp.Literal.string(name)]
            )
        return made

    whole = tree.transform(resolve)
    try:
        sql = for_duckdb(whole).sql("duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE)
    except sqlglot.errors.SqlglotError as error:
        raise ConfigError(
            f"{what} {text!r}",
            f"has what DuckDB can't compute: {_first_line(error)}.",
            "Say it otherwise.",
        ) from None
    return Expression(sql, tuple(found), text, whole)


def _at_moment(tree: exp.Expression, now: datetime) -> exp.Expression:
    """The time of the statement in the place of functions that say it: the same in each task."""

    def fixed(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Func) or _name(node) not in _NOW:
            return node
        if isinstance(node, exp.CurrentDate) or _name(node) in ("current_date", "curdate"):
            return exp.cast(exp.Literal.string(now.date().isoformat()), "DATE")
        return exp.cast(exp.Literal.string(now.isoformat(sep=" ")), "TIMESTAMPTZ")

    return tree.transform(fixed)


def _name(node: exp.Func) -> str:
    return (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()


def _more(select: exp.Select) -> bool:
    return any(value for key, value in select.args.items() if key not in ("expressions", "kind"))


def _described(node: exp.Expression) -> str:
    if isinstance(node, exp.AggFunc):
        return f"the aggregate {_name(node)}()"
    names = {exp.Window: "a window", exp.Star: "a star"}
    return next((text for kind, text in names.items() if isinstance(node, kind)), "a query")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")


def refuse_no_condition(kind: object, what: str, text: str) -> None:
    raise SchemaError(
        f"{what} {text!r}", f"is {kind}, neither true nor false.", "Compare it with something."
    )
