"""Forms: other ways to write a statement that Spark has, as the one that is run here."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from hoodoo.errors import ConfigError
from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

from hoodoo_statements.text.dialect import DIALECT

_OF_NAMES = frozenset(
    {TokenType.VAR, TokenType.IDENTIFIER, TokenType.DOT, TokenType.SEMICOLON, TokenType.NUMBER}
)
_DESCRIBED = frozenset({"DESC", "DESCRIBE", "TABLE", "EXTENDED", "FORMATTED"})
_BEFORE = re.compile(r"\A(?:\s+|--[^\n]*|/\*(?!\+).*?\*/)+", re.S)


def bare(text: str) -> str:
    """``text`` without comments before it, and without semicolons at its end and what follows."""
    text = _BEFORE.sub("", text)
    with suppress(TokenError):  # parsing it will say what is wrong
        for token in reversed(DIALECT().tokenize(text)):
            if token.token_type != TokenType.SEMICOLON:
                break
            text = text[: token.start]
    return text


def usual_text(text: str) -> str:
    """``TABLE t`` as the query that it is, and DESCRIBE QUERY without QUERY; a table that DESCRIBE
    names last may be called as what DESCRIBE takes: history. Raises what sqlglot raises."""
    words = text.split(maxsplit=1)
    if not words or not any(word in text.upper() for word in ("TABLE", "QUERY", "DESC")):
        return text
    tokens: list[Token] = DIALECT().tokenize(text)
    said = [token.text.upper() for token in tokens[:3]]
    if said[:1] in (["DESC"], ["DESCRIBE"]) and 1 < len(tokens) < 5:
        *before, name = tokens
        if name.text.isidentifier() and _DESCRIBED.issuperset(one.text.upper() for one in before):
            return _without(text, name, f"`{name.text}`")
    if said[:1] == ["TABLE"] and all(one.token_type in _OF_NAMES for one in tokens[1:]):
        return _without(text, tokens[0], "SELECT * FROM")
    described = len(said) == 3 and said[0] in ("DESC", "DESCRIBE") and said[1] == "QUERY"
    if described and said[2] in ("SELECT", "WITH", "VALUES", "("):
        return _without(text, tokens[1], "")
    return text


def _without(text: str, token: Token, instead: str) -> str:
    return f"{text[: token.start]}{instead}{text[token.end + 1 :]}"


def usual(tree: Any) -> Any:
    """``tree`` with WITH at the queries that use it, and with a query in the place of a name that
    means all of its rows; hints name no tables. ConfigError for several inserts in one."""
    for hint in tree.find_all(exp.Hint):
        for table in list(hint.find_all(exp.Table)):
            table.replace(exp.Var(this=table.sql(DIALECT)))
    if isinstance(tree, exp.MultitableInserts):
        tree = _one_insert(tree)
    if isinstance(tree, exp.Insert) and isinstance(tree.args.get("source"), exp.Table):
        tree.set("expression", exp.select("*").from_(tree.args["source"].copy()))
        tree.set("source", None)
    if isinstance(tree, exp.Merge) and tree.args.get("with_"):
        _merged_with(tree)
    if isinstance(tree, (exp.Delete, exp.Update)) and tree.args.get("with_"):
        given = tree.args["with_"]
        tree.set("with_", None)
        for query in _outer_queries(tree):
            if query.args.get("with_"):
                raise ConfigError("statement", "has WITH twice.", "Write it in the query alone.")
            query.set("with_", given.copy())
    return tree


def _one_insert(tree: Any) -> Any:
    """``FROM s INSERT INTO t SELECT *``: one insert, with its rows before it."""
    if len(tree.expressions) != 1 or not isinstance(tree.expressions[0].expression, exp.Select):
        raise ConfigError(
            "FROM ... INSERT",
            f"is {len(tree.expressions)} inserts in one statement.",
            "Write INSERT INTO t SELECT ... FROM s for each: each is one commit.",
        )
    (made,) = tree.expressions
    if tree.args.get("with_"):
        if made.args.get("with_"):
            raise ConfigError("FROM ... INSERT", "has WITH twice.", "Write it once.")
        made.set("with_", tree.args["with_"].copy())
    if not made.expression.args.get("from_"):
        made.expression.set("from_", exp.From(this=tree.args["source"].copy()))
    return made


def _merged_with(tree: Any) -> None:
    """The rows of a MERGE as a query that begins with its WITH."""
    using = tree.args["using"]
    if isinstance(using, exp.Subquery):
        query = using.this
        if query.args.get("with_"):
            raise ConfigError("MERGE INTO", "has WITH twice.", "Write it in USING (...) alone.")
        query.set("with_", tree.args["with_"].copy())
    else:
        query = exp.select("*").from_(using.copy())
        query.set("with_", tree.args["with_"].copy())
        alias = exp.TableAlias(this=exp.to_identifier(using.alias_or_name))
        using.replace(exp.Subquery(this=query, alias=alias))
    tree.set("with_", None)


def _outer_queries(tree: Any) -> list[Any]:
    found = [node for node in tree.find_all(exp.Query) if not isinstance(node, exp.Subquery)]
    return [node for node in found if not _within(node, found)]


def _within(node: Any, others: list[Any]) -> bool:
    parent = node.parent
    while parent is not None:
        if any(parent is other for other in others):
            return True
        parent = parent.parent
    return False
