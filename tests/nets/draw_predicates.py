"""Random predicates over the columns of a table: literals are values that its rows have, and nasty ones."""

from __future__ import annotations

import decimal
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from predicates import (
    OPS,
    Both,
    Choose,
    Coalesce,
    Col,
    Compare,
    Constant,
    Flag,
    In,
    IsNan,
    IsNull,
    Length,
    Not,
    Predicate,
    Row,
    Term,
    Text,
    Unknown,
)  # fmt: skip
from random_tables import KINDS, POOLS, kind_of

# Beyond the type of the column, or between two of its values: comparisons take them, sets do not.
_BEYOND: dict[str, list[Any]] = {
    # Not 0.5: Arrow makes a 32 bit float of the column then, and fails where a value does not fit.
    "int32": [2**31, -(2**40)],
    "float32": [0.1, float("nan"), 1e300],
    "float64": [float("nan"), 1e-300],
    "decimal": [decimal.Decimal("1.505"), decimal.Decimal("123456789012.5")],
}


@frozen
class Columns:
    """What predicates can be about: columns, or fields of structs, and values for each of them.

    ``often``: those that decide where rows lie, or which row is which: half of all terms."""

    all: tuple[Col, ...]
    often: tuple[Col, ...]
    nullable: tuple[Col, ...]  # of any type: whether they are null is all that is asked
    values: dict[Col, list[Any]]

    @classmethod
    def of(cls, schema: pa.Schema, rows: Sequence[Row], often: Iterable[str]) -> Columns:
        found = [col for field in schema for col in _columns((field.name,), field.type)]
        known = [c for c in found if c.kind in KINDS]
        names = {*often}
        chosen = [c for c in known if c.path[0] in names or c.path[0].startswith("_hoodie_")]
        return cls(
            tuple(known), tuple(chosen) or tuple(known), tuple(found),
            {c: _values(c, rows) for c in known},
        )  # fmt: skip


def _columns(path: tuple[str, ...], kind: pa.DataType) -> list[Col]:
    if pa.types.is_struct(kind) and path[-1] != "event":  # a VARIANT, which has no fields on Spark
        inside = [c for child in kind for c in _columns((*path, child.name), child.type)]
        return [Col(path, "struct"), *inside]
    return [Col(path, kind_of(kind) or "other")]


def _values(col: Col, rows: Sequence[Row]) -> list[Any]:
    """Some that rows have, twice as likely; some of the pool; sorted, so that the seed decides."""
    if col.kind == "list":
        return []
    stored = {repr(v): v for v in (col.value(row) for row in rows) if v is not None}
    found = [stored[text] for text in sorted(stored)]
    return [*found, *found, *POOLS[col.kind]]


class Drawing:
    def __init__(self, rng: random.Random, columns: Columns) -> None:
        self.rng, self.columns = rng, columns

    def predicate(self, depth: int | None = None) -> Predicate:
        rng = self.rng
        depth = rng.choice([0, 0, 1, 1, 2, 3]) if depth is None else depth
        if depth == 0:
            return self._leaf()
        how = rng.choice(["and"] * 4 + ["or"] * 4 + ["not"] * 3 + ["xor", "null", "choose"])
        a = self.predicate(depth - 1)
        if how == "not":
            return Not(a)
        if how == "null":
            return Unknown(a)
        b = self.predicate(rng.randint(0, depth - 1))
        return Choose(self.predicate(0), a, b) if how == "choose" else Both(how, a, b)

    def _leaf(self) -> Predicate:
        rng = self.rng
        if rng.random() < 0.02:
            return Constant(rng.choice([True, False, None]))
        if rng.random() < 0.1:
            return IsNull(rng.choice(self.columns.nullable))
        col = rng.choice(self.columns.often if rng.random() < 0.5 else self.columns.all)
        if col.kind == "list":
            return self._compare(Length(col), [0, 1, 2, 5])
        if col.kind == "bool" and rng.random() < 0.5:
            return Flag(col)
        if col.kind == "text" and rng.random() < 0.5:
            return self._text(col)
        if col.kind.startswith("float") and rng.random() < 0.1:
            return IsNan(col)
        values = self.columns.values[col]
        if rng.random() < 0.3:
            return self._in(col, values)
        if rng.random() < 0.12:
            other = self._like(col)
            if other is not None:
                return Compare(rng.choice([*OPS]), col, other)
        term: Term = col
        if rng.random() < 0.1:
            term = Coalesce(col, rng.choice(POOLS[col.kind]))
        return self._compare(term, [*values, *_BEYOND.get(col.kind, []), None])

    def _compare(self, term: Term, values: list[Any]) -> Predicate:
        rng = self.rng
        ops = ["==", "!="] if term.kind == "bool" else [*OPS]
        value = rng.choice(values)
        if value is None and rng.random() < 0.8:
            value = rng.choice(values)
        return Compare(rng.choice(ops), term, value)

    def _in(self, col: Col, values: list[Any]) -> Predicate:
        fit = [v for v in values if _is_kept(v)]
        chosen = [self.rng.choice(fit) for _ in range(self.rng.choice([1, 2, 3, 6]))] if fit else []
        if self.rng.random() < 0.2:
            chosen.append(None)
        return In(col, tuple(chosen))

    def _text(self, col: Col) -> Predicate:
        rng = self.rng
        if rng.random() < 0.1:
            return self._compare(Length(col), [0, 1, 4, 69, 70])
        text: str = rng.choice(self.columns.values[col])
        how = rng.choice(["starts", "starts", "ends", "contains", "like", "like"])
        if how == "starts":
            text = text[: rng.choice([0, 1, 2, len(text)])]
        elif how == "ends":
            text = text[-rng.choice([1, 2, 3]) :]
        elif how == "contains":
            at = rng.randint(0, len(text))
            text = text[at : at + rng.randint(0, 3)]
        else:
            text = self._pattern(text)
        return Text(how, col, text)

    def _pattern(self, text: str) -> str:
        chars = ["\\" + c if c in "%_\\" else c for c in text]
        for _ in range(self.rng.randint(0, 2)):
            at = self.rng.randint(0, len(chars))
            wide = self.rng.randint(0, 2)
            chars[at : at + wide] = ["%"] if self.rng.random() < 0.7 else ["_"] * wide
        return "".join(chars)

    def _like(self, col: Col) -> Col | None:
        """Another column that it can be compared with."""
        same = (col.kind,)
        if col.kind == "bool":
            return None
        if col.kind in ("int32", "int64"):
            same = ("int32", "int64")
        if col.kind.startswith("float"):
            same = ("float32", "float64")
        found = [c for c in self.columns.all if c.kind in same and c != col]
        return self.rng.choice(found) if found else None


def _is_kept(value: Any) -> bool:
    """Whether a set can have the value, so that every engine looks it up alike."""
    if isinstance(value, float) and value == 0.0:
        return False
    return value is not None
