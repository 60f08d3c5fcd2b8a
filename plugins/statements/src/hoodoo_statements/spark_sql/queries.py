"""Queries: each expression of a SELECT as DuckDB computes what Spark would; joins, groups and
orders stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from hoodoo_statements.spark_sql.columns import known_column
from hoodoo_statements.spark_sql.kinds import BIGINT, DOUBLE, Made, Refused, common, is_decimal
from hoodoo_statements.spark_sql.translate import Translator
from hoodoo_statements.text.dialect import DIALECT

INSTEAD = "Give a session: with hoodoo.sql(..., spark=session), Spark computes the query."
# Parts of a query that hold expressions, and are none.
_PARTS = (
    exp.From,
    exp.Join,
    exp.Where,
    exp.Having,
    exp.Group,
    exp.Order,
    exp.Ordered,
    exp.Qualify,
    exp.Values,
    exp.Tuple,
    exp.Alias,
    exp.Distinct,
    exp.Table,
    exp.Subquery,
    exp.Lateral,
    exp.With,
    exp.CTE,
    exp.SetOperation,
    exp.Select,
)
_PLAIN = (
    exp.Identifier,
    exp.TableAlias,
    exp.Star,
    exp.Var,
    exp.Limit,
    exp.Offset,
    exp.Literal,
    exp.TableSample,
    exp.Pivot,
    exp.Hint,
)
Kinds = dict[str, "pa.DataType | None"]


def for_duckdb(tree: Any, schemas: Mapping[str, pa.Schema], wide: bool = True) -> Any:
    """The query ``tree`` for DuckDB. ``schemas``: of the tables by the names that they have in it.
    ``wide``: as the translator has it. Raises Refused."""
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            raise Refused(f"has {table.sql('spark')}, which makes rows", INSTEAD)
    for lateral in tree.find_all(exp.Lateral):
        if lateral.args.get("view"):
            raise Refused(f"has {lateral.sql('spark').strip()}, which makes rows", INSTEAD)
    for join in tree.find_all(exp.Join):
        on = join.args.get("on")
        if isinstance(on, exp.Subquery):  # which sqlglot would take for rows that are joined
            join.set("on", exp.Paren(this=on))
    made: dict[int, Kinds] = {}
    scopes = list(traverse_scope(tree))
    if not scopes:
        raise Refused("has no rows that are known here", INSTEAD)
    for scope in scopes:
        made[id(scope.expression)] = _rewritten(scope, schemas, made, wide)
    return tree


def _rewritten(
    scope: Scope, schemas: Mapping[str, pa.Schema], made: dict[int, Kinds], wide: bool
) -> Kinds:
    """The columns of what ``scope`` selects, whose expressions are for DuckDB afterwards."""
    tree = scope.expression
    if isinstance(tree, exp.SetOperation):
        sides = [made.get(id(side.unnest()), {}) for side in (tree.this, tree.expression)]
        places = zip(sides[0].values(), sides[1].values())
        known = [_of_both(*kinds) for kinds in places] if len(sides[0]) == len(sides[1]) else []
        return dict(zip(sides[0], known))
    if not isinstance(tree, exp.Select):
        if isinstance(tree, exp.Values):
            _rewrite(tree, Translator(lambda column: _unknown(column), INSTEAD, True, wide))
        return {}
    sources = _sources(scope, schemas, made)
    aliases: Kinds = {}

    def column(node: exp.Column) -> Made:
        sql, name, table = node.sql("duckdb"), node.name.lower(), node.table.lower()
        for alias, columns in sources.items():
            if table in ("", alias) and name in columns:
                return (
                    known_column(sql, columns[name])
                    if columns[name] is not None
                    else Made(sql, None)
                )
        return Made(sql, None if table else aliases.get(name))

    translator = Translator(column, INSTEAD, True, wide)
    kinds: Kinds = {}
    for projection in list(tree.expressions):
        if isinstance(projection, (exp.Star, exp.Var)) or (
            isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)
        ):
            of = projection.table.lower() if isinstance(projection, exp.Column) else ""
            kinds.update(_of_star(scope, sources, of))
            continue
        name = projection.alias_or_name or _called(projection)
        found = translator.made(projection.unalias())
        value = exp.Var(this=found.sql)
        if isinstance(projection, exp.Alias):
            projection.this.replace(value)
        elif not isinstance(projection, exp.Column):
            projection.replace(exp.alias_(value, exp.to_identifier(name, quoted=True)))
        kinds[name.lower()] = found.kind
        aliases[name.lower()] = found.kind
    done = {id(node) for node in tree.expressions}
    for key, part in tree.args.items():
        if key in ("expressions", "with_", "with", "laterals"):
            continue
        for node in part if isinstance(part, list) else [part]:
            if isinstance(node, exp.Expression) and id(node) not in done:
                _rewrite(node, translator)
    parent = tree.parent
    while isinstance(parent, exp.Subquery) and len(kinds) == 1:
        parent.meta["kind"] = next(iter(kinds.values()))
        parent = parent.parent
    return kinds


def _of_star(scope: Scope, sources: Mapping[str, Kinds], of: str) -> Kinds:
    """The columns of ``*``, or of ``of.*``: not those of the queries around it. Of a name that two
    tables have, the type is not known."""
    found: Kinds = {}
    for alias in scope.selected_sources:
        if of not in ("", alias.lower()):
            continue
        for name, kind in sources.get(alias.lower(), {}).items():
            found[name] = kind if found.get(name, kind) == kind else None
    return found


def _of_both(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    """The type of a column with values of both, if Spark and DuckDB make it the same one."""
    found, apart = common(one, other), one != other
    if apart and found == DOUBLE and DOUBLE not in (one, other):
        return None  # DuckDB has floats and whole numbers as a FLOAT
    return None if apart and is_decimal(found) and BIGINT in (one, other) else found


def _rewrite(node: Any, translator: Translator) -> None:
    """Replaces the expressions within ``node`` by their text for DuckDB; queries within it are done
    already."""
    for key, value in list(node.args.items()):
        if key in ("alias", "alias_column_names", "kind", "side", "method", "using"):
            continue
        condition = isinstance(node, (exp.Where, exp.Having)) or key == "on"
        for child in list(value) if isinstance(value, list) else [value]:
            if not isinstance(child, exp.Expression):
                continue
            if isinstance(child, _PLAIN) and not (condition and isinstance(child, exp.Literal)):
                continue
            rows = isinstance(node, (exp.From, exp.Join)) and not condition
            if isinstance(child, (exp.Select, exp.SetOperation)) or (
                isinstance(child, exp.Subquery) and rows
            ):
                continue
            if (isinstance(child, exp.Tuple) and not isinstance(node, exp.Values)) or (
                isinstance(child, _PARTS) and not isinstance(child, exp.Subquery)
            ):
                _rewrite(child, translator)
            else:
                made = translator.made(child)
                if condition:
                    translator.true(made, "ON" if key == "on" else node.key.upper())
                child.replace(exp.Var(this=made.sql))


def _sources(
    scope: Scope, schemas: Mapping[str, pa.Schema], made: dict[int, Kinds]
) -> dict[str, Kinds]:
    """The columns of what a SELECT reads, and after them of what the queries around it read."""
    found: dict[str, Any] = {}
    within: Scope | None = scope
    while within is not None:
        for alias, source in within.sources.items():
            if alias.lower() in found:
                continue
            if isinstance(source, exp.Table):
                schema = schemas.get(source.name)
                columns: Any = {} if schema is None else {f.name.lower(): f.type for f in schema}
            else:
                columns = made.get(id(source.expression), {})
            found[alias.lower()] = columns
        within = within.parent
    return found


def _unknown(column: exp.Column) -> Made:
    return Made(column.sql("duckdb"), None)


def named(tree: Any) -> Any:
    """``tree``, whose columns without a name have that of their text, which they keep whatever the
    text becomes."""
    for select in tree.find_all(exp.Select):
        for node in list(select.expressions):
            if node.find(exp.Func) and not isinstance(node, (exp.Alias, exp.Subquery)):
                node.replace(exp.alias_(node.copy(), exp.to_identifier(_called(node), quoted=True)))
    return tree


def _called(node: Any) -> str:
    """The name of a column without one: its text."""
    return str(node.transform(_plain_number).sql(DIALECT, normalize_functions="lower"))


def _plain_number(node: Any) -> Any:
    """The number of 1L or 1.5D, which sqlglot has as casts, and Spark names without its letter."""
    if not isinstance(node, exp.TryCast) or node.meta.get("written"):
        return node
    whole = node.name.isdigit() and node.is_type("float", "double")
    return exp.Literal.number(f"{node.name}.0" if whole else node.name)
