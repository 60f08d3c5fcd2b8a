"""Column values as the strings that Hudi writes into record keys and partition paths.

Hudi turns a value into a key with Java's ``toString`` (HoodieAvroUtils.getNestedFieldValAsString),
so every form here is Java's, on the path of upsert, insert and delete. (The ``bulk_insert`` row
writer of Hudi 1.2 writes timestamps and bytes in another form, which then doesn't match an upsert
of the same row; that form is not followed.)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from hoodoo.errors import SchemaError

_HEX = np.frombuffer(b"".join(b"%02x" % b for b in range(256)), np.uint16)
_LAST_FOUR_DIGIT_DAY = 2_932_896  # 9999-12-31
_DAY = 86_400_000
_GREGORIAN = -12_219_292_800_000  # 1582-10-15, in ms
_TEXTS = (pa.string(), pa.large_string(), pa.string_view())


def key_text(values: pa.Array, column: str, logical_timestamps: bool = False) -> pa.StringArray:
    """``values`` as strings, as long as the input; nulls stay null.

    ``column`` names the column in errors. With ``logical_timestamps`` (see options) a timestamp
    becomes ``2024-01-02 03:04:05.678`` (cut to milliseconds, UTC) where it otherwise is its number,
    in the column's unit (milliseconds or microseconds, the two that Hudi stores). One without a
    time zone is its number always: Hudi does not take Avro's local timestamps for timestamps.

    Raises SchemaError for a type that can't be part of a key.
    """
    kind = values.type
    if pt.is_dictionary(kind):
        return key_text(values.dictionary, column, logical_timestamps).take(values.indices)
    if kind in _TEXTS:
        return values.cast(pa.string())
    if pt.is_boolean(kind) or pt.is_integer(kind) or pt.is_null(kind):
        return values.cast(pa.string())
    if pt.is_floating(kind):
        from hoodoo_rows.api import Batches  # imports all of reading and merging

        return Batches.java_floats(values)
    if pt.is_decimal(kind):
        return values.cast(pa.string())  # Arrow follows the algorithm of BigDecimal.toString
    if pt.is_date(kind):
        return _date(values.cast(pa.date32()))
    if pt.is_timestamp(kind):
        return _timestamp(values, logical_timestamps and kind.tz is not None)
    if pt.is_time(kind):
        return values.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.string())
    if pt.is_fixed_size_binary(kind):
        return _hex(values.cast(pa.binary()))
    if pt.is_binary(kind) or pt.is_large_binary(kind) or kind == pa.binary_view():
        return _hex(values.cast(pa.binary()))
    raise SchemaError(
        f"column {column!r}",
        f"has type {kind}, which can't be part of a key or path.",
        "use columns of numbers, strings, booleans, dates, timestamps, decimals or bytes.",
    )


def _date(days: pa.Date32Array) -> pa.StringArray:
    """``LocalDate.toString``: a year of five digits has a plus in front."""
    text = days.cast(pa.string())
    far = pc.greater(days.cast(pa.int32()), _LAST_FOUR_DIGIT_DAY)
    return pc.if_else(far, pc.binary_join_element_wise("+", text, ""), text)


def _timestamp(values: pa.Array, logical: bool) -> pa.StringArray:
    unit = values.type.unit
    if unit not in ("ms", "us"):  # Hudi stores milliseconds or microseconds
        values = values.cast(pa.timestamp("us", values.type.tz), safe=False)
        unit = "us"
    number = values.cast(pa.int64())
    if not logical:
        return number.cast(pa.string())
    if unit == "us":
        # Integer division rounds towards zero, in Arrow as in Java.
        number = pc.divide(number, 1000)
    text = pc.strftime(number.cast(pa.timestamp("ms")), format="%Y-%m-%d %H:%M:%S")
    old = pc.less(number, _GREGORIAN)
    if pc.any(old).as_py():
        text = pc.if_else(old, _julian(number), text)
    text = pc.utf8_rtrim(text, "0")
    # Timestamp.toString keeps one digit after the point.
    return pc.if_else(pc.ends_with(text, "."), pc.binary_join_element_wise(text, "0", ""), text)


def _julian(number: pa.Int64Array) -> pa.StringArray:
    """``java.sql.Timestamp.toString`` of times (ms) before 1582-10-15: in the Julian calendar."""
    millis = np.asarray(pc.fill_null(number, 0))
    since = millis // _DAY + 2_440_588 + 32_082  # days since 1 March of the year -4800
    years = (4 * since + 3) // 1461  # that begin in March
    day = since - 1461 * years // 4
    month = (5 * day + 2) // 153  # March is 0
    parts = (years - 4800 + month // 10, (month + 2) % 12 + 1, day - (153 * month + 2) // 5 + 1)
    date = pc.binary_join_element_wise(
        *(
            pc.utf8_lpad(pa.array(part).cast(pa.string()), width, "0")
            for part, width in zip(parts, (4, 2, 2), strict=True)
        ),
        "-",
    )
    clock = pc.strftime(number.cast(pa.timestamp("ms")), format=" %H:%M:%S")
    return pc.binary_join_element_wise(date, clock, "")


def _hex(values: pa.BinaryArray) -> pa.StringArray:
    """Two lower-case digits a byte."""
    if values.offset or values.null_count:
        # A compact copy: offsets that begin at 0, and no bytes behind nulls.
        values = pa.concat_arrays([values, pa.array([], pa.binary())])
    buffers = values.buffers()
    offsets = np.frombuffer(buffers[1], np.int32, len(values) + 1, values.offset * 4)
    data = np.frombuffer(buffers[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    grown = ((offsets - offsets[0]) * 2).astype(np.int32)
    return pa.StringArray.from_buffers(
        len(values),
        pa.py_buffer(grown),
        pa.py_buffer(_HEX[data]),
        _validity(values),
        values.null_count,
    )


def _validity(values: pa.Array) -> pa.Buffer | None:
    if not values.null_count:
        return None
    return pc.is_valid(values).buffers()[1]
