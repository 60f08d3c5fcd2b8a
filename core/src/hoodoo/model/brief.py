"""Brief: what goes into the representation of an object, however much it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from itertools import islice

_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")


def cut(value: object, most: int = 60) -> str:
    """``value`` as one line of at most ``most`` characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def some(values: Iterable[object], most: int = 4) -> str:
    """The first ``most`` of ``values``, and how many more there are: ``a, b, +2``."""
    values = values if isinstance(values, Sized) else list(values)
    more = len(values) - most
    shown = [cut(value, 30) for value in islice(values, most)]
    return ", ".join([*shown, f"+{more}"] if more > 0 else shown)


def listed(values: Iterable[object]) -> str:
    """For an attrs field that may hold many: ``repr=listed``."""
    if isinstance(values, Mapping):
        return f"{{{some(values, 2)}}}"
    return f"({some(values, 2)})"


def size(number: int) -> str:
    """Bytes: ``1.2 MB`` is 1,200,000."""
    value, unit = float(number), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{number} B" if unit == 0 else f"{value:.3g} {_UNITS[unit]}"
