"""What the rows of a scan look like, apart from where they lie: the part of a plan that travels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from hoodoo.calls import nearest
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.kernel.functions import function
from hoodoo.model.meta import META_COLUMNS

from hoodoo_rows.model.filter_text import text_of, whole, without_uuids

_MISSING = re.compile(r"No match for FieldRef\.(?P<ref>.+?) in ", re.DOTALL)


@frozen
class RowSpec:
    """Which columns, of which types, and which rows.

    ``schema`` holds the physical columns (those projected and those the filter reads) as the table
    has them at the instant of the plan; ``columns`` is the projection, in the order of the result.
    ``hidden`` columns are null, whatever files say: the record key where it is virtual. ``timed``:
    a row that is let through and lacks its commit time is an error. ``keys``: what makes virtual
    keys, which every row has to have. ``asked``: the record keys of all rows of which ``where`` can
    be true, where they are known. ``again``: who asks filters the rows again, so that an engine
    with a faster reader may return some for which ``where`` is not true."""

    schema: pa.Schema
    columns: tuple[str, ...]
    where: pc.Expression | None = field(
        default=None, eq=whole, repr=lambda where: "None" if where is None else text_of(where)
    )
    # Top-level columns that the filter reads, in the order of the schema.
    where_columns: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    timed: bool = False
    keys: KeyGenerator | None = None
    asked: tuple[str, ...] | None = None
    again: bool = False

    @property
    def out_schema(self) -> pa.Schema:
        """The columns that the read returns, in their order."""
        return pa.schema([self.schema.field(name) for name in self.columns])


def row_spec(
    stored: pa.Schema,
    columns: Sequence[str] | None,
    where: Any,
    hidden: Sequence[pa.Field] = (),
    table: str = "table",
) -> RowSpec:
    """The spec for a projection and a filter over the stored schema.

    ``columns`` None means all of it; ``hidden`` ones are there for who names them, and null;
    ``table``: its name, for errors. Raises SchemaError for a column that the table doesn't have or
    a filter that doesn't fit the columns' types, ConfigError for a filter that is no expression."""
    if isinstance(columns, str):
        raise ConfigError(f"columns={columns!r}", "is one text", f"give a list: [{columns!r}].")
    wanted = tuple(stored.names) if columns is None else tuple(columns)
    names = frozenset(field.name for field in hidden)
    stored = pa.schema([*stored, *hidden]) if hidden else stored
    check_columns(stored, wanted)
    if where is None:
        return RowSpec(pa.schema([stored.field(name) for name in wanted]), wanted, hidden=names)
    if isinstance(where, str) or type(where).__name__ == "Column":  # of Spark
        where = cast(Callable[..., Any], function("where"))(where, stored, table)
    if not isinstance(where, pc.Expression):
        raise ConfigError(
            f"where={where!r}",
            f"is a {type(where).__name__}, not a pyarrow compute expression",
            """write for example pyarrow.compute.field("city") == "paris", or "city = 'paris'".""",
        )
    where = without_uuids(where)
    read = _among(where, stored, _check_filter(stored, where))
    needed = {*wanted, *read}
    # Order of the stored schema: the projection reorders at the very end.
    return RowSpec(pa.schema([f for f in stored if f.name in needed]), wanted, where, read, names)


def check_columns(stored: pa.Schema, wanted: Iterable[str]) -> None:
    """SchemaError for the first column that is not in ``stored`` or is named twice."""
    seen: set[str] = set()
    there = frozenset(stored.names)
    for name in wanted:
        if not isinstance(name, str):
            raise SchemaError(f"column {name!r}", "is not a column name", "give names as text.")
        if name in seen:
            raise SchemaError(f"column {name!r}", "is given twice", "give it once.")
        seen.add(name)
        if name not in there:
            raise SchemaError(f"column {name!r}", "is not in the table", _nearest(name, stored))


def referenced(where: pc.Expression, schema: pa.Schema) -> tuple[str, ...]:
    """Top-level columns of ``schema`` that ``where`` reads.

    pyarrow doesn't say which fields an expression refers to, but it refuses to bind one whose
    fields are missing. So columns are left out by halves until those it can't do without remain.
    """
    text = text_of(where)
    named = [name for name in schema.names if name in text]
    return _among(where, schema, named if _fits(where, schema, named) else schema.names)


def _fits(where: pc.Expression, schema: pa.Schema, names: Sequence[str]) -> bool:
    try:
        pa.schema([schema.field(name) for name in names]).empty_table().filter(where)
    except pa.ArrowInvalid:
        return False
    return True


def _among(where: pc.Expression, schema: pa.Schema, names: Sequence[str]) -> tuple[str, ...]:
    """Those of ``names``, which are enough, that ``where`` reads."""
    fits = partial(_fits, where, schema)

    def among(candidates: list[str], others: list[str]) -> list[str]:
        """Those of ``candidates`` that are needed, ``others`` being all there."""
        if fits(others):
            return []
        if len(candidates) == 1:
            return candidates
        middle = len(candidates) // 2
        left, right = candidates[:middle], candidates[middle:]
        return among(left, others + right) + among(right, others + left)

    return tuple(among(list(names), []))


def _check_filter(stored: pa.Schema, where: pc.Expression) -> Sequence[str]:
    """Names of columns that are enough to compute ``where``."""
    text = text_of(where)
    if "FieldPath(" in text:
        raise SchemaError(
            f"filter {text}", "refers to a column by its position", "use the column's name."
        )
    named = [field for field in stored if field.name in text]
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        _of_nulls(named).filter(where)
        return [field.name for field in named]
    try:
        _of_nulls(stored).filter(where)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as exc:
        missing = _MISSING.search(str(exc))
        if missing is None:
            raise SchemaError(
                f"filter {text}",
                f"does not fit the types of the columns ({exc})",
                "cast one side, or compare with a pyarrow scalar of the column's type; times have "
                "a time zone.",
            ) from exc
        path = re.findall(r"Name\((.*?)\)", missing["ref"]) or [missing["ref"]]
        fix = _nearest(path[0], stored)
        raise SchemaError(
            f"column {'.'.join(path)!r} of the filter", "is not in the table", fix
        ) from exc
    return stored.names


def _of_nulls(fields: Iterable[pa.Field]) -> pa.Table:
    """A row, because Arrow compares the zones of times when there is one; of nulls, which no value
    can spoil."""
    schema = pa.schema(fields)
    return pa.table([pa.nulls(1, kind) for kind in schema.types], schema=schema)


def let_through(rows: pa.RecordBatch | pa.Table, where: pc.Expression) -> Any:
    """The rows of a batch or a table of which ``where`` is true. SchemaError where it can't be
    computed of a value: to compare integers with 0.5, for example, Arrow makes 32 bit floats of
    them, and fails where one does not fit."""
    try:
        return rows.filter(where)
    except pa.ArrowInvalid as exc:
        raise SchemaError(
            f"filter {text_of(where)}",
            f"fits the types of the columns, but not all their values ({exc})",
            'cast the column: pyarrow.compute.field("n").cast("float64") > 0.5.',
        ) from exc


def _nearest(name: str, stored: pa.Schema) -> str:
    own = [n for n in stored.names if n not in META_COLUMNS]
    meant = nearest(name, stored.names)
    return f"did you mean {meant}?" if meant else f"it has {', '.join(own)}."
