"""Floating point numbers as the text that Java makes of them, of whole arrays: what Hudi stores of
a number in a record key, a partition path, or a column that has become text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

_NUMBER = r"^(?P<sign>-?)(?P<whole>\d+)\.?(?P<part>\d*)(?:e(?P<exponent>[+-]?\d+))?$"
# Java shows two digits at least, and if one would do, the two that are nearest: which matters only
# where numbers are this coarse. JDK 25 has these for all numbers below 1e-43 (float) and 1e-322
# (double).
_COARSE = {
    pa.float64(): {
        "5.0E-324": "4.9E-324",
        "1.0E-323": "9.9E-324",
        "5.0E-323": "4.9E-323",
        "6.0E-323": "5.9E-323",
        "7.0E-323": "6.9E-323",
        "8.0E-323": "7.9E-323",
        "9.0E-323": "8.9E-323",
        "1.0E-322": "9.9E-323",
    },
    pa.float32(): {
        "1.0E-45": "1.4E-45",
        "3.0E-45": "2.8E-45",
        "4.0E-45": "4.2E-45",
        "6.0E-45": "5.6E-45",
        "8.0E-45": "8.4E-45",
        "1.0E-44": "9.8E-45",
        "3.0E-44": "2.9E-44",
        "4.0E-44": "4.1E-44",
        "1.0E-43": "9.9E-44",
    },
}


def java_floats(values: pa.Array) -> pa.StringArray:
    """Java's ``Double.toString`` and ``Float.toString`` as specified since JDK 19, over distinct
    values.

    Shortest digits. Before, a digit more than need be, or a wrong last one, was a known bug
    (JDK-4511638) for about one in 350 doubles, none of them short decimals of everyday size."""
    if pt.is_float16(values.type):
        values = values.cast(pa.float32())
    distinct = values.dictionary_encode()
    numbers = distinct.dictionary
    arrow = numbers.cast(pa.string())
    size = np.abs(numbers.to_numpy(zero_copy_only=False).astype(np.float64))
    # float32(1e-3) is above 1e-3 as a double and below it as a decimal: compare in its own width.
    low = float(np.float32(1e-3)) if pt.is_float32(values.type) else 1e-3
    plain = pa.array(((size >= low) & (size < 1e7)) | (size == 0))
    dotted = pc.if_else(
        pc.match_substring(arrow, "."), arrow, pc.binary_join_element_wise(arrow, "0", ".")
    )
    text = pc.if_else(plain, dotted, _two_digits(_scientific(arrow), values.type))
    text = pc.if_else(pa.array(np.isnan(size)), "NaN", text)
    signed = pc.if_else(pc.starts_with(arrow, "-"), "-Infinity", "Infinity")
    return pc.if_else(pa.array(np.isinf(size)), signed, text).take(distinct.indices)


def _scientific(arrow: pa.StringArray) -> pa.StringArray:
    """Arrow's text of a number as Java's computerized scientific notation: ``1.0E-5``."""
    found = pc.extract_regex(arrow, pattern=_NUMBER)
    sign, whole, part, exponent = (pc.struct_field(found, i) for i in range(4))
    digits = pc.utf8_ltrim(pc.binary_join_element_wise(whole, part, ""), "0")
    leading = pc.subtract(
        pc.add(pc.utf8_length(whole), pc.utf8_length(part)), pc.utf8_length(digits)
    )
    digits = pc.utf8_rtrim(digits, "0")
    power = pc.if_else(pc.equal(exponent, ""), "0", pc.utf8_ltrim(exponent, "+")).cast(pa.int32())
    power = pc.subtract(pc.add(power, pc.subtract(pc.utf8_length(whole), 1)), leading)
    rest = pc.utf8_slice_codeunits(digits, 1)
    rest = pc.if_else(pc.equal(rest, ""), "0", rest)
    first = pc.binary_join_element_wise(sign, pc.utf8_slice_codeunits(digits, 0, 1), "")
    mantissa = pc.binary_join_element_wise(first, rest, ".")
    return pc.binary_join_element_wise(mantissa, power.cast(pa.string()), "E")


def _two_digits(text: pa.StringArray, kind: pa.DataType) -> pa.StringArray:
    """``text`` with the second digit of :data:`_COARSE`, where one digit was enough."""
    shortest, java = (pa.array(list(side(_COARSE[kind]))) for side in (dict.keys, dict.values))
    found = pc.index_in(pc.utf8_ltrim(text, "-"), value_set=shortest)
    if found.null_count == len(found):
        return text
    sign = pc.if_else(pc.starts_with(text, "-"), "-", "")
    return pc.coalesce(pc.binary_join_element_wise(sign, java.take(found), ""), text)
