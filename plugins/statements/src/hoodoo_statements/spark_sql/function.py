"""A function of Spark's SQL: the kinds of its arguments, its result, and what DuckDB computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from attrs import frozen

from hoodoo_statements.spark_sql.kinds import (
    Made,
)

Builder = Callable[[Sequence[Made]], "Made | str"]  # a text says why not


@frozen
class Function:
    """``build``: of arguments that have the kinds of one of ``signatures``, what is computed, or
    why it is not. ``exact``: whether it gives Spark's value to the last bit; else within one unit
    in the last place of a double."""

    name: str
    signatures: tuple[str, ...]
    build: Builder
    exact: bool = True


FUNCTIONS: dict[str, Function] = {}


def add(names: str, signatures: str, build: Builder, exact: bool = True) -> None:
    for name in names.split():
        FUNCTIONS[name] = Function(name, tuple(signatures.split()), build, exact)


def add_sql(
    names: str, signatures: str, sql: str, kind: pa.DataType, *, exact: bool = True
) -> None:
    """A function that is a text with the arguments in it, of the type ``kind``; it may be an error
    where it casts."""
    raises = "CAST" in sql or "error(" in sql or "make_" in sql

    def build(given: Sequence[Made]) -> Made:
        made = f"({sql.format(*[g.sql for g in given])})"
        return Made(made, kind, raises or any(g.raises for g in given))

    add(names, signatures, build, exact)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def computed(
    given: Sequence[Made], sql: str, kind: pa.DataType | None, raises: bool = False
) -> Made:
    return Made(sql, kind, raises or any(g.raises for g in given))
