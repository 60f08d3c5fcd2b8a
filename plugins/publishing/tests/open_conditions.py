"""Random conditions, as each reader spells them. A reader whose filters reach the files has to
find the rows that it finds when it reads all of them and filters then: what a comparison with NaN
says differs between readers, so each is compared with itself."""

from __future__ import annotations

import datetime as dt
import operator
import random
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from open_readers import row
from pyiceberg import expressions as ice

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ICEBERG: dict[str, Any] = {
    "=": ice.EqualTo,
    "<>": ice.NotEqualTo,
    "<": ice.LessThan,
    "<=": ice.LessThanOrEqual,
    ">": ice.GreaterThan,
    ">=": ice.GreaterThanOrEqual,
}
_FILTERED = ("id", "n", "place", "f", "at", "day", "price")


@frozen
class Term:
    """``column`` (``outer.inner`` of a struct) compared with ``value``: ``word`` is one of ``=``,
    ``<>``, ``<``, ``<=``, ``>``, ``>=``, ``in`` (several values), ``null``, ``not null`` and
    ``nan``."""

    column: str
    word: str
    value: Any = None

    @property
    def asks_for_nan(self) -> bool:
        """Whether it is true of NaN, also where NaN is less than nothing."""
        return self.word == "nan" or (plain(self.column) == "f" and self.word == "<>")

    @property
    def differs_from_nothing(self) -> bool:
        """Whether pyiceberg finds null by it, in files that lack its column: these are in columns
        that came later."""
        return self.word == "<>" and plain(self.column).split(".")[-1] in ("more", "most", "b")

    @property
    def orders_nan(self) -> bool:
        """Whether its column may hold NaN, which is the greatest value in SQL."""
        return plain(self.column) == "f" and self.word not in ("null", "not null")

    def arrow(self) -> pc.Expression:
        column = pc.field(*self.column.split("."))
        if self.word == "in":
            return column.isin(self.value)
        if self.word == "nan":
            return pc.is_nan(column)
        if self.word in ("null", "not null"):
            return column.is_null() if self.word == "null" else ~column.is_null()
        return _COMPARED[self.word](column, self.value)

    def iceberg(self) -> Any:
        if self.word == "in":
            return ice.In(self.column, self.value)
        if self.word in ("null", "not null", "nan"):
            kinds = {"null": ice.IsNull, "not null": ice.NotNull, "nan": ice.IsNaN}
            return kinds[self.word](self.column)
        value = self.value
        return _ICEBERG[self.word](
            self.column, value.isoformat() if isinstance(value, (dt.datetime, dt.date)) else value
        )

    def polars(self) -> pl.Expr:
        outer, *inner = self.column.split(".")
        column = reduce(lambda found, name: found.struct.field(name), inner, pl.col(outer))
        if self.word == "in":
            return column.is_in(self.value)
        if self.word == "nan":
            return column.is_nan()
        if self.word in ("null", "not null"):
            return column.is_null() if self.word == "null" else column.is_not_null()
        return _COMPARED[self.word](column, pl.lit(self.value))

    def sql(self) -> str:
        column = ".".join(f'"{part}"' for part in self.column.split("."))
        if self.word == "in":
            return f"{column} IN ({', '.join(map(_literal, self.value))})"
        if self.word == "nan":
            return f"isnan({column})"
        if self.word in ("null", "not null"):
            return f"{column} IS {self.word.upper()}"
        return f"{column} {self.word} {_literal(self.value)}"


@frozen
class Both:
    """``one`` and ``other``, or (``either``) one of them."""

    one: Term
    other: Term
    either: bool

    @property
    def asks_for_nan(self) -> bool:
        return self.one.asks_for_nan or self.other.asks_for_nan

    @property
    def differs_from_nothing(self) -> bool:
        return self.one.differs_from_nothing or self.other.differs_from_nothing

    @property
    def orders_nan(self) -> bool:
        return self.one.orders_nan or self.other.orders_nan

    def arrow(self) -> pc.Expression:
        one, other = self.one.arrow(), self.other.arrow()
        return one | other if self.either else one & other

    def iceberg(self) -> Any:
        kind: Any = ice.Or if self.either else ice.And
        return kind(self.one.iceberg(), self.other.iceberg())

    def polars(self) -> pl.Expr:
        one, other = self.one.polars(), self.other.polars()
        return one | other if self.either else one & other

    def sql(self) -> str:
        return f"({self.one.sql()}) {'OR' if self.either else 'AND'} ({self.other.sql()})"


Condition = Term | Both


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMPTZ '{value.isoformat()}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    return str(value)


def drawn(chance: random.Random, schema: pa.Schema) -> Condition:
    """A condition of columns of ``schema``."""
    one = _term(chance, schema)
    if chance.random() < 0.5:
        return one
    return Both(one, _term(chance, schema), chance.random() < 0.5)


def _term(chance: random.Random, schema: pa.Schema) -> Term:
    columns = [*_names(list(schema), ""), *(n for n in schema.names if plain(n) == "f")]
    name = chance.choice(columns)
    kinds = ["=", "<>", "<", "<=", ">", ">=", "in", "null", "not null"]
    if plain(name) == "f":
        kinds.append("nan")
    word = chance.choice(kinds)
    if word in ("null", "not null", "nan"):
        return Term(name, word)
    made = [_value(name, chance) for _ in range(3)]
    return Term(name, word, made if word == "in" else made[0])


def _names(fields: list[pa.Field], path: str) -> list[str]:
    """Columns whose values :func:`open_readers.row` says, but lists, maps and bytes."""
    found = []
    for field in fields:
        name = f"{path}{field.name}"
        if pa.types.is_struct(field.type):
            found += _names(list(field.type), f"{name}.")
        elif field.type in (pa.string(), pa.int32()) or (not path and plain(name) in _FILTERED):
            found.append(name)
    return found


def plain(name: str) -> str:
    """The name that a column had, at any depth, before it was renamed."""
    return ".".join(part.removesuffix("_2") for part in name.split("."))


def _value(name: str, chance: random.Random) -> Any:
    made = row(chance.randrange(20), chance.randrange(4) * 7 + chance.choice([0, 0, 0, 1]))
    outer, _, inner = plain(name).partition(".")
    found = made.get(outer, "7")
    if inner:
        return found.get(inner, "inner")
    return 2.5 if outer == "f" and chance.random() < 0.5 else _fitting(found)


def _fitting(value: Any) -> Any:
    if isinstance(value, Decimal):  # of the column's scale: pyiceberg takes no other
        return value.quantize(Decimal("0.01"))
    return 0.0 if isinstance(value, float) and value != value else value
