"""Axes of a picture: where values lie on a line, and which of them are written below it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Protocol

from attrs import frozen

Tick = tuple[float, str]
_LONGEST = 14
_MOMENT = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_STEPS = (
    1,
    5,
    15,
    30,
    _MINUTE,
    5 * _MINUTE,
    15 * _MINUTE,
    30 * _MINUTE,
    _HOUR,
    3 * _HOUR,
    6 * _HOUR,
    12 * _HOUR,
    _DAY,
    2 * _DAY,
    7 * _DAY,
    14 * _DAY,
)
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200)


class Axis(Protocol):
    """Values lie between 0 and 1. ``kind`` says how, for who looks at the picture."""

    @property
    def kind(self) -> str: ...

    def place(self, value: Any) -> float: ...

    def ticks(self, most: int) -> list[Tick]:
        """At most ``most`` places, and what is written there."""


def axis_of(values: Iterable[Any]) -> Axis:
    """The axis of a column that holds these values; they are of one type."""
    found = list(values)
    first = found[0] if found else 0
    if _is_number(first):
        return Numbers(float(min(found, default=0)), float(max(found, default=1)))
    if isinstance(first, date):
        ends = sorted(found)
        return Times(_seconds(ends[0]), _seconds(ends[-1]))
    return Ranks(tuple(sorted(set(found))))


@frozen
class Numbers:
    low: float
    high: float

    @property
    def kind(self) -> str:
        return ""

    def place(self, value: Any) -> float:
        return _between(float(value), self.low, self.high)

    def ticks(self, most: int) -> list[Tick]:
        if self.high <= self.low:
            return [(0.5, _number(self.low, 0.0, abs(self.low)))]
        step = _round_up((self.high - self.low) / max(1, most - 1))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        at = [n * step for n in range(first, last + 1)][:most]
        largest = max(abs(self.low), abs(self.high))
        return [(self.place(value), _number(value, step, largest)) for value in at]


@frozen
class Times:
    """Seconds since 1970, UTC."""

    low: float
    high: float

    @property
    def kind(self) -> str:
        return ""

    def place(self, value: Any) -> float:
        return _between(_seconds(value), self.low, self.high)

    def ticks(self, most: int) -> list[Tick]:
        span = self.high - self.low
        if span <= 0:
            moment = _MOMENT + timedelta(seconds=self.low)
            whole = self.low % _DAY == 0
            return [(0.5, moment.strftime("%Y-%m-%d" if whole else "%Y-%m-%d %H:%M"))]
        for step in _STEPS:
            if span / step <= most - 1:
                return self._every(step)
        months = next((n for n in _MONTHS if span / (30.4 * _DAY * n) <= most - 1), _MONTHS[-1])
        return self._every_months(months)[:most]

    def _every(self, step: int) -> list[Tick]:
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        form = "%Y-%m-%d" if step >= _DAY else "%d %H:%M" if step >= _MINUTE else "%H:%M:%S"
        return [
            self._tick(_MOMENT + timedelta(seconds=n * step), form) for n in range(first, last + 1)
        ]

    def _every_months(self, step: int) -> list[Tick]:
        begin, end = (_MOMENT + timedelta(seconds=at) for at in (self.low, self.high))
        first, last = begin.year * 12 + begin.month - 1, end.year * 12 + end.month - 1
        form = "%Y-%m" if step < 12 else "%Y"
        starts = (
            begin.replace(n // 12, n % 12 + 1, 1, 0, 0, 0, 0)
            for n in range(-(-first // step) * step, last + 1, step)
        )
        return [self._tick(start, form) for start in starts if start >= begin]

    def _tick(self, moment: datetime, form: str) -> Tick:
        return self.place(moment), moment.strftime(form)


@frozen
class Ranks:
    """Values that can be compared, and no more: each as far from the next as any other."""

    values: tuple[Any, ...]

    @property
    def kind(self) -> str:
        return "in the order of values"

    def place(self, value: Any) -> float:
        return _between(bisect_left(self.values, value), 0, len(self.values) - 1)

    def ticks(self, most: int) -> list[Tick]:
        last = len(self.values) - 1
        if last < 1:
            return [(0.5, _text(value)) for value in self.values]
        count = min(most, last + 1)
        at = sorted({round(n * last / max(1, count - 1)) for n in range(count)})
        return [(n / last, _text(self.values[n])) for n in at]


def _between(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def _seconds(value: Any) -> float:
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    if value.tzinfo is None:
        value = value.replace(tzinfo=timezone.utc)
    return float((value - _MOMENT).total_seconds())


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _round_up(step: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next((n * power for n in (1, 2, 5, 10) if n * power >= step * (1 - 1e-9)), 10 * power)


def _number(value: float, step: float, largest: float) -> str:
    """``largest``: of the axis, so that all its labels have one unit."""
    if largest >= 1e15 or 0 < step < 1e-6:
        return f"{value or 0.0:.3g}"
    units = ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
    scale, unit = next(((s, f" {u}") for least, s, u in units if largest >= least), (1.0, ""))
    value, step = value / scale, step / scale
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step else 0
    text = f"{value:.{digits}f}" if step else f"{value:.6g}"
    return f"{text}{unit}" if float(text) else "0"


def _text(value: Any) -> str:
    if isinstance(value, (float, Decimal)) and value == 0:
        value = abs(value)  # footers of Parquet have -0.0 for the least of zeros
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def thinned(ticks: Sequence[Tick], length: float, room: Callable[[str], float]) -> list[Tick]:
    """Those ``ticks`` whose texts don't run into each other on an axis of ``length``, where a text
    takes ``room``. The first and the last come before those between."""
    if not ticks:
        return []
    order = [0, len(ticks) - 1, *range(1, len(ticks) - 1)]
    taken: list[tuple[float, float, Tick]] = []
    for n in dict.fromkeys(order):
        at, text = ticks[n]
        half = room(text) / 2
        # At the ends a text is moved inside.
        middle = min(max(at * length, half), max(half, length - half))
        first, last = middle - half, middle + half
        if all(last <= begin or first >= end for begin, end, _ in taken):
            taken.append((first, last, ticks[n]))
    return [tick for _, _, tick in sorted(taken)]
