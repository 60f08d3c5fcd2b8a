"""Brief: what goes into the representation of an object, however much it holds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sized
from html import escape
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


class Shown:
    """What notebooks show as a small table: names and values, none of which is HTML."""

    __slots__ = ()

    @abstractmethod
    def _facts(self) -> Mapping[str, object]:
        """What is worth seeing at one look; costs no more than a look at the timeline."""

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th>{escape(name)}</th><td>{escape(cut(value, 300))}</td></tr>"
            for name, value in self._facts().items()
        )
        return f"<table><caption>{escape(type(self).__name__)}</caption>{''.join(rows)}</table>"
