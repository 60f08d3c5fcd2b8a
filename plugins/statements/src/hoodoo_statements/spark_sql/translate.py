"""Translate: a tree of Spark's SQL -> text for DuckDB, part by part. What is not known here is
refused."""

from collections.abc import Callable
from typing import Any

from attrs import frozen
from sqlglot import exp

from hoodoo_statements.spark_sql.conditions import Conditions
from hoodoo_statements.spark_sql.function import quoted
from hoodoo_statements.spark_sql.kinds import (
    BINARY,
    BOOLEAN,
    NULL,
    STRING,
    Made,
    Refused,
)
from hoodoo_statements.spark_sql.operators import ARITHMETIC, BITS, Operators, number
from hoodoo_statements.text.paths import call_of

COMPARISONS = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}
# sqlglot has nodes of their own for these calls, whatever it is made to read.
_SPECIAL = {exp.Ceil: "ceil", exp.Floor: "floor", exp.Concat: "concat", exp.Substring: "substring"}
_LONGEST = 200_000  # characters of text that DuckDB gets for one expression


@frozen
class Translator(Operators, Conditions):
    """A translator of one statement. Its parts are in the classes that it is made of."""

    def made(self, tree: Any) -> Made:
        """``tree`` for DuckDB. Raises Refused."""
        found = self._node(tree)
        if len(found.sql) > _LONGEST:
            raise Refused(
                "has too many casts and functions within each other", "Compute it in steps."
            )
        return found

    def _node(self, tree: Any) -> Made:
        kind = type(tree)
        if kind in COMPARISONS:
            return self._compared(COMPARISONS[kind], tree.this, tree.expression)
        if kind in ARITHMETIC:
            return self._arithmetic(tree)
        if kind in BITS:
            return self._bits(BITS[kind], [self._node(tree.this), self._node(tree.expression)])
        if kind in _SPECIAL:
            return self._special(tree, _SPECIAL[kind])
        found = _NODES.get(kind)
        if found is None:
            raise Refused(f"has {tree.sql('spark')}, which is not known here", self.instead)
        return found(self, tree)

    def _literal(self, tree: Any) -> Made:
        text = str(tree.this)
        return Made(quoted(text), STRING, literal=text) if tree.is_string else number(text)

    def _raw(self, tree: Any) -> Made:
        return Made(quoted(str(tree.this)), STRING, literal=str(tree.this))

    def _null(self, tree: Any) -> Made:
        return Made("NULL", NULL)

    def _boolean(self, tree: Any) -> Made:
        return Made("TRUE" if tree.this else "FALSE", BOOLEAN)

    def _bytes(self, tree: Any) -> Made:
        text = str(tree.this)
        return Made(f"unhex('{'0' * (len(text) % 2)}{text}')", BINARY)

    def _as_it_is(self, tree: Any) -> Made:
        """What was translated already."""
        return Made(tree.sql("duckdb"), tree.meta.get("kind"), True)


_NODES: dict[type, Callable[[Translator, Any], Made]] = {
    exp.Column: lambda self, tree: self.column(tree),
    exp.Literal: Translator._literal,
    exp.Null: Translator._null,
    exp.Boolean: Translator._boolean,
    exp.HexString: Translator._bytes,
    exp.RawString: Translator._raw,
    exp.Var: Translator._as_it_is,
    exp.Paren: Translator._paren,
    exp.Neg: Translator._neg,
    exp.Not: Translator._not,
    exp.And: Translator._connected,
    exp.Or: Translator._connected,
    exp.BitwiseNot: Translator._bit_not,
    exp.Between: Translator._between,
    exp.In: Translator._in,
    exp.Is: Translator._is,
    exp.Like: Translator._like,
    exp.ILike: Translator._like,
    exp.Escape: Translator._escape,
    exp.RegexpLike: Translator._matches,
    exp.Case: Translator._case,
    exp.If: Translator._if,
    exp.Cast: Translator._cast,
    exp.TryCast: Translator._cast,
    exp.Anonymous: Translator._call,
    exp.Trim: Translator._trim,
    exp.StrPosition: Translator._position,
    exp.Extract: Translator._extract,
    exp.DPipe: Translator._pipe,
    exp.Bracket: Translator._bracket,
    exp.Dot: Translator._dot,
    exp.Window: Translator._window,
    exp.Filter: Translator._filter,
    exp.Subquery: Translator._subquery,
    exp.Select: Translator._subquery,
    exp.Exists: Translator._exists,
    exp.Array: Translator._array,
    exp.JSONExtract: lambda self, tree: self._call(call_of(tree)),
}
