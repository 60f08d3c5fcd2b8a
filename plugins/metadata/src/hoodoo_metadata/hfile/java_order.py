"""Java's order of keys: Hudi 1 sorts them as Java's strings, and its own writer of HFiles does not look at their order.

As Java's strings, characters past U+FFFF (emoji, say) come before U+E000 to U+FFFF; as bytes, behind them. Keys without
any of these are where both orders have them, and are found as ever; the others are looked for in all blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import le


def in_java_order(keys: Sequence[bytes]) -> bool:
    """Whether ``keys`` ascend as Java's strings do."""
    try:
        units = [key.decode().encode("utf-16-be") for key in keys]
    except UnicodeDecodeError:
        return False
    return all(map(le, units, units[1:]))
