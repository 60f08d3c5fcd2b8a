"""Asked: the record keys, and the values of a column, that a filter asks for.

Nothing is left out on a guess: the filter names them, and no others; or they are read out of it and
then proven, as Arrow finds that the filter can't be true beside any other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import DataError
from hoodoo.hookspecs.key_generator import KeyGenerator, Settles
from hoodoo.model.meta import RECORD_KEY

from hoodoo_rows.model.filter_text import text_of
from hoodoo_rows.read.named import named_values
from hoodoo_rows.read.prune import satisfiable

# More keys than that are better looked for in the files.
_MOST_KEYS = 10_000
# Of more values Arrow proves nothing.
_MOST_PROVEN = 50


def asked_keys(where: pc.Expression, schema: pa.Schema, generator: KeyGenerator) -> pa.Array | None:
    """The record keys of all rows that ``where`` can let through; None where these are not certain
    ones."""
    if RECORD_KEY in text_of(where):
        stored = asked_values(where, schema, RECORD_KEY)
        if stored is not None:
            return pa.array(stored, pa.string())
    columns = generator.record_key_fields
    if not columns or (len(columns) == 1 and isinstance(generator, Settles)):
        return None  # of a single column its key may have two forms
    values: list[list[Any]] = []
    size = 1
    for column in columns:
        found = asked_values(where, schema, column)
        size *= max(1, len(found or ()))
        if found is None or size > _MOST_KEYS:
            return None
        values.append(found)
    rows = list(itertools.product(*values))
    if not rows:
        return pa.array([], pa.string())
    arrays = [
        pa.array(row, schema.field(column).type)
        for column, row in zip(columns, zip(*rows, strict=True), strict=True)
    ]
    try:
        keys = generator.record_keys(pa.record_batch(arrays, names=list(columns)))
    except DataError:
        return None  # an empty text, say: no row has it for a key, and a filter may ask for it
    return pc.unique(keys.cast(pa.string()))


def asked_values(
    where: pc.Expression, schema: pa.Schema, column: str, dates: bool = False
) -> list[Any] | None:
    """The values of ``column`` beside which alone ``where`` can be true; None if there is no
    telling. ``dates``: of columns of dates, too."""
    if schema.get_field_index(column) < 0:
        return None
    kind = schema.field(column).type
    # Of other types not all writers make keys alike.
    plain = pa.types.is_string(kind) or pa.types.is_integer(kind)
    if not (plain or (dates and pa.types.is_date32(kind))):
        return None
    read = named_values(where, schema, column)
    if read is not None:
        return read.to_pylist() if len(read) <= _MOST_KEYS else None
    values = sorted({v for v in _literals(where) if _fits(v, kind)})
    if not values or len(values) > _MOST_PROVEN:
        return None
    here = pc.field(column)
    typed = [pa.scalar(value, kind) for value in values]
    between = [here < typed[0], here > typed[-1], here.is_null()]
    between += [(here > a) & (here < b) for a, b in itertools.pairwise(typed)]
    if satisfiable(between, where, pa.schema([schema.field(n) for n in schema.names])):
        return None
    at = [here == value for value in typed]
    return [values[n] for n in satisfiable(at, where, schema)]


def _literals(where: pc.Expression) -> Iterator[Any]:
    """All values that an expression holds, and perhaps others. Arrow's own form of an expression
    keeps them as columns; what is made of them is proven."""
    with suppress(Exception):  # another release of Arrow may have another form
        _make, (buffer,) = where.__reduce__()
        reader = pa.ipc.open_file(buffer)
        for column in reader.get_batch(0).columns:
            for value in column.to_pylist():
                if isinstance(value, dict):
                    yield from value.get("value_set") or ()
                else:
                    yield value


def _fits(value: Any, kind: pa.DataType) -> bool:
    if pa.types.is_string(kind):
        return isinstance(value, str)
    if pa.types.is_date32(kind):
        return type(value) is date
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    try:
        pa.scalar(value, kind)
    except (pa.ArrowInvalid, OverflowError):
        return False
    return True
