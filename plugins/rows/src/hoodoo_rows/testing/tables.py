"""Rows for tests, and the rows of a table: one line in place of a function of each test module."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import hoodoo
import pyarrow as pa

Row = dict[str, Any]
Rule = Any


class Maker:
    """Makes rows of one schema from numbers or other keys, one row a key.

    A rule says what a column holds: a function is called with the key, a tuple gives its values in
    turn by the number, anything else is the same in each row. The first column without a rule is
    the key.

    ``given`` names what a call gives behind the keys, by position or name; the rule of the same
    name is used where it does not. What is no column is for functions, whose further parameters
    name what they take of it. Each column may be given by name. With ``mapped`` the keys may be a
    dictionary, which has the values of that column.

    Example:
        >>> schema = pa.schema([("id", pa.int64()), ("city", pa.string()), ("v", pa.int64())])
        >>> rows = Maker(schema, "v", city=("oslo", "rome"))
        >>> rows(range(2), 7).to_pylist()
        [{'id': 0, 'city': 'oslo', 'v': 7}, {'id': 1, 'city': 'rome', 'v': 7}]
        >>> rows([3], v=1, city="bonn").to_pylist()
        [{'id': 3, 'city': 'bonn', 'v': 1}]
    """

    def __init__(self, schema: pa.Schema, *given: str, mapped: str = "", **rules: Rule) -> None:
        self.schema = schema
        self._given, self._mapped, self._rules = given, mapped, rules
        self._allowed = {*schema.names, *given}
        unknown = sorted({mapped or schema.names[0], *rules} - self._allowed)
        if unknown:
            raise ValueError(
                f"The schema has no column {', '.join(unknown)}: it has {schema.names}."
            )

    def __call__(self, keys: Iterable[Any], *given: Any, **named: Any) -> pa.Table:
        """A pyarrow Table with one row a key, in their order.

        Raises TypeError where a column has neither a rule nor a value.
        """
        rules = {**self._rules, **dict(zip(self._given, given, strict=False)), **named}
        if self._mapped and isinstance(keys, Mapping):
            rules[self._mapped] = keys.__getitem__
        if len(given) > len(self._given) or not rules.keys() <= self._allowed:
            raise TypeError(f"Rows of {self.schema.names} take {self._given}, not {given} {named}.")
        free = [name for name in self.schema.names if name not in rules]
        if free and free[0] not in self._given:
            rules[free.pop(0)] = _itself
        if free:
            raise TypeError(f"Each row needs a value of {', '.join(free)}: give it, or a rule.")
        keys = list(keys)
        columns = [pa.array(_values(rules[f.name], keys, rules), f.type) for f in self.schema]
        return pa.table(columns, schema=self.schema)

    def dicts(self, keys: Iterable[Any], *given: Any, **named: Any) -> list[Row]:
        """The same rows as dictionaries."""
        rows: list[Row] = self(keys, *given, **named).to_pylist()
        return rows

    def count(self, count: int, start: int = 0, **named: Any) -> pa.Table:
        """So many rows, of the numbers from ``start`` on."""
        return self(range(start, start + count), **named)

    def span(self, start: int, count: int, *given: Any, **named: Any) -> pa.Table:
        """Rows of the numbers from ``start`` on, so many of them."""
        return self(range(start, start + count), *given, **named)

    def of(self, *keys: Any, **named: Any) -> pa.Table:
        """Rows of the keys that are given one by one."""
        return self(keys, **named)


def _itself(key: Any) -> Any:
    return key


def _values(rule: Rule, keys: Sequence[Any], rules: Mapping[str, Rule]) -> list[Any]:
    if callable(rule):
        named = list(inspect.signature(rule).parameters)[1:] if inspect.isfunction(rule) else []
        more = [rules[name] for name in named]  # other callables take the key alone
        return [rule(key, *more) for key in keys]
    if isinstance(rule, tuple):
        return [rule[key % len(rule)] for key in keys]
    return [rule] * len(keys)


class Tuples:
    """Makes rows of one schema from tuples, one a row.

    The tuples hold the columns without a rule, in order. A rule is a function of the columns that
    its parameters name, or one value for all rows.

    Example:
        >>> schema = pa.schema([("k", pa.string()), ("w", pa.int32()), ("note", pa.string())])
        >>> Tuples(schema, note=lambda k, w: f"{k}{w}")(("a", 1)).to_pylist()
        [{'k': 'a', 'w': 1, 'note': 'a1'}]
    """

    def __init__(self, schema: pa.Schema, **rules: Rule) -> None:
        self.schema, self._rules = schema, rules
        self._names = [name for name in schema.names if name not in rules]

    def __call__(self, *tuples: Sequence[Any]) -> pa.Table:
        """A pyarrow Table with one row a tuple. Raises ValueError for a tuple of another length."""
        rows = [dict(zip(self._names, values, strict=True)) for values in tuples]
        return pa.Table.from_pylist([{**row, **self._more(row)} for row in rows], self.schema)

    def _more(self, row: Row) -> Row:
        return {name: _of(rule, row) for name, rule in self._rules.items()}


def _of(rule: Rule, row: Row) -> Any:
    if not callable(rule):
        return rule
    return rule(*(row[name] for name in inspect.signature(rule).parameters))


def whole(
    table: Any, columns: Sequence[str] | None = None, by: str | Sequence[str] = "id", **how: Any
) -> pa.Table:
    """The rows of a table, of a scan or of a pyarrow Table as a pyarrow Table, sorted.

    Args:
        table: A Hoodoo table or its path, which is read; a scan; or a pyarrow Table.
        columns: Those columns only; without them, all.
        by: The column or columns to sort by; empty: as the rows come.
        **how: For ``read``: ``where``, ``as_of``.
    """
    if isinstance(table, (str, os.PathLike)):
        table = hoodoo.open(os.fspath(table))
    names = [by] if isinstance(by, str) and by else list(by)
    if hasattr(table, "read"):
        wanted = None if columns is None else list(dict.fromkeys([*columns, *names]))
        table = table.read(columns=wanted, **how)
    found = table.to_arrow() if hasattr(table, "to_arrow") else pa.table(table)
    if names:
        found = found.sort_by([(name, "ascending") for name in names])
    return found if columns is None else found.select(list(columns))


def dicts(
    table: Any, columns: Sequence[str] | None = None, by: str | Sequence[str] = "id", **how: Any
) -> list[Row]:
    """The rows that ``whole`` has, as dictionaries."""
    rows: list[Row] = whole(table, columns, by, **how).to_pylist()
    return rows


def tuples(table: Any, columns: Sequence[str] | None = None, **how: Any) -> list[tuple[Any, ...]]:
    """The rows that ``whole`` has, as tuples, sorted by all columns; none is left out."""
    return sorted(tuple(row.values()) for row in dicts(table, columns, "", **how))


def values(table: Any, key: str, value: str, **how: Any) -> dict[Any, Any]:
    """A column's values by the key. Fails where a key is there twice."""
    found = tuples(table, [key, value], **how)
    assert len(dict(found)) == len(found), "a key is there twice"
    return dict(found)
