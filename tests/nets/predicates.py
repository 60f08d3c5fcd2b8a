"""Predicates as data: few nodes, each of which any engine can be asked, and plain Python, too.

Meaning is that of pyarrow, as ``where=`` takes its expressions. Where another engine means something else by
the same words, its rendering (``render_*.py``) says it in other words. Two things are pyarrow's own:

- numbers of floating point compare as in IEEE 754: NaN is neither less, equal nor greater; for Spark, DuckDB
  and polars it equals itself and is the greatest of all.
- ``in`` is never null: a null is in a set if null is among its values. In SQL that is null.

What no predicate has, because it can't be compared: zeros of floating point in a set (pyarrow looks them up by
their bits, so that -0.0 is not 0.0 there), and values of a set that a 32 bit float does not have (pyarrow
rounds them, others widen the column).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import fields, frozen

Row = Mapping[str, Any]
Truth = bool | None

OPS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


# --- terms: what has a value ---------------------------------------------------------------------
@frozen
class Col:
    """A column, or a field of a struct. ``kind``: a name in random_tables.KINDS."""

    path: tuple[str, ...]
    kind: str

    def value(self, row: Row) -> Any:
        found: Any = row
        for name in self.path:
            found = None if found is None else found[name]
        return found


@frozen
class Length:
    """Of a list its elements, of a text its code points."""

    of: Col
    kind = "int64"

    def value(self, row: Row) -> Any:
        found = self.of.value(row)
        return None if found is None else len(found)


@frozen
class Coalesce:
    of: Col
    default: Any

    @property
    def kind(self) -> str:
        return self.of.kind

    def value(self, row: Row) -> Any:
        found = self.of.value(row)
        return self.default if found is None else found


Term = Col | Length | Coalesce


# --- predicates ----------------------------------------------------------------------------------
@frozen
class Compare:
    """``other`` is a term or a Python value, None among them."""

    op: str
    term: Term
    other: Any

    def truth(self, row: Row) -> Truth:
        a = self.term.value(row)
        b = self.other.value(row) if isinstance(self.other, Term) else self.other
        return None if a is None or b is None else bool(OPS[self.op](a, b))


@frozen
class In:
    term: Term
    values: tuple[Any, ...]

    def truth(self, row: Row) -> Truth:
        a = self.term.value(row)
        return any(a is v or a == v or (is_nan(a) and is_nan(v)) for v in self.values)


@frozen
class IsNull:
    term: Term

    def truth(self, row: Row) -> Truth:
        return self.term.value(row) is None


@frozen
class IsNan:
    term: Term

    def truth(self, row: Row) -> Truth:
        a = self.term.value(row)
        return None if a is None else is_nan(a)


@frozen
class Text:
    """``how``: starts, ends, contains, or like (with ``%``, ``_`` and a backslash before what is meant)."""

    how: str
    term: Term
    text: str

    def truth(self, row: Row) -> Truth:
        a = self.term.value(row)
        if a is None:
            return None
        if self.how == "like":
            return re.fullmatch(like_regex(self.text), a, re.DOTALL) is not None
        asked = {"starts": str.startswith, "ends": str.endswith, "contains": str.__contains__}
        return bool(asked[self.how](a, self.text))


@frozen
class Flag:
    """A column of booleans by itself."""

    term: Term

    def truth(self, row: Row) -> Truth:
        found: Truth = self.term.value(row)
        return found


@frozen
class Constant:
    value: Truth

    def truth(self, row: Row) -> Truth:
        return self.value


@frozen
class Both:
    """``how``: and, or, xor."""

    how: str
    a: Any
    b: Any

    def truth(self, row: Row) -> Truth:
        a, b = self.a.truth(row), self.b.truth(row)
        if self.how == "and":
            return False if a is False or b is False else (None if None in (a, b) else True)
        if self.how == "or":
            return True if a is True or b is True else (None if None in (a, b) else False)
        return None if a is None or b is None else a != b


@frozen
class Not:
    a: Any

    def truth(self, row: Row) -> Truth:
        a = self.a.truth(row)
        return None if a is None else not a


@frozen
class Unknown:
    """Whether a predicate is null."""

    a: Any

    def truth(self, row: Row) -> Truth:
        return self.a.truth(row) is None


@frozen
class Choose:
    """``a`` where ``when`` is true, ``b`` where it is false, null where it is null."""

    when: Any
    a: Any
    b: Any

    def truth(self, row: Row) -> Truth:
        when = self.when.truth(row)
        if when is None:
            return None
        return self.a.truth(row) if when else self.b.truth(row)  # type: ignore[no-any-return]


Predicate = Compare | In | IsNull | IsNan | Text | Flag | Constant | Both | Not | Unknown | Choose


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def like_regex(pattern: str) -> str:
    """``pattern`` as a regular expression, of Python and of Rust."""
    found, chars = [], iter(pattern)
    for char in chars:
        if char == "\\":
            found.append(re.escape(next(chars)))
        else:
            found.append({"%": ".*", "_": "."}.get(char) or re.escape(char))
    return "".join(found)


def parts(p: Predicate) -> Iterator[Predicate]:
    """The predicates that ``p`` is made of, itself not among them."""
    for field in fields(type(p)):
        value = getattr(p, field.name)
        if isinstance(value, Predicate):
            yield value


def terms(p: Predicate) -> Iterator[Term]:
    for field in fields(type(p)):
        value = getattr(p, field.name)
        if isinstance(value, Term):
            yield value
        elif isinstance(value, Predicate):
            yield from terms(value)


def _column(term: Term) -> Col:
    return term if isinstance(term, Col) else term.of


def kinds(p: Predicate) -> set[str]:
    """What is counted: the sorts of nodes, and the types that they ask for."""
    names = {
        Compare: "comparison", In: "in", IsNull: "null", Unknown: "null", IsNan: "nan", Flag: "flag",
        Constant: "constant", Not: "not", Choose: "choose",
    }  # fmt: skip
    found: set[str] = set()
    if isinstance(p, Text):
        found.add("like" if p.how == "like" else f"text {p.how}")
    else:
        found.add(p.how if isinstance(p, Both) else names[type(p)])
    for part in parts(p):
        found |= kinds(part)
    for term in terms(p):
        column = _column(term)
        found.add(f"of {column.kind}")
        if len(column.path) > 1:
            found.add("nested field")
        if isinstance(term, Length | Coalesce):
            found.add(type(term).__name__.lower())
        if column.path[0].startswith("_hoodie_"):
            found.add("meta column")
    return found
