"""Conditions and choice: IN, LIKE, BETWEEN, IS, CASE, and casts."""

from functools import reduce
from typing import Any

from attrs import frozen
from sqlglot import exp

from hoodoo_statements.spark_sql.calls import Calls
from hoodoo_statements.spark_sql.casts import cast
from hoodoo_statements.spark_sql.function import quoted
from hoodoo_statements.spark_sql.functions import FUNCTIONS
from hoodoo_statements.spark_sql.kinds import (
    BOOLEAN,
    NULL,
    STRING,
    WHOLE,
    Made,
    Refused,
    compared,
    duckdb_name,
    is_variant,
    kind_written,
    spark_name,
)
from hoodoo_statements.spark_sql.texts import lower
from hoodoo_statements.spark_sql.tuples import any_of


@frozen
class Conditions(Calls):
    """What is true or false of values, and what is chosen by it."""

    def _between(self, tree: Any) -> Made:
        if tree.args.get("symmetric"):
            raise Refused("has BETWEEN SYMMETRIC", "Write two comparisons.")
        of, low, high = (self._node(n) for n in (tree.this, tree.args["low"], tree.args["high"]))
        above, below = self._comparison(">=", of, low), self._comparison("<=", of, high)
        return Made(f"({above.sql} AND {below.sql})", BOOLEAN, above.raises or below.raises)

    def _in(self, tree: Any) -> Made:
        query = tree.args.get("query")
        if isinstance(tree.this.unnest(), exp.Tuple) and query is None and tree.expressions:
            return any_of([self._compared("=", tree.this, one) for one in tree.expressions])
        of = self._node(tree.this)
        if query is not None:
            return Made(f"({of.sql} IN {self._subquery_text(query)})", BOOLEAN, of.raises)
        if not tree.expressions:
            raise Refused("has IN of nothing that is known here", self.instead)
        values = [self._node(n) for n in tree.expressions]
        kinds = [v.kind for v in (of, *values)]
        if is_variant(of.kind) and not any(map(is_variant, kinds[1:])):
            return any_of([self._comparison("=", of, value) for value in values])
        if None not in kinds and len(set(kinds)) > 1:
            kind = reduce(lambda a, b: a and compared(a, b), kinds)
            if kind is None:
                raise Refused("has IN with values of several types", "Cast them.")
            of, values = self._as(of, kind), [self._as(v, kind) for v in values]
        raises = of.raises or any(v.raises for v in values)
        return Made(f"({of.sql} IN ({', '.join(v.sql for v in values)}))", BOOLEAN, raises)

    def _is(self, tree: Any) -> Made:
        of, what = self._node(tree.this), tree.expression
        if isinstance(what, exp.Null):
            return Made(f"({of.sql} IS NULL)", BOOLEAN, of.raises)
        if isinstance(what, exp.Boolean):
            of = self.true(of, "IS TRUE")
            return Made(f"({of.sql} IS {'TRUE' if what.this else 'FALSE'})", BOOLEAN, of.raises)
        raise Refused(f"has {tree.sql('spark')}", self.instead)

    def _like(self, tree: Any, escape: str = "\\") -> Made:
        pattern = tree.expression
        if isinstance(pattern, (exp.Any, exp.All)):
            word = "OR" if isinstance(pattern, exp.Any) else "AND"
            inner = pattern.this.unnest()
            each = inner.expressions if isinstance(inner, exp.Tuple) else [inner]
            parts = [self._like(type(tree)(this=tree.this, expression=one), escape) for one in each]
            raises = any(p.raises for p in parts)
            return Made(f"({f' {word} '.join(p.sql for p in parts)})", BOOLEAN, raises)
        of, given = (self._as(self._node(n), STRING) for n in (tree.this, pattern))
        left, right = of.sql, given.sql
        if isinstance(tree, exp.ILike):
            left, right = lower(left), lower(right)
        mark = escape.replace("\\", "\\\\") if escape == "\\" else "\\" + escape
        bad = rf"^(?s:[^{mark}]|{mark}[{mark}_%])*$"
        checked = given.literal is None or escape in str(given.literal)
        sql = f"{left} LIKE {right} ESCAPE {quoted(escape)}"
        if checked:
            refused = (
                "error('a pattern of LIKE has an escape before another character than _ and %')"
            )
            sql = (
                f"CASE WHEN NOT regexp_matches({given.sql}, {quoted(bad)}) THEN {refused} "
                f"ELSE {sql} END"
            )
        negated = "NOT " if tree.args.get("negate") else ""
        raises = checked or of.raises or given.raises or isinstance(tree, exp.ILike)
        return Made(f"({negated}({sql}))", BOOLEAN, raises)

    def _escape(self, tree: Any) -> Made:
        mark = tree.expression
        if (
            not isinstance(mark, exp.Literal)
            or len(mark.name) != 1
            or not mark.name.isascii()
            or mark.name.isalnum()
        ):
            raise Refused(
                "has ESCAPE with something else than one sign", "Give one sign: ESCAPE '!'."
            )
        return self._like(tree.this, mark.name)

    def _matches(self, tree: Any) -> Made:
        return self._bound(FUNCTIONS["rlike"], "RLIKE", [tree.this, tree.expression])

    def _case(self, tree: Any) -> Made:
        operand = tree.args.get("this")
        of = None if operand is None else self._node(operand)
        conditions, values = [], []
        for when in tree.args["ifs"]:
            condition = self._node(when.this)
            conditions.append(
                self.true(condition, "WHEN") if of is None else self._comparison("=", of, condition)
            )
            values.append(self._node(when.args["true"]))
        default = tree.args.get("default")
        values.append(Made("NULL", NULL) if default is None else self._node(default))
        values = self._one_kind(values, "CASE")
        whens = " ".join(f"WHEN {c.sql} THEN {v.sql}" for c, v in zip(conditions, values))
        raises = any(m.raises for m in (*conditions, *values))
        return Made(f"(CASE {whens} ELSE {values[-1].sql} END)", values[0].kind, raises)

    def _if(self, tree: Any) -> Made:
        false = tree.args.get("false") or exp.Null()
        return self._bound(FUNCTIONS["if"], "if", [tree.this, tree.args["true"], false])

    def _cast(self, tree: Any) -> Made:
        of, kind = self._node(tree.this), kind_written(tree.to)
        tried = isinstance(tree, exp.TryCast) and bool(tree.args.get("safe"))
        made = None if kind is None else cast(of, kind, tried)
        if made is None:
            raise Refused(
                f"has a cast from {spark_name(of.kind)} to {tree.to.sql('spark')}", self.instead
            )
        if of.literal is not None and kind in WHOLE and of.kind in WHOLE:
            same = kind == of.kind  # its digits are of the type all the same
            sql = f"CAST({made.sql} AS {duckdb_name(kind)})" if same else made.sql
            return Made(sql, kind, False, of.literal)
        return made
