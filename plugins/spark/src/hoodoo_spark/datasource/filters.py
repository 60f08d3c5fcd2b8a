"""Filters that Spark hands down, as a filter of a read: it may leave rows out for which they are
not true, and no other. Spark asks all of them again, so that nothing depends on how it compares."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def expression(filters: Iterable[Any], schema: pa.Schema) -> pc.Expression | None:
    """What of ``filters``, all of which have to be true, is understood."""
    found: pc.Expression | None = None
    for one in filters:
        part = _part(one, schema)
        if part is not None:
            found = part if found is None else found & part
    return found


def _part(one: Any, schema: pa.Schema) -> pc.Expression | None:
    name = type(one).__name__
    if name == "Not":
        return _negated(one.child, schema)
    known = _column(one, schema)
    if known is None:
        return None
    column, kind = known
    if name == "IsNull":
        return column.is_null()
    if name == "IsNotNull":
        return column.is_valid()
    if name == "In":
        values = [_scalar(value, kind) for value in one.value if value is not None]
        if not values or any(value is None for value in values):
            return None
        found = [value.as_py() for value in values if value is not None]
        if (
            pa.types.is_floating(kind) and 0.0 in found
        ):  # there are two zeros, which Arrow takes for different ones
            found += [0.0, -0.0]
        return column.isin(pa.array(found, kind))
    if name == "EqualNullSafe" and one.value is None:
        return column.is_null()
    value = _scalar(one.value, kind)
    if value is None:
        return None
    if name in ("EqualTo", "EqualNullSafe"):
        return column == value
    above = {"GreaterThan": column > value, "GreaterThanOrEqual": column >= value}
    if name in above:  # Spark orders NaN above all numbers
        over = above[name]
        return over | pc.is_nan(column) if pa.types.is_floating(kind) else over
    if name == "LessThan":
        return column < value
    if name == "LessThanOrEqual":
        return column <= value
    if name == "StringStartsWith" and pa.types.is_string(kind):
        return pc.starts_with(column, one.value)
    return None


def _negated(one: Any, schema: pa.Schema) -> pc.Expression | None:
    """Only what is as true where it is null: ``not (a = 1)`` and ``a is not null``."""
    known = _column(one, schema)
    if known is None:
        return None
    column, kind = known
    name = type(one).__name__
    if name == "IsNull":
        return column.is_valid()
    if name == "IsNotNull":
        return column.is_null()
    if name == "EqualTo":
        value = _scalar(one.value, kind)
        return None if value is None else column != value
    return None


def _column(one: Any, schema: pa.Schema) -> tuple[pc.Expression, pa.DataType] | None:
    path = tuple(getattr(one, "attribute", ()))
    if len(path) != 1 or len(schema.get_all_field_indices(path[0])) != 1:
        return None
    return pc.field(path[0]), schema.field(path[0]).type


def _scalar(value: Any, kind: pa.DataType) -> pa.Scalar | None:
    """``value`` as one of the column's type; None where it is none, or NaN, which Arrow finds equal
    to nothing."""
    plain = (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_string(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_decimal(kind)
    )
    if not plain or value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if pa.types.is_timestamp(kind) and (kind.tz is None) != (
        getattr(value, "tzinfo", None) is None
    ):
        return None
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
