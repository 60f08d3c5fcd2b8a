"""Floating numbers that are integers in truth: what pandas makes of a column with a missing
value."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import SchemaError
from hoodoo.options.table import WIDEN_INTEGERS

# Below it each whole number has a floating one of its own. From there on neighbours share one: a
# number may have lost digits before it came here.
LOSSLESS_BITS = {16: 11, 32: 24, 64: 53}


def whole_numbers(array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
    """The floating ``array`` as integers of the type ``kind``; not-a-number is null, as pandas
    means it.

    SchemaError, naming the column ``path`` and a value, where one is no whole number, does not fit
    ``kind``, or is so large that digits may be missing already (from 2**53 on of a double, 2**24 of
    a float).
    """
    nan = pc.is_nan(array)
    if pc.any(nan).as_py():
        array = pc.if_else(nan, pa.scalar(None, array.type), array)
    found, digits = array.type, LOSSLESS_BITS[array.type.bit_width]
    broken = pc.or_(pc.not_equal(pc.floor(array), array), pc.is_inf(array))
    if (value := _first(array, broken)) is not None:
        raise SchemaError(
            f"column {path}",
            f"the table's type is {kind}, and the incoming {found} value {value} is not a whole "
            "number.",
            f"Correct the values; or write with {WIDEN_INTEGERS.key}=true: a column that is "
            "neither of the "
            f"key, nor of the partition path, nor orders rows then becomes {found}.",
        )
    if (value := _first(array, pc.greater_equal(pc.abs(array), 2.0**digits))) is not None:
        raise SchemaError(
            f"column {path}",
            f"the table's type is {kind}, and the incoming {found} value {value} may have lost "
            "digits: "
            f"from 2**{digits} on, {found} does not hold every whole number.",
            "Make it a column of integers in its source (in pandas, use Int64, which allows "
            "nulls).",
        )
    top = 2.0 ** (kind.bit_width - 1)
    outside = pc.or_(pc.less(array, -top), pc.greater_equal(array, top))
    if (value := _first(array, outside)) is not None:
        raise SchemaError(
            f"column {path}",
            f"the table's type is {kind}, and the incoming {found} value {value} does not fit it.",
            "Correct the values; or cast the column to int64: a column of the table that is "
            "neither of the key nor "
            "of the partition path then becomes int64, too.",
        )
    return array.cast(kind, safe=False)


def _first(array: pa.Array, wrong: pa.BooleanArray) -> float | None:
    if not pc.any(wrong).as_py():
        return None
    value: float = array.filter(wrong)[0].as_py()
    return value
