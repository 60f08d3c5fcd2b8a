"""Translate: a tree of Spark's SQL -> text for DuckDB, part by part. What is not known here is
refused."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from attrs import frozen
from sqlglot import exp

from hoodoo_statements.spark_sql.casts import cast
from hoodoo_statements.spark_sql.columns import compares_columns
from hoodoo_statements.spark_sql.decimals import average_of_decimals, not_zero, of_decimals
from hoodoo_statements.spark_sql.functions import (
    AGGREGATES,
    FUNCTIONS,
    WINDOWS,
    Function,
    lower,
    modulo,
    part_of,
    quoted,
)
from hoodoo_statements.spark_sql.kinds import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MOST_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    WHOLE,
    Made,
    Refused,
    common,
    compared,
    decimal,
    duckdb_name,
    is_decimal,
    is_fractional,
    is_number,
    is_plain,
    is_variant,
    kind_written,
    result_fits,
    spark_name,
)
from hoodoo_statements.spark_sql.tuples import any_of, tuples_compared
from hoodoo_statements.spark_sql.variants import compared_variants
from hoodoo_statements.text.chains import flat
from hoodoo_statements.text.paths import call_of

COMPARISONS = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip
ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "div", exp.Mod: "%"}  # fmt: skip
BITS = {exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^"}
_UNITS = {"DAY": "DAY", "WEEK": "WEEK", "MONTH": "MONTH", "YEAR": "YEAR",
          "HOUR": "HOUR", "MINUTE": "MINUTE", "SECOND": "SECOND"}  # fmt: skip
_DAYS = ("DAY", "WEEK", "MONTH", "YEAR")
# sqlglot has nodes of their own for these calls, whatever it is made to read.
_SPECIAL = {exp.Ceil: "ceil", exp.Floor: "floor", exp.Concat: "concat", exp.Substring: "substring"}
_CONSTANT = re.compile(r"(DATE|TIMESTAMP|TIMESTAMPTZ) '[^']*'")
_LONGEST = 200_000  # characters of text that DuckDB gets for one expression


@frozen
class Translator:
    """``column``: what a column is called where it is computed, and its kind. ``rows``: whether the
    text may use more than the one row, as queries may. ``instead``: how to get what is refused.
    ``wide``: products of decimals have 128 bits; else 64 where both have, and fail past them."""

    column: Callable[[exp.Column], Made]
    instead: str
    rows: bool = False
    wide: bool = True

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

    # --- leaves -----------------------------------------------------------------------------------
    def _literal(self, tree: Any) -> Made:
        text = str(tree.this)
        return Made(quoted(text), STRING, literal=text) if tree.is_string else _number(text)

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

    # --- operators --------------------------------------------------------------------------------
    def _paren(self, tree: Any) -> Made:
        inner = self._node(tree.unnest())
        return Made(f"({inner.sql})", inner.kind, inner.raises, inner.literal, inner.bare)

    def _neg(self, tree: Any) -> Made:
        inner = tree.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return _number(f"-{inner.this}")
        given = self._node(inner)
        if given.kind is not None and not is_number(given.kind) and given.kind != NULL:
            raise Refused(f"has - before a {spark_name(given.kind)}", "Cast it to a number.")
        return Made(f"(- {given.sql})", given.kind, True)

    def _not(self, tree: Any) -> Made:
        of = self.true(self._node(tree.this), "NOT")
        return Made(f"(NOT {of.sql})", BOOLEAN, of.raises)

    def _connected(self, tree: Any) -> Made:
        """What may be an error is computed of the rows only that what is before it has not decided,
        as Spark does."""
        is_and = isinstance(tree, exp.And)
        word = "AND" if is_and else "OR"
        parts = [self.true(self._node(part), word) for part in flat(tree)]
        plain = f" {word} ".join(p.sql for p in parts)
        if not any(p.raises for p in parts[1:]):
            return Made(f"({plain})", BOOLEAN, parts[0].raises)
        decided = "FALSE" if is_and else "TRUE"
        whens = " ".join(
            f"WHEN {'NOT ' if is_and else ''}{p.sql} THEN {decided}" for p in parts[:-1]
        )
        made = f"(CASE {whens} ELSE {plain} END)"
        if is_and:  # also beside it, where DuckDB can join and leave out rows by them
            first = next(n for n, p in enumerate(parts) if p.raises)
            joins = zip(parts, flat(tree))
            able = [
                p.sql for n, (p, of) in enumerate(joins) if n < first or compares_columns(p, of)
            ]
            made = f"({' AND '.join([*able, made])})"
        return Made(made, BOOLEAN, True)

    def true(self, given: Made, where: str) -> Made:
        """``given``, a condition. Raises Refused for what is neither true nor false."""
        if given.kind not in (None, BOOLEAN, NULL):
            raise Refused(
                f"has {where} beside a {spark_name(given.kind)}, which is neither true nor false", "Compare it with something."
            )  # fmt: skip
        return given

    def _compared(self, sign: str, left: Any, right: Any) -> Made:
        sides = [side.unnest() for side in (left, right)]
        if not any(isinstance(side, exp.Tuple) for side in sides):
            return self._comparison(sign, self._node(left), self._node(right))
        if not all(isinstance(side, exp.Tuple) for side in sides) or (
            len(sides[0].expressions) != len(sides[1].expressions)
        ):
            raise Refused(
                f"has {sign} between {left.sql('spark')} and {right.sql('spark')}", "Compare a tuple with one of as many values."
            )  # fmt: skip
        places = zip(sides[0].expressions, sides[1].expressions)
        pairs = [self._alike(self._node(a), self._node(b), sign) for a, b in places]
        return tuples_compared(sign, pairs)

    def _comparison(self, sign: str, left: Made, right: Made) -> Made:
        left, right = self._alike(left, right, sign)
        return Made(f"({left.sql} {sign} {right.sql})", BOOLEAN, left.raises or right.raises)

    def _alike(self, left: Made, right: Made, sign: str) -> tuple[Made, Made]:
        """Both as the type that they are compared as."""
        left, right = compared_variants(left, right, cast)
        if left.kind is None or right.kind is None:
            return left, right
        if left.kind == right.kind and pa.types.is_map(left.kind):
            raise Refused(f"has {sign} of maps", self.instead)
        if sign[0] in "<>" and sign != "<>" and pa.types.is_nested(left.kind):
            # DuckDB has NULL within them after all else, Spark before it.
            raise Refused(
                f"has {sign} of {spark_name(left.kind)}", "Compare what is within: (a.x, a.y) < (b.x, b.y)."
            )  # fmt: skip
        if left.kind == right.kind:
            return left, right
        kind = compared(left.kind, right.kind)
        if kind is None:
            raise Refused(
                f"has {sign} between {spark_name(left.kind)} and {spark_name(right.kind)}", "Cast one of them."
            )  # fmt: skip
        return self._as(left, kind), self._as(right, kind)

    def _as(self, given: Made, kind: pa.DataType) -> Made:
        made = given if given.kind is None else cast(given, kind)
        if made is None:
            raise Refused(
                f"takes a {spark_name(given.kind)} for a {spark_name(kind)}", "Cast it, in a way that is known here."
            )  # fmt: skip
        return made

    def _arithmetic(self, tree: Any) -> Made:
        sign = ARITHMETIC[type(tree)]
        if sign in "+-" and isinstance(tree.expression, exp.Interval):
            return self._later(self._node(tree.this), sign, tree.expression)
        if sign == "+" and isinstance(tree.this, exp.Interval):
            return self._later(self._node(tree.expression), sign, tree.this)
        a, b = self._node(tree.this), self._node(tree.expression)
        return self._computed(sign, a, b)

    def _computed(self, sign: str, a: Made, b: Made) -> Made:
        raises = True
        if a.kind == DATE and sign in "+-" and b.kind in (*WHOLE[:3], NULL):
            return Made(f"CAST({a.sql} {sign} {self._as(b, INT).sql} AS DATE)", DATE, raises)
        for side in (a, b):
            if side.kind is not None and not is_number(side.kind) and side.kind != NULL:
                raise Refused(f"has {sign} with a {spark_name(side.kind)}", "Cast it to a number.")
        if a.kind is None or b.kind is None:
            if sign in ("/", "%", "div"):
                raise Refused(f"has {sign} of values whose type is not known here", "Cast them.")
            return Made(f"({a.sql} {sign} {b.sql})", None, raises)
        if sign == "div":
            if not all(s.kind in (*WHOLE, NULL) for s in (a, b)):
                raise Refused("has div of what is not a whole number", "Cast both to BIGINT.")
            one, other = self._as(a, BIGINT), self._as(b, BIGINT)
            return Made(not_zero(one, other, f"{one.sql} // {other.sql}"), BIGINT, raises)
        kinds = (a.kind, b.kind)
        if any(map(is_decimal, kinds)) and not any(map(is_fractional, kinds)):
            return self._of_decimals(sign, a, b)
        if sign == "/":
            one, other = self._as(a, DOUBLE), self._as(b, DOUBLE)
            return Made(not_zero(one, other, f"{one.sql} / {other.sql}"), DOUBLE, raises)
        kind = common(a.kind, b.kind)
        assert kind is not None
        if kind == NULL:
            kind = DOUBLE
        one, other = self._as(a, kind), self._as(b, kind)
        if sign == "%":
            return modulo([one, other])
        fits = is_fractional(kind) or result_fits(sign, one, other)
        raises = not fits or one.raises or other.raises
        return Made(f"({one.sql} {sign} {other.sql})", kind, raises)

    def _of_decimals(self, sign: str, a: Made, b: Made) -> Made:
        found = of_decimals(sign, a, b, self._as, self.wide)
        if not isinstance(found, str):
            return found
        raise Refused(found, "Cast them to fewer digits, or to DOUBLE.")

    def _later(self, given: Made, sign: str, tree: Any) -> Made:
        unit = str(tree.args.get("unit") or "").upper().removesuffix("S")
        value = tree.this
        negative = isinstance(value, exp.Neg)
        text = str(value.this.this if negative else value.this) if value is not None else ""
        if (
            unit not in _UNITS
            or not text.strip("+- ").isdigit()
            or not isinstance(value.this if negative else value, exp.Literal)
        ):
            raise Refused(
                f"has {tree.sql('spark')}", "Write a whole number of days, months, hours or the like: INTERVAL 1 DAY."
            )  # fmt: skip
        span = f"INTERVAL '{'-' if negative else ''}{text.strip()} {_UNITS[unit]}'"
        if given.kind == DATE and unit in _DAYS:
            made = f"CAST({given.sql} {sign} {span} AS DATE)"
            return Made(made, DATE, not _CONSTANT.fullmatch(given.sql))
        if given.kind == TIMESTAMP:
            made = f"CAST(CAST({given.sql} AS TIMESTAMP) {sign} {span} AS TIMESTAMPTZ)"
            return Made(made, TIMESTAMP, True)
        if given.kind == TIMESTAMP_NTZ:
            return Made(f"({given.sql} {sign} {span})", TIMESTAMP_NTZ, True)
        raise Refused(f"has an interval with a {spark_name(given.kind)}", "Cast that to TIMESTAMP.")

    def _bits(self, sign: str, sides: list[Made]) -> Made:
        kind = reduce(common, [s.kind for s in sides])
        if kind not in WHOLE:
            raise Refused(f"has {sign} of what is no whole number", "Cast it to BIGINT.")
        one, other = (self._as(s, kind) for s in sides)
        sql = f"xor({one.sql}, {other.sql})" if sign == "^" else f"({one.sql} {sign} {other.sql})"
        return Made(sql, kind, one.raises or other.raises)

    def _bit_not(self, tree: Any) -> Made:
        of = self._node(tree.this)
        if of.kind not in WHOLE:
            raise Refused("has ~ of what is no whole number", "Cast it to BIGINT.")
        return Made(f"(~ {of.sql})", of.kind, of.raises)

    # --- conditions -------------------------------------------------------------------------------
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
            sql = f"CASE WHEN NOT regexp_matches({given.sql}, {quoted(bad)}) THEN {refused} ELSE {sql} END"
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

    # --- choice -----------------------------------------------------------------------------------
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

    def _one_kind(self, values: Sequence[Made], what: str) -> list[Made]:
        kinds = [v.kind for v in values]
        if None in kinds:
            return list(values)
        kind = kinds[0]
        for other in kinds[1:]:
            joined = common(kind, other)
            if joined is None:
                raise Refused(
                    f"has {what} with {spark_name(kind)} and {spark_name(other)}", "Cast them to one type."
                )  # fmt: skip
            kind = joined
        assert kind is not None
        return [self._as(v, kind) if v.kind != kind else v for v in values]

    # --- casts ------------------------------------------------------------------------------------
    def _cast(self, tree: Any) -> Made:
        of, kind = self._node(tree.this), kind_written(tree.to)
        tried = isinstance(tree, exp.TryCast) and bool(tree.args.get("safe"))
        made = None if kind is None else cast(of, kind, tried)
        if made is None:
            raise Refused(
                f"has a cast from {spark_name(of.kind)} to {tree.to.sql('spark')}", self.instead
            )  # fmt: skip
        if of.literal is not None and kind in WHOLE and of.kind in WHOLE:
            same = kind == of.kind  # its digits are of the type all the same
            sql = f"CAST({made.sql} AS {duckdb_name(kind)})" if same else made.sql
            return Made(sql, kind, False, of.literal)
        return made

    # --- calls ------------------------------------------------------------------------------------
    def _call(self, tree: Any) -> Made:
        name = tree.name.lower()
        if name == "struct_extract" and tree.meta.get("own"):
            of = self._node(tree.expressions[0])
            return self._field(of, tree.expressions[1].name)
        if name in AGGREGATES and self.rows:
            return self._aggregate(tree, name)
        found = FUNCTIONS.get(name)
        if found is None:
            raise self._unknown(name)
        return self._bound(found, name, tree.expressions)

    def _unknown(self, name: str) -> Refused:
        close = difflib.get_close_matches(name, sorted(FUNCTIONS), 2, 0.75)
        also = f"Did you mean {' or '.join(f'{n}()' for n in close)}? " if close else ""
        return Refused(f"calls {name}(), which is not computed here as Spark computes it", also + self.instead)  # fmt: skip

    def _field(self, of: Made, name: str) -> Made:
        kind = None
        if of.kind is not None and pa.types.is_struct(of.kind):
            at = of.kind.get_field_index(name)
            kind = of.kind.field(at).type if at >= 0 else None
        return Made(f"struct_extract({of.sql}, {quoted(name)})", kind, of.raises)

    def _special(self, tree: Any, name: str) -> Made:
        known = {"this", "start", "length", "expressions", "coalesce", "safe"}
        extra = [k for k, v in tree.args.items() if v and k not in known]
        if extra:
            raise Refused(f"has {tree.sql('spark')}", self.instead)
        given = [tree.args.get(k) for k in ("this", "start", "length")]
        return self._bound(
            FUNCTIONS[name], name, [g for g in given if g is not None] + tree.expressions
        )

    def _trim(self, tree: Any) -> Made:
        position = str(tree.args.get("position") or "").upper()
        name = {"": "trim", "BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[position]
        of = self._as(self._node(tree.this), STRING)
        given = tree.args.get("expression")
        if given is None:
            return Made(f"{name}({of.sql}, ' ')", STRING, of.raises)
        if not position:
            raise Refused("has trim() with two texts", "Write trim(BOTH 'x' FROM a).")
        signs = self._as(self._node(given), STRING)
        return Made(f"{name}({of.sql}, {signs.sql})", STRING, of.raises or signs.raises)

    def _position(self, tree: Any) -> Made:
        if tree.args.get("position") or tree.args.get("occurrence"):
            raise Refused("has a position to begin at", self.instead)
        return self._bound(FUNCTIONS["instr"], "position", [tree.this, tree.args["substr"]])

    def _extract(self, tree: Any) -> Made:
        found = part_of(tree.this.name)
        if found is None:
            raise Refused(f"has extract({tree.this.name} FROM ...)", self.instead)
        return self._bound(found, "extract", [tree.expression])

    def _pipe(self, tree: Any) -> Made:
        return self._bound(FUNCTIONS["concat"], "||", [tree.this, tree.expression])

    def _array(self, tree: Any) -> Made:
        """A list in brackets. Spark has none; users of DuckDB and of Python write them."""
        return self._call(exp.Anonymous(this="array", expressions=tree.expressions))

    def _bracket(self, tree: Any) -> Made:
        of, at = self._node(tree.this), [self._node(n) for n in tree.expressions]
        inner = of.kind.value_type if of.kind is not None and pa.types.is_list(of.kind) else None
        if inner is None or len(at) != 1 or at[0].kind not in WHOLE:
            raise Refused(f"has {tree.sql('spark')}", self.instead)
        place = at[0].sql
        past = f"{place} < 0 OR {place} >= len({of.sql})"
        sql = f"(CASE WHEN {past} THEN error('an array has no such element') ELSE list_extract({of.sql}, {place} + 1) END)"
        return Made(sql, inner, True)

    def _dot(self, tree: Any) -> Made:
        return self._field(self._node(tree.this), tree.expression.name)

    def _bound(self, function: Function, name: str, trees: Sequence[Any]) -> Made:
        """The call of ``function``: its arguments as one of its signatures has them."""
        given = [self._node(tree) for tree in trees]
        whys = []
        for signature in function.signatures:
            arguments = self._arguments(signature, given)
            if isinstance(arguments, str):
                whys.append(arguments)
                continue
            made = function.build(arguments)
            if isinstance(made, str):
                raise Refused(f"calls {name}(), which {made}", self.instead)
            return made
        raise Refused(
            f"calls {name}({', '.join(spark_name(g.kind) for g in given)}), and {whys[-1]}", "Cast the arguments, or leave it out."
        )  # fmt: skip

    def _arguments(self, signature: str, given: Sequence[Made]) -> list[Made] | str:
        letters = signature.rstrip("*0")
        if signature.endswith("*"):
            period = 2 if letters == "sX" else 1
            while len(letters) < len(given):
                letters += letters[-period:]
        if len(letters) != len(given):
            return f"it takes {len(letters)}"
        made: list[Made] = []
        for letter, one in zip(letters, given):
            found = self._argument(letter, one)
            if isinstance(found, str):
                return found
            made.append(found)
        for shared in "CNW":
            places = [n for n, letter in enumerate(letters) if letter == shared]
            if len(places) > 1:
                alike = self._one_kind([made[n] for n in places], "arguments")
                for n, one in zip(places, alike):
                    made[n] = one
        return made

    def _argument(self, letter: str, one: Made) -> Made | str:
        kind = one.kind
        if letter.islower():
            of = str if letter == "s" else int
            return (
                one
                if isinstance(one.literal, of)
                else "the text of the statement has to say the argument"
            )
        if kind is None or letter == "X":
            return one
        if letter in "CNWM":
            fits = {
                "C": is_plain(kind), "N": is_number(kind), "W": kind in WHOLE, "M": is_fractional(kind) or is_decimal(kind),
            }[letter]  # fmt: skip
            return (
                one
                if fits or (kind == NULL and letter == "C")
                else f"it takes no {spark_name(kind)}"
            )
        if letter == "A":
            known = pa.types.is_list(kind) or pa.types.is_map(kind)
            return one if known else f"it takes no {spark_name(kind)}"
        to = _LETTERS[letter]
        may = kind in (to, NULL)
        may = may or (letter == "S" and is_plain(kind) and kind != BINARY)
        may = may or (letter == "I" and kind in WHOLE[:3]) or (letter == "L" and kind in WHOLE)
        may = may or (letter == "D" and is_number(kind))
        may = may or (letter in "TZ" and kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ))
        may = may or (letter == "Q" and kind == TIMESTAMP_NTZ)
        may = may or (letter in "TZ" and isinstance(one.literal, str))
        return self._as(one, to) if may else f"it takes no {spark_name(kind)}"

    # --- of many rows -----------------------------------------------------------------------------
    def _aggregate(self, tree: Any, name: str, only: str = "") -> Made:
        given, distinct, found = list(tree.expressions), "", AGGREGATES[name]
        if len(given) == 1 and isinstance(given[0], exp.Distinct):
            given, distinct = list(given[0].expressions), "DISTINCT "
        if len(given) == 1 and isinstance(given[0], exp.Star) and name == "count":
            return Made(found.text("*", "", only), BIGINT)
        if len(given) != 1:
            raise Refused(f"calls {name}() of {len(given)} values", self.instead)
        of = self._node(given[0])
        if found.sql.startswith("avg") and is_decimal(of.kind):
            average = average_of_decimals(of, distinct, f" FILTER (WHERE {only})" if only else "")
            if average is None:
                why = f"calls avg({spark_name(of.kind)})"
                raise Refused(why, "Cast the values, such as to DOUBLE.")
            return average
        if name in ("sum", "avg", "mean") and (of.kind is None or found.kind(of.kind) is None):
            raise Refused(
                f"calls {name}({spark_name(of.kind)})", "Cast the values, such as to DOUBLE."
            )
        kind = found.kind(of.kind)
        if distinct and "FILTER" in found.sql:
            raise Refused(f"calls {name}(DISTINCT ...)", self.instead)
        sql = found.text(of.bare if name == "sum" and of.bare else of.sql, distinct, only)
        exact = name == "sum" and kind is not None and not is_fractional(kind)
        return Made(f"CAST({sql} AS {duckdb_name(kind)})" if exact and kind else sql, kind, True)

    def _window(self, tree: Any) -> Made:
        if not self.rows:
            raise Refused("has a window", self.instead)
        inner = tree.this
        while isinstance(inner, (exp.IgnoreNulls, exp.RespectNulls)):
            inner = inner.this
        if isinstance(inner, exp.Filter):  # Spark refuses it
            raise Refused("has FILTER with a window", "Write sum(CASE WHEN ... THEN x END).")
        name = inner.name.lower() if isinstance(inner, exp.Anonymous) else ""
        given = [self._node(n) for n in inner.expressions if not isinstance(n, exp.Star)]
        order = tree.args.get("order")
        for node in (*tree.args.get("partition_by", ()), *(order.expressions if order else ())):
            by = node.this if isinstance(node, exp.Ordered) else node
            by.replace(exp.Var(this=self._node(by).sql))
        if name in WINDOWS:
            kind = WINDOWS[name].kind(given[0].kind if given else None)
            for node, one in zip(list(inner.expressions), given):
                node.replace(exp.Var(this=one.sql))
            sql = tree.sql("duckdb")
            return Made(f"CAST({sql} AS INTEGER)" if kind == INT else sql, kind, True)
        if name not in AGGREGATES:
            raise self._unknown(name or inner.sql("spark"))
        made = self._aggregate(inner, name)
        bare = AGGREGATES[name].text(given[0].sql if given else "*")
        if "FILTER" in bare:
            raise Refused(f"calls {name}() over a window", self.instead)
        if is_decimal(made.kind) and AGGREGATES[name].sql.startswith("avg"):
            inner.replace(exp.Var(this=""))
            average = average_of_decimals(given[0], "", tree.sql("duckdb"))
            assert average is not None
            return average
        inner.replace(exp.Var(this=bare))
        sql = tree.sql("duckdb")
        exact = name == "sum" and made.kind is not None and not is_fractional(made.kind)
        return Made(
            f"CAST({sql} AS {duckdb_name(made.kind)})" if exact and made.kind else sql,
            made.kind,
            True,
        )

    def _filter(self, tree: Any) -> Made:
        of = tree.this
        name = of.name.lower() if isinstance(of, exp.Anonymous) else ""
        if name not in AGGREGATES or not self.rows:
            raise Refused("has FILTER there", "Write sum(CASE WHEN ... THEN x END).")
        condition = self.true(self._node(tree.expression.this), "FILTER")
        return self._aggregate(of, name, condition.sql)

    def _subquery(self, tree: Any) -> Made:
        if not self.rows:
            raise Refused("has a query", self.instead)
        return Made(self._subquery_text(tree), tree.meta.get("kind"))

    def _subquery_text(self, query: Any) -> str:
        if not self.rows:
            raise Refused("has a query", self.instead)
        text = query.sql("duckdb")
        return text if text.startswith("(") else f"({text})"

    def _exists(self, tree: Any) -> Made:
        return Made(f"EXISTS {self._subquery_text(tree.this)}", BOOLEAN)


def _number(text: str) -> Made:
    bare = text.lstrip("-").lower()
    if "e" in bare:
        return Made(f"CAST({quoted(text)} AS DOUBLE)", DOUBLE)
    whole, point, fraction = bare.partition(".")
    if not point:
        value = int(text)
        kind = INT if -(2**31) <= value < 2**31 else BIGINT if -(2**63) <= value < 2**63 else None
        if kind is not None:
            return Made(f"CAST({text} AS BIGINT)" if kind == BIGINT else text, kind, literal=value)
    digits = len((whole + fraction).lstrip("0")) or 1
    digits = max(digits, len(fraction))
    if digits > MOST_DIGITS:
        raise Refused(
            f"has {text}, a number of more than {MOST_DIGITS} digits", "Write it with e: 1e40."
        )
    kind = decimal(digits, len(fraction))
    return Made(f"CAST({quoted(text)} AS {duckdb_name(kind)})", kind)


_LETTERS = {"S": STRING, "V": STRING, "I": INT, "L": BIGINT, "D": DOUBLE, "B": BOOLEAN, "T": DATE, "E": DATE, "Z": TIMESTAMP, "Q": TIMESTAMP, "Y": BINARY}  # fmt: skip
_NODES: dict[type, Callable[[Translator, Any], Made]] = {
    exp.Column: lambda self, tree: self.column(tree),
    exp.Literal: Translator._literal, exp.Null: Translator._null,
    exp.Boolean: Translator._boolean, exp.HexString: Translator._bytes, exp.RawString: Translator._raw, exp.Var: Translator._as_it_is,
    exp.Paren: Translator._paren, exp.Neg: Translator._neg, exp.Not: Translator._not, exp.And: Translator._connected,
    exp.Or: Translator._connected, exp.BitwiseNot: Translator._bit_not, exp.Between: Translator._between,
    exp.In: Translator._in, exp.Is: Translator._is, exp.Like: Translator._like, exp.ILike: Translator._like,
    exp.Escape: Translator._escape, exp.RegexpLike: Translator._matches, exp.Case: Translator._case,
    exp.If: Translator._if, exp.Cast: Translator._cast, exp.TryCast: Translator._cast, exp.Anonymous: Translator._call,
    exp.Trim: Translator._trim, exp.StrPosition: Translator._position, exp.Extract: Translator._extract,
    exp.DPipe: Translator._pipe, exp.Bracket: Translator._bracket, exp.Dot: Translator._dot,
    exp.Window: Translator._window, exp.Filter: Translator._filter, exp.Subquery: Translator._subquery,
    exp.Select: Translator._subquery, exp.Exists: Translator._exists, exp.Array: Translator._array,
    exp.JSONExtract: lambda self, tree: self._call(call_of(tree)),
}  # fmt: skip
