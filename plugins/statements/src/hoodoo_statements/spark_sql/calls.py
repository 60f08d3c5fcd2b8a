"""Calls: functions, with their arguments as one of their signatures has them."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from sqlglot import exp

from hoodoo_statements.spark_sql.function import Function, quoted
from hoodoo_statements.spark_sql.functions import AGGREGATES, FUNCTIONS
from hoodoo_statements.spark_sql.kinds import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    WHOLE,
    Made,
    Refused,
    is_decimal,
    is_fractional,
    is_number,
    is_plain,
    spark_name,
)
from hoodoo_statements.spark_sql.many_rows import ManyRows
from hoodoo_statements.spark_sql.times import part_of

_LETTERS = {
    "S": STRING,
    "V": STRING,
    "I": INT,
    "L": BIGINT,
    "D": DOUBLE,
    "B": BOOLEAN,
    "T": DATE,
    "E": DATE,
    "Z": TIMESTAMP,
    "Q": TIMESTAMP,
    "Y": BINARY,
}


@frozen
class Calls(ManyRows):
    """Calls of functions, by name or by syntax of their own, and fields of nested values."""

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
        sql = (
            f"(CASE WHEN {past} THEN error('an array has no such element') ELSE "
            f"list_extract({of.sql}, {place} + 1) END)"
        )
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
            f"calls {name}({', '.join(spark_name(g.kind) for g in given)}), and {whys[-1]}",
            "Cast the arguments, or leave it out.",
        )

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
                "C": is_plain(kind),
                "N": is_number(kind),
                "W": kind in WHOLE,
                "M": is_fractional(kind) or is_decimal(kind),
            }[letter]
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
