"""Java's order of keys: Hudi 1 sorts them as Java's strings, and its own writer of HFiles does not look at their order.

As Java's strings, characters past U+FFFF (emoji, say) come before U+E000 to U+FFFF; as bytes, behind them. Keys without
any of these are where both orders have them, and are found as ever; the others are looked for in all blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import le

import pyarrow as pa
import pyarrow.compute as pc

# The first byte of U+E000 in UTF-8: what comes before is in one order both ways.
_TWO_ORDERS = r"[\xee-\xff]"


def of_two_orders(keys: pa.Array) -> bool:
    """Whether one of ``keys`` (binary) has a character that Java's order has elsewhere."""
    return bool(pc.any(pc.match_substring_regex(keys, _TWO_ORDERS)).as_py())


def in_java_order(keys: Sequence[bytes]) -> bool:
    """Whether ``keys`` ascend as Java's strings do."""
    try:
        units = [key.decode().encode("utf-16-be") for key in keys]
    except UnicodeDecodeError:
        return False
    return all(map(le, units, units[1:]))
