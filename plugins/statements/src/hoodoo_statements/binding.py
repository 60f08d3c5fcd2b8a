"""Binding: what somebody wrote becomes clauses over the columns of the table as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from hoodoo.calls import nearest
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.model.meta import META_COLUMNS
from hoodoo_rows.api import Reads
from hoodoo_rows.model.conform import conform_array
from sqlglot import exp

from hoodoo_statements.clauses import Arrow, Clause, Computed, Constant, Insert, Join, Taken, Value
from hoodoo_statements.evaluate import Evaluator
from hoodoo_statements.find_changes import cast_to
from hoodoo_statements.spark_sql.columns import assigned
from hoodoo_statements.text.parse import Expression, checked, parsed
from hoodoo_statements.text.scope import SOURCE, TARGET, Scope, flat, named, unknown_column
from hoodoo_statements.text.spark_column import is_column, text_of

ALL = "all"


class Fate(Enum):
    """What becomes of a row that gets no values; None, which a caller may give by mistake, is
    none."""

    DELETED = "deleted"


@frozen
class Wanted:
    """A clause as somebody wrote it. ``values``: column -> value, ``"all"``, or that the row is
    deleted. ``called``: what to call it in errors."""

    called: str
    condition: Any = None
    values: Mapping[str, Any] | str | Fate | None = Fate.DELETED


@frozen
class Binder:
    """``scope``: the columns of the table, and those of the source. ``own``: those of the table
    that may be assigned."""

    scope: Scope
    own: pa.Schema
    now: datetime
    evaluator: Evaluator = field(factory=Evaluator)

    def clause(self, wanted: Wanted, scope: Scope) -> tuple[Clause, Expression | None]:
        """The clause, and its condition. Raises ConfigError, SchemaError."""
        condition = self.condition(wanted.condition, scope, f"the condition of {wanted.called}")
        read = [] if condition is None else [c.flat for c in condition.columns]
        values, more = self._values(wanted, scope)
        reads = tuple(dict.fromkeys([*read, *more]))
        return Clause(_sql(condition), values, reads, wanted.called), condition

    def insert(self, wanted: Wanted, scope: Scope) -> Insert:
        condition = self.condition(wanted.condition, scope, f"the condition of {wanted.called}")
        read = [] if condition is None else [c.flat for c in condition.columns]
        values, more = self._values(wanted, scope, fewer=True)
        reads = tuple(dict.fromkeys([*read, *more]))
        return Insert(_sql(condition), values or {}, reads, wanted.called)

    def condition(self, given: Any, scope: Scope, what: str) -> Expression | None:
        """The condition ``given`` as text, as a Column, or read by sqlglot already."""
        if given is None:
            return None
        found = self.expression(given, scope, what)
        kind = self._kind(found, found.sql, scope, what)
        if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise SchemaError(
                f"{what} {found.text!r}",
                f"is {kind}, neither true nor false",
                "compare it with something.",
            )
        return found

    def expression(self, given: Any, scope: Scope, what: str) -> Expression:
        if isinstance(given, exp.Expression):
            return checked(given, scope, what, now=self.now)
        if is_column(given):
            given = text_of(given, what, scope.target, scope.source)
        if isinstance(given, bool):
            given = str(given)
        if isinstance(given, pc.Expression):
            raise ConfigError(
                f"{what} {given}",
                "is a pyarrow expression, which has no sides.",
                'Write SQL over target.* and source.*, such as "source.fare > target.fare".',
            )
        if not isinstance(given, str):
            raise ConfigError(
                f"{what} {given!r}",
                f"is a {type(given).__name__}.",
                "Give SQL as text, a Column of Spark, or, where there is no source, a pyarrow "
                "expression.",
            )
        return parsed(given, scope, what, self.now)

    def _values(
        self, wanted: Wanted, scope: Scope, fewer: bool = False
    ) -> tuple[dict[str, Value] | None, list[str]]:
        """``fewer``: all columns are those that the source has; the others are null."""
        if wanted.values is Fate.DELETED:
            return None, []
        given = self._all(wanted, fewer) if wanted.values == ALL else wanted.values
        if not isinstance(given, Mapping):
            raise ConfigError(
                f"the values of {wanted.called}",
                f"are {given!r}.",
                'Give a dictionary {column: expression}, or "all".',
            )
        if not given:
            raise ConfigError(
                f"the values of {wanted.called}", "are none.", "Say which column becomes what."
            )
        values: dict[str, Value] = {}
        reads: list[str] = []
        for name, value in given.items():
            column = self._assigned(name, wanted.called)
            if column.name in values:
                raise ConfigError(
                    f"column {name!r} of {wanted.called}", "is assigned twice.", "Assign it once."
                )
            values[column.name] = self._value(
                value, column, scope, f"the value of {column.name} in {wanted.called}", reads
            )
        return values, reads

    def _all(self, wanted: Wanted, fewer: bool) -> Mapping[str, Any]:
        source = self.scope.source
        if source is None:
            raise ConfigError(
                wanted.called, "has no source to take all columns from.", "Name the columns."
            )
        lacking = [f.name for f in self.own if named(source, f.name) is None]
        others = [n for n in source.names if named(self.own, n) is None]
        for name in lacking:  # it is null, unless its name has been misspelt
            if (meant := nearest(name, others)) is not None:
                raise SchemaError(
                    f"column {meant!r} of the source of {wanted.called}",
                    f"is not in {self.scope.table}, whose column {name} the source lacks.",
                    f"Did you mean {name!r}? Rename it, or say which columns are taken: {{column: "
                    '"source.column"}.',
                )
        theirs = {f.name: named(source, f.name) for f in self.own if f.name not in lacking}
        if lacking and not (fewer and theirs):
            raise SchemaError(
                f"the source of {wanted.called}",
                f"lacks columns of the table: {', '.join(lacking)}.",
                "Add them to the source, or say which columns are taken: {column: "
                '"source.column"}.',
            )
        return {n: exp.column(f.name, table=SOURCE, quoted=True) for n, f in theirs.items() if f}

    def _assigned(self, name: Any, called: str) -> pa.Field:
        if not isinstance(name, str):
            raise ConfigError(
                f"column {name!r} of {called}",
                "is not a column name.",
                "Name columns by text.",
            )
        parts = name.split(".")
        for alias in (*self.scope.target_names, *({"source"} & {parts[0]})):
            if len(parts) > 1 and parts[0].lower() == alias and named(self.own, name) is None:
                if alias == SOURCE and alias not in self.scope.target_names:
                    raise ConfigError(
                        f"column {name!r} of {called}",
                        "is of the source.",
                        "Assign columns of the table.",
                    )
                parts = parts[1:]
                break
        found = named(self.own, name) or named(self.own, parts[0])
        if found is None:
            if parts[0] in META_COLUMNS:
                raise ConfigError(
                    f"column {name!r} of {called}", "is Hudi's own.", "Leave it out: writes set it."
                )
            raise unknown_column(name, called, self.own.names, self.scope.table)
        if found.name.lower() != name.lower() and len(parts) > 1:
            raise ConfigError(
                f"column {name!r} of {called}",
                f"is a field of {found.name}, and whole columns are assigned.",
                f"Assign {found.name} with named_struct(...), which has all its fields.",
            )
        return found

    def _value(
        self, given: Any, column: pa.Field, scope: Scope, what: str, reads: list[str]
    ) -> Value:
        if isinstance(given, pc.Expression) and not isinstance(given, pa.Scalar):
            needed = Reads.spec(self.own, [], given.is_null()).where_columns
            reads.extend(flat(TARGET, n) for n in needed)
            return Arrow(given)
        if isinstance(given, (str, exp.Expression)) or is_column(given):
            found = self.expression(given, scope, what)
            tree = found.tree.unnest()
            if isinstance(tree, exp.Null):
                return Constant(pa.scalar(None, column.type))
            is_plain = isinstance(tree, exp.Column) and found.columns[0].side == SOURCE
            if is_plain and _fits(found.columns[0].column, column):
                reads.append(found.columns[0].flat)
                return Taken(found.columns[0].column.name)
            reads.extend(c.flat for c in found.columns)
            sql = assigned(found.made, column.type, f"{what} {found.text!r}").sql
            self._kind(found, cast_to(column.type, sql), scope, what)
            return Computed(sql)
        return Constant(_constant(given, column, what))

    def _kind(self, found: Expression, sql: str, scope: Scope, what: str) -> pa.DataType:
        """The type of an expression; SchemaError where it does not fit the columns."""
        names = {c.flat: c.column.type for c in found.columns}
        empty = (
            pa.schema(list(names.items())).empty_table() if names else pa.table({"": pa.nulls(0)})
        )
        return self.evaluator.columns(empty, [sql], f"{what} {found.text!r}")[0].type


def join(binder: Binder, on: Any, keys: Sequence[str]) -> tuple[Join, Expression]:
    """Which rows belong together, by what the caller of merge wrote: names of columns that both
    have, or a condition. ``keys``: the columns of the record key, which are compared where nothing
    is said."""
    scope = binder.scope
    assert scope.target is not None and scope.source is not None
    if on is None:
        on = list(keys)
    if isinstance(on, str) and named(scope.target, on) is not None:
        on = [on]
    if isinstance(on, (list, tuple)):
        on = _same_columns(on, scope)
        found = checked(on, scope, "on=", now=binder.now)  # computed by Arrow alone, mostly
    else:
        asked = binder.condition(on, scope, "the condition of the merge")
        assert asked is not None
        found = asked
    return Join(found.sql, tuple(c.flat for c in found.columns)), found


def _same_columns(names: Iterable[Any], scope: Scope) -> exp.Expression:
    names = list(names)
    if not names:
        raise ConfigError(
            "on=[]", "compares nothing.", "Name the columns that rows are matched by."
        )
    parts = []
    for name in names:
        sides = []
        for side, schema, where in (
            (TARGET, scope.target, scope.table),
            (SOURCE, scope.source, "the source"),
        ):
            column = named(schema, name) if isinstance(name, str) and schema is not None else None
            if column is None:
                raise unknown_column(
                    str(name), "on=", schema.names if schema is not None else (), where
                )
            sides.append(exp.column(column.name, table=side, quoted=True))
        parts.append(exp.EQ(this=sides[0], expression=sides[1]))
    return exp.and_(*parts)


def _sql(condition: Expression | None) -> str | None:
    return None if condition is None else condition.sql


def _fits(taken: pa.Field, column: pa.Field) -> bool:
    try:
        conform_array(pa.nulls(0, taken.type), column, column.name)
    except SchemaError:
        return False
    return True


def _constant(given: Any, column: pa.Field, what: str) -> pa.Scalar:
    try:
        if isinstance(given, pa.Scalar):
            given = pa.array([given.as_py()], given.type)
            return conform_array(given, column.with_nullable(True), column.name)[0]
        return pa.scalar(given, column.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(
            what,
            f"is {given!r}, and the column is {column.type} ({error}).",
            "Give a value of that type.",
        ) from None
