"""What the rows of a source say of the rows of the table that they belong to: files elsewhere are
not opened."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo_statements.text.parse import Expression
from hoodoo_statements.text.pruning import equalities

# Up to this many values are compared one by one, which indexes of filters can look up; more are a
# range.
_VALUES = 1000
_ORDERED = (
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_date32,
    pa.types.is_timestamp,
    pa.types.is_decimal,
)


def within(source: pa.Table, compared: Expression, seen: pa.Schema) -> pc.Expression | None:
    """A filter that lets all rows of the table through that ``compared`` can be true of with a row
    of ``source``; None: nothing is known."""
    found: pc.Expression | None = None
    for mine, theirs in equalities(compared.tree):
        values = _values(source, theirs, seen.field(mine).type)
        if values is None or not len(values):
            continue
        column = pc.field(mine)
        if len(values) <= _VALUES:
            one = column.isin(values)
        else:
            ends = pc.min_max(values)
            one = (column >= ends["min"]) & (column <= ends["max"])
        found = one if found is None else found & one
    return found


def never_matches(source: pa.Table, compared: Expression) -> bool:
    """Whether no row can be matched: there is none, or null is compared."""
    return not source.num_rows or any(
        source.column(theirs).null_count == source.num_rows
        for _, theirs in equalities(compared.tree)
    )


def _values(source: pa.Table, name: str, kind: pa.DataType) -> pa.Array | None:
    column = source.column(name)
    if not any(ordered(kind) and ordered(column.type) for ordered in _ORDERED):
        return None
    if pa.types.is_timestamp(kind) and kind != column.type:
        return None
    try:
        return pc.unique(column.cast(kind)).drop_null()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
