"""Views: names of a session that stand for queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hoodoo.errors import ConfigError
from sqlglot import exp

from hoodoo_statements.query import named_before, qualify
from hoodoo_statements.refused_parts import cut
from hoodoo_statements.sql import name_of, read_statement

_SAID_OF_ROWS = ("joins", "pivots", "sample", "laterals")


def with_views(tree: Any, views: Mapping[str, str], own: Mapping[str, Any]) -> Any:
    """``tree``, in which the query of a view stands where rows are read by its name. Tables of
    ``own`` come first, as they do among all names."""
    if views:
        tables = {name.lower() for name in own}
        _expand(tree, views, tables, ())
    return tree


def _expand(tree: Any, views: Mapping[str, str], tables: set[str], within: tuple[str, ...]) -> None:
    for node in list(tree.find_all(exp.Table)):
        if not _is_read(node):
            continue
        name = name_of(node)
        lower = name.lower()
        if lower in tables or lower not in views or named_before(node, lower):
            continue
        if lower in within:
            chain = ", ".join((*within[within.index(lower) :], lower))
            raise ConfigError(f"view {name}", f"reads itself: {chain}.", "Change one of them.")
        if node.args.get("version") or node.args.get("when"):
            raise ConfigError(
                f"view {name}",
                "has a time or version, and has no states of its own.",
                "Write the time at the tables that it reads.",
            )
        query = query_of(name, views[lower])
        _expand(query, views, tables, (*within, lower))
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name, True))
        if not node.alias:
            qualify(tree, [part.name.lower() for part in node.parts], node.name)
        more = {key: node.args[key] for key in _SAID_OF_ROWS if node.args.get(key)}
        node.replace(exp.Subquery(this=query, alias=alias, **more))


def query_of(name: str, text: str) -> Any:
    """The query of the view ``name``. ConfigError for a text that is none."""
    tree = read_statement(text, "a query")
    if not isinstance(tree, exp.Query):
        raise ConfigError(f"view {name}", f"is no query: {cut(text)}.", "Give SELECT ... as text.")
    return tree


def _is_read(node: Any) -> bool:
    """Whether rows are read where ``node`` stands; not what a statement changes."""
    if not isinstance(node.this, exp.Identifier):
        return False
    return node.arg_key == "using" or isinstance(node.parent, (exp.From, exp.Join, exp.Subquery))
