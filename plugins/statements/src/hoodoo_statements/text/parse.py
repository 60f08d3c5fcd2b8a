"""Parse: the text of an expression -> what DuckDB computes, and the columns that it reads."""

from __future__ import annotations

import logging
from datetime import datetime, timezone

import sqlglot
from attrs import frozen
from hoodoo.errors import ConfigError, SchemaError
from sqlglot import exp

from hoodoo_statements.spark_sql.columns import known_column
from hoodoo_statements.spark_sql.functions import AGGREGATES
from hoodoo_statements.spark_sql.kinds import Made, Refused
from hoodoo_statements.spark_sql.translate import COMPARISONS, Translator
from hoodoo_statements.text.chains import shallow
from hoodoo_statements.text.dialect import DIALECT, fault
from hoodoo_statements.text.scope import Found, Scope

# What sqlglot finds odd is in the error; without a handler it would go to stderr besides.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())
_NEVER_THE_SAME = frozenset(
    {
        "rand",
        "randn",
        "random",
        "uuid",
        "gen_random_uuid",
        "uuidv4",
        "uuidv7",
        "shuffle",
        "setseed",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
        "nextval",
        "currval",
        "input_file_block_start",
        "input_file_block_length",
        "clock_timestamp",
        "txid_current",
        "today",
        "get_current_timestamp",
        "current_localtime",
        "current_localtimestamp",
        "localtimestamp",
    }
)
_NOW = frozenset({"now", "current_timestamp", "curdate", "current_date", "unix_timestamp"})
# What needs more than one row, or another table.
_MORE_THAN_A_ROW = (exp.Subquery, exp.Select, exp.SetOperation, exp.Window, exp.UDTF, exp.Star)
_BESIDE = (*COMPARISONS, exp.Like, exp.ILike)
_OTHERWISE = (
    'Compute it in a query, such as hoodoo.sql("SELECT ...", tables, spark=session), and merge the '
    "rows: "
    "table.merge(rows, on=...)."
)


@frozen
class Expression:
    """``tree``: as sqlglot has it, over columns called as
    :func:`~hoodoo_statements.text.scope.flat` says. ``columns``: those that it names. ``what``:
    what it is, for errors."""

    what: str
    columns: tuple[Found, ...]
    text: str
    tree: exp.Expression

    @property
    def made(self) -> Made:
        """It for DuckDB. Raises ConfigError for what is not computed as Spark computes it."""
        named = {c.flat: known_column(f'"{c.flat}"', c.column.type) for c in self.columns}
        try:
            with shallow(self.what, self.text):
                return Translator(lambda column: named[column.name], _OTHERWISE).made(self.tree)
        except Refused as refused:
            raise ConfigError(
                f"{self.what} {self.text!r}", f"{refused.why}.", refused.fix
            ) from None

    @property
    def sql(self) -> str:
        return self.made.sql


def parsed(text: str, scope: Scope, what: str, now: datetime | None = None) -> Expression:
    """The expression ``text``. ``what``: what it is, for errors. ``now``: the time of the
    statement, which ``current_timestamp()`` and the like are.

    Raises ConfigError for a text that is no expression of a row, or whose value is another one each
    time; SchemaError for columns that are not there."""
    try:
        with shallow(what, text):
            select = sqlglot.parse_one(f"SELECT {text}", read=DIALECT)
    except sqlglot.errors.SqlglotError as error:
        raise ConfigError(f"{what} {text!r}", f"is no SQL: {fault(error)}.", _EXAMPLE) from None
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
    with shallow(what, text or "statement"):
        return _checked(tree, scope, what, text, now)


def _checked(
    tree: exp.Expression, scope: Scope, what: str, text: str | None, now: datetime | None
) -> Expression:
    text = tree.sql(DIALECT) if text is None else text
    for node in tree.walk():
        aggregate = isinstance(node, exp.Anonymous) and _name(node) in AGGREGATES
        if aggregate or isinstance(node, _MORE_THAN_A_ROW):
            raise ConfigError(
                f"{what} {text!r}",
                f"has {_described(node)}, and is computed of one row.",
                "Merge a source that has the answer: table.merge(source, on=...).",
            )
        sides = (node.this, node.expression) if isinstance(node, _BESIDE) else ()
        if sides and all(isinstance(side, exp.Literal) and side.is_string for side in sides):
            columns = {name.lower(): name for name in scope.columns}
            names = [columns[s.name.lower()] for s in sides if s.name.lower() in columns]
            if names:
                raise ConfigError(
                    f"{what} {text!r}",
                    f"compares two texts; {names[0]!r} in quotes is no column.",
                    f"Names of columns have backticks: `{names[0]}`.",
                )
        if isinstance(node, (exp.Placeholder, exp.Parameter)):
            raise ConfigError(f"{what} {text!r}", "has a parameter.", "Put its value there.")
        if isinstance(node, exp.Func) and _name(node) in _NEVER_THE_SAME:
            raise ConfigError(
                f"{what} {text!r}",
                f"{_name(node)}() is another value each time that it is computed, and a task may "
                "run "
                "twice.",
                "Put the values into a column of a source, and merge that.",
            )
    found: dict[Found, None] = {}
    tree = at_moment(tree.copy(), now or datetime.now(timezone.utc))

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
            made.meta["own"] = True
        return made

    whole = tree.transform(resolve)
    return Expression(what, tuple(found), text, whole)


def at_moment(tree: exp.Expression, now: datetime) -> exp.Expression:
    """The time of the statement in the place of functions that say it: the same in each task."""

    def fixed(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Func) or _name(node) not in _NOW:
            return node
        if _name(node) == "unix_timestamp":
            whole = exp.Literal.number(int(now.timestamp()))
            return node if node.expressions else exp.cast(whole, "BIGINT")
        if isinstance(node, exp.CurrentDate) or _name(node) in ("current_date", "curdate"):
            return exp.cast(exp.Literal.string(now.date().isoformat()), "DATE")
        return exp.cast(exp.Literal.string(now.isoformat(sep=" ")), "TIMESTAMPTZ")

    return tree.transform(fixed)


def _name(node: exp.Func) -> str:
    return (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()


def _more(select: exp.Select) -> bool:
    return any(value for key, value in select.args.items() if key not in ("expressions", "kind"))


def _described(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return f"the aggregate {_name(node)}()"
    names = {exp.Window: "a window", exp.Star: "a star"}
    return next((text for kind, text in names.items() if isinstance(node, kind)), "a query")


def refuse_no_condition(kind: object, what: str, text: str) -> None:
    raise SchemaError(
        f"{what} {text!r}", f"is {kind}, neither true nor false.", "Compare it with something."
    )
