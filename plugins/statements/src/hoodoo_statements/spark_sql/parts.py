"""Parts: what all parts of an expression need: other parts, and both sides as one type."""

import difflib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from sqlglot import exp

from hoodoo_statements.spark_sql.casts import cast
from hoodoo_statements.spark_sql.functions import FUNCTIONS
from hoodoo_statements.spark_sql.kinds import (
    BOOLEAN,
    NULL,
    Made,
    Refused,
    common,
    compared,
    spark_name,
)
from hoodoo_statements.spark_sql.tuples import tuples_compared
from hoodoo_statements.spark_sql.variants import compared_variants


@frozen
class Parts:
    """``column``: what a column is called where it is computed, and its kind. ``rows``: whether the
    text may use more than the one row, as queries may. ``instead``: how to get what is refused.
    ``wide``: products of decimals have 128 bits; else 64 where both have, and fail past them."""

    column: Callable[[exp.Column], Made]
    instead: str
    rows: bool = False
    wide: bool = True

    def _node(self, tree: Any) -> Made:
        """``tree`` for DuckDB, whatever it is: :class:`Translator` knows all kinds."""
        raise NotImplementedError

    def true(self, given: Made, where: str) -> Made:
        """``given``, a condition. Raises Refused for what is neither true nor false."""
        if given.kind not in (None, BOOLEAN, NULL):
            raise Refused(
                f"has {where} beside a {spark_name(given.kind)}, which is neither true nor false",
                "Compare it with something.",
            )
        return given

    def _compared(self, sign: str, left: Any, right: Any) -> Made:
        sides = [side.unnest() for side in (left, right)]
        if not any(isinstance(side, exp.Tuple) for side in sides):
            return self._comparison(sign, self._node(left), self._node(right))
        if not all(isinstance(side, exp.Tuple) for side in sides) or (
            len(sides[0].expressions) != len(sides[1].expressions)
        ):
            raise Refused(
                f"has {sign} between {left.sql('spark')} and {right.sql('spark')}",
                "Compare a tuple with one of as many values.",
            )
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
                f"has {sign} of {spark_name(left.kind)}",
                "Compare what is within: (a.x, a.y) < (b.x, b.y).",
            )
        if left.kind == right.kind:
            return left, right
        kind = compared(left.kind, right.kind)
        if kind is None:
            raise Refused(
                f"has {sign} between {spark_name(left.kind)} and {spark_name(right.kind)}",
                "Cast one of them.",
            )
        return self._as(left, kind), self._as(right, kind)

    def _as(self, given: Made, kind: pa.DataType) -> Made:
        made = given if given.kind is None else cast(given, kind)
        if made is None:
            raise Refused(
                f"takes a {spark_name(given.kind)} for a {spark_name(kind)}",
                "Cast it, in a way that is known here.",
            )
        return made

    def _one_kind(self, values: Sequence[Made], what: str) -> list[Made]:
        kinds = [v.kind for v in values]
        if None in kinds:
            return list(values)
        kind = kinds[0]
        for other in kinds[1:]:
            joined = common(kind, other)
            if joined is None:
                raise Refused(
                    f"has {what} with {spark_name(kind)} and {spark_name(other)}",
                    "Cast them to one type.",
                )
            kind = joined
        assert kind is not None
        return [self._as(v, kind) if v.kind != kind else v for v in values]

    def _unknown(self, name: str) -> Refused:
        close = difflib.get_close_matches(name, sorted(FUNCTIONS), 2, 0.75)
        also = f"Did you mean {' or '.join(f'{n}()' for n in close)}? " if close else ""
        return Refused(
            f"calls {name}(), which is not computed here as Spark computes it", also + self.instead
        )
