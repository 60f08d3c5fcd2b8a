"""Scope: which columns an expression may name, and how they are called where it is computed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

import pyarrow as pa
from attrs import evolve, field, frozen
from hoodoo.errors import SchemaError
from hoodoo.model.meta import META_COLUMNS

TARGET, SOURCE = "target", "source"
# What the columns of a source begin with that a query has found: nobody wrote them.
FOUND = "hoodoo_found_"


def flat(side: str, name: str) -> str:
    """The column ``name`` of the table (``target``) or of what is merged into it (``source``),
    where expressions are computed: one table has the columns of both."""
    return f"{side}.{name}"


@frozen
class Found:
    """A column that an expression names: of which side, its name there, and the fields within
    it."""

    side: str
    column: pa.Field
    fields: tuple[str, ...] = ()

    @property
    def flat(self) -> str:
        return flat(self.side, self.column.name)


@frozen
class Scope:
    """``target``, ``source``: the columns of the table and of what is merged into it, where an
    expression may name them. ``names``: what these are called, ``target`` and ``source`` besides,
    in lower case."""

    table: str
    target: pa.Schema | None
    source: pa.Schema | None = None
    target_names: frozenset[str] = frozenset({TARGET})
    source_names: frozenset[str] = frozenset({SOURCE})
    # The sides that are there, and may not be named here; side -> why.
    shut: dict[str, str] = field(factory=dict)

    def only(self, side: str, why: str) -> Scope:
        """Expressions that may name the columns of ``side`` alone."""
        other = SOURCE if side == TARGET else TARGET
        return evolve(self, shut={other: why})

    def find(self, parts: Sequence[str], what: str) -> Found:
        """The column that ``parts`` name: a column, a side and a column, and fields within it.
        SchemaError where there is none, or where it may be of either side."""
        shown = ".".join(parts)
        if len(parts) > 1:
            for side, names in ((TARGET, self.target_names), (SOURCE, self.source_names)):
                if parts[0].lower() in names:
                    return self._on(side, parts[1:], shown, what)
        sides = [s for s in (TARGET, SOURCE) if s not in self.shut and self._has(s, parts[0])]
        if len(sides) > 1:
            raise SchemaError(
                f"column {shown!r} of {what}",
                "is in the table and in the source.",
                f"Say target.{shown} or source.{shown}.",
            )
        if not sides:
            shut = [s for s in self.shut if self._has(s, parts[0])]
            if shut:
                return self._on(shut[0], parts, shown, what)
            raise _unknown(shown, parts[0], what, self._names(), self.table)
        return self._on(sides[0], parts, shown, what)

    def _on(self, side: str, parts: Sequence[str], shown: str, what: str) -> Found:
        schema = self._schema(side)
        if schema is None or side in self.shut:
            why = self.shut.get(side, "there is no source here")
            raise SchemaError(
                f"column {shown!r} of {what}", f"is of the {side}, and {why}.", "Leave it out."
            )
        column = named(schema, parts[0])
        if column is None:
            where = self.table if side == TARGET else "the source"
            raise _unknown(shown, parts[0], what, schema.names, where)
        kind, fields = column.type, []
        for part in parts[1:]:
            inner = named(kind, part) if pa.types.is_struct(kind) else None
            if inner is None:
                raise SchemaError(
                    f"column {shown!r} of {what}",
                    f"{column.name} is {column.type} and has no field {part!r}.",
                    "Name one of its fields.",
                )
            fields.append(inner.name)
            kind = inner.type
        return Found(side, column, tuple(fields))

    def _schema(self, side: str) -> pa.Schema | None:
        return self.target if side == TARGET else self.source

    def _has(self, side: str, name: str) -> bool:
        schema = self._schema(side)
        return schema is not None and named(schema, name) is not None

    @property
    def columns(self) -> list[str]:
        """The names of columns of both sides."""
        return [n for s in (TARGET, SOURCE) for n in (self._schema(s) or pa.schema([])).names]

    def _names(self) -> list[str]:
        open_ = (s for s in (TARGET, SOURCE) if s not in self.shut)
        return [n for s in open_ for n in (self._schema(s) or pa.schema([])).names]


def named(fields: Iterable[pa.Field], name: str) -> pa.Field | None:
    """The field ``name`` of a schema or a struct: exactly, or else the only one that differs in
    case alone."""
    there = list(fields)
    exact = [f for f in there if f.name == name]
    found = exact or [f for f in there if f.name.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def unknown_column(name: str, what: str, names: Iterable[str], where: str) -> SchemaError:
    """The error for a column that is not there, with the nearest ones that are."""
    return _unknown(name, name, what, names, where)


def _unknown(shown: str, name: str, what: str, names: Iterable[str], where: str) -> SchemaError:
    own = [n for n in dict.fromkeys(names) if n not in META_COLUMNS and not n.startswith(FOUND)]
    lower = {n.lower(): n for n in own}
    close = [lower[n] for n in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5)]
    fix = (
        f"Did you mean {' or '.join(close)}?"
        if close
        else f"It has {', '.join(own) or 'no columns'}."
    )
    return SchemaError(f"column {shown!r} of {what}", f"is not in {where}", fix)
