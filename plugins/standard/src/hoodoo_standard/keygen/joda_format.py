"""Instants to text, by the fields of a Joda pattern, on whole columns.

Names (months, days, AM and PM) are English, as of a JVM in any English locale.
"""

from __future__ import annotations

import calendar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from hoodoo_standard.keygen.joda_pattern import Field, Token
from hoodoo_standard.keygen.joda_zone import Longs

DAY = 86_400_000
_UNITS = {
    "H": 3_600_000,
    "h": 3_600_000,
    "k": 3_600_000,
    "K": 3_600_000,
    "a": 3_600_000,
    "m": 60_000,
    "s": 1000,
    "S": 1,
}
MONTHS = tuple(calendar.month_name)[1:]
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def format_instants(millis: Longs, offsets: Longs, tokens: tuple[Token, ...]) -> pa.DictionaryArray:
    """The text of each instant (ms since the epoch) at its offset from UTC (ms); no nulls.

    Work is done once for each distinct local time, cut to what the pattern shows.
    """
    letters = {token.letter for token in tokens if isinstance(token, Field)}
    unit = min((_UNITS.get(letter, DAY) for letter in letters), default=DAY)
    local = millis + offsets
    if "Z" in letters:  # the text is not a function of the local time alone
        texts = _join(_Parts.of(local), offsets, tokens)
        return texts.dictionary_encode()
    coded = pa.array(local // unit).dictionary_encode()
    distinct = coded.dictionary.to_numpy(zero_copy_only=False) * unit
    texts = _join(_Parts.of(distinct), distinct, tokens)
    return pa.DictionaryArray.from_arrays(coded.indices, texts)


@frozen
class _Parts:
    """Local times (ms) taken apart. ``days``: since the epoch; ``months``: since January 1970."""

    local: Longs
    days: Longs
    months: Longs

    @classmethod
    def of(cls, local: Longs) -> _Parts:
        days = local // DAY
        return cls(local, days, _months(days))

    @property
    def year(self) -> Longs:
        return self.months // 12 + 1970

    @property
    def weekday(self) -> Longs:
        """Monday is 0."""
        return (self.days + 3) % 7

    @property
    def thursday(self) -> Longs:
        """Of the same week, which belongs to its year."""
        return self.days - self.weekday + 3

    def of_day(self, unit: int, modulus: int) -> Longs:
        return self.local // unit % modulus


def first_day(months: Longs) -> Longs:
    """The first day of each month, in days since the epoch."""
    return np.asarray(months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64))


def _months(days: Longs) -> Longs:
    return np.asarray(days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64))


def _join(parts: _Parts, offsets: Longs, tokens: tuple[Token, ...]) -> pa.StringArray:
    texts = [
        pa.scalar(token) if isinstance(token, str) else _text(token, parts, offsets)
        for token in tokens
    ]
    return pc.binary_join_element_wise(*texts, "").cast(pa.string())


def _text(field: Field, parts: _Parts, offsets: Longs) -> pa.StringArray:
    letter, count = field.letter, field.count
    if letter == "Z":
        return _offset(offsets, ":" if count == 2 else "")
    if field.is_text:
        return _name(field, parts)
    if letter == "S":
        millis = _padded(parts.of_day(1, 1000), 3)
        return pc.utf8_slice_codeunits(pc.utf8_rpad(millis, max(count, 3), "0"), 0, count)
    if field.is_year and count == 2:  # of an era, too, these are the digits of the plain year
        return _padded(np.abs(_number("y" if letter == "Y" else letter, parts)) % 100, 2)
    return _padded(_number(letter, parts), count)


def _number(letter: str, parts: _Parts) -> Longs:
    if letter == "y":
        return parts.year
    if letter == "Y":  # of the era: the year before 1 is 1
        return np.where(parts.year > 0, parts.year, 1 - parts.year)
    if letter == "x":
        return _months(parts.thursday) // 12 + 1970
    if letter == "w":
        year = _months(parts.thursday) // 12
        return (parts.thursday - first_day(year * 12)) // 7 + 1
    if letter == "e":
        return parts.weekday + 1
    if letter == "M":
        return parts.months % 12 + 1
    if letter == "d":
        return parts.days - first_day(parts.months) + 1
    if letter == "D":
        return parts.days - first_day(parts.months // 12 * 12) + 1
    if letter == "m":
        return parts.of_day(60_000, 60)
    if letter == "s":
        return parts.of_day(1000, 60)
    hour = parts.of_day(3_600_000, 24)
    if letter == "h":
        return (hour + 11) % 12 + 1
    if letter == "k":
        return (hour + 23) % 24 + 1
    return hour % 12 if letter == "K" else hour


def _name(field: Field, parts: _Parts) -> pa.StringArray:
    names: tuple[str, ...]
    if field.letter == "a":
        names, at = ("AM", "PM"), parts.of_day(DAY // 2, 2)
    elif field.letter == "M":
        names, at = MONTHS, parts.months % 12
    else:
        names, at = _DAYS, parts.weekday
    if field.letter != "a" and field.count < 4:
        names = tuple(name[:3] for name in names)
    return pa.array(names, pa.string()).take(pa.array(at))


def _offset(offsets: Longs, colon: str) -> pa.StringArray:
    minutes = np.abs(offsets) // 60_000
    sign = pa.array(["+", "-"]).take(pa.array((offsets < 0).astype(np.int8)))
    hours = pc.binary_join_element_wise(sign, _padded(minutes // 60, 2), "")
    return pc.binary_join_element_wise(hours, _padded(minutes % 60, 2), colon)


def _padded(numbers: Longs, width: int) -> pa.StringArray:
    text = pc.utf8_lpad(pa.array(np.abs(numbers)).cast(pa.string()), width, "0")
    below = numbers < 0
    return pc.if_else(pa.array(below), pc.binary_join_element_wise("-", text, ""), text)
