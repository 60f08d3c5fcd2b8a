"""Text to instants, by Joda patterns, on whole columns.

Source: Joda-Time 2.12, ``DateTimeFormatter.parseDateTime`` over
``DateTimeFormatterBuilder.append(null, parsers)``: the first pattern that takes the whole text
decides, and what it says must then be a date. Numbers may have fewer digits than letters; a year
may have a sign; literal text has no case. A text without a year is of the year 2000 if it has a
month or a day, else of 1 January 1970."""

from __future__ import annotations

import re
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import DataError

from hoodoo_standard.keygen.joda_format import DAY, MONTHS, first_day
from hoodoo_standard.keygen.joda_pattern import Field, Token
from hoodoo_standard.keygen.joda_zone import Longs, Zone

_OFFSET = r"[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d(?::?[0-5]\d)?)?"
# Letter -> least and most, and how many ms one is.
_CLOCK = {
    "H": (0, 23, 3_600_000),
    "k": (1, 24, 3_600_000),
    "K": (0, 11, 3_600_000),
    "h": (1, 12, 3_600_000),
    "m": (0, 59, 60_000),
    "s": (0, 59, 1000),
}


@frozen
class Parser:
    """One pattern, as a regular expression with a group for each letter."""

    regex: str
    fields: tuple[Field, ...]

    @classmethod
    def of(cls, tokens: tuple[Token, ...]) -> Parser:
        fields = tuple(token for token in tokens if isinstance(token, Field))
        # Of a letter that occurs twice the last one counts, as in Joda.
        last = {field.letter: at for at, field in enumerate(tokens) if isinstance(field, Field)}
        parts = []
        for at, token in enumerate(tokens):
            if isinstance(token, str):
                parts.append(f"(?i:{re.escape(token)})")
            else:
                name = f"?P<{token.letter}>" if last[token.letter] == at else "?:"
                parts.append(f"({name}{_expression(token)})")
        return cls(f"(?s)^{''.join(parts)}$", fields)

    def has(self, letter: str) -> bool:
        return any(field.letter == letter for field in self.fields)


def parse_instants(
    texts: pa.StringArray, parsers: tuple[Parser, ...], zone: Zone | None, column: str
) -> tuple[Longs, Longs]:
    """The instant of each text (ms since the epoch), and the offset from UTC (ms) that it is told
    with.

    ``texts`` has no nulls. ``zone`` is that of texts without an offset, and all are told in it;
    None: UTC, and the offsets of the texts. DataError, naming ``column`` and a text, for what is no
    time."""
    millis = np.zeros(len(texts), np.int64)
    offsets = np.zeros(len(texts), np.int64)
    left = np.arange(len(texts))
    for parser in parsers:
        if not len(left):
            break
        rest = texts.take(pa.array(left))
        found = pc.extract_regex(rest, pattern=parser.regex)
        taken = np.asarray(pc.is_valid(found))
        rows = left[taken]
        if len(rows):
            groups = found.filter(pa.array(taken))
            spoken = rest.filter(pa.array(taken))
            millis[rows], offsets[rows] = _instants(groups, parser, zone, column, spoken)
        left = left[~taken]
    if len(left):
        raise _no_time(column, texts[int(left[0])].as_py(), "has none of the table's formats")
    if zone is not None:
        offsets = zone.offsets(millis)
    return millis, offsets


def _expression(field: Field) -> str:
    if field.letter == "Z":
        return _OFFSET
    if field.letter == "a":
        return "AM|PM|am|pm"
    if field.is_text:
        names = [name for whole in MONTHS for name in (whole, whole[:3])]
        cases = {case for n in names for case in (n, n.lower(), n.upper())}
        return "|".join(sorted(cases, key=lambda n: (-len(n), n)))
    # Joda takes as many digits as it may and gives none back: before another number that is all.
    digits = str(field.max_digits) if field.adjacent else f"1,{field.max_digits}"
    return ("[+-]?" if field.letter == "y" else "") + rf"\d{{{digits}}}"


def _instants(
    groups: pa.StructArray, parser: Parser, zone: Zone | None, column: str, texts: pa.StringArray
) -> tuple[Longs, Longs]:
    values = {f.letter: _value(f, pc.struct_field(groups, [f.letter])) for f in parser.fields}

    def check(bad: npt.NDArray[np.bool_], what: str) -> None:
        if bad.any():
            text = texts[int(np.flatnonzero(bad)[0])].as_py()
            raise _no_time(column, text, f"has no such {what}")

    local = _date(values, len(groups), check) + _time(values, len(groups), check)
    if "Z" in values:
        return local - values["Z"], values["Z"]
    return (local if zone is None else zone.instants(local, column)), np.zeros_like(local)


def _value(field: Field, text: pa.StringArray) -> Longs:
    if field.letter == "Z":
        return _offset(text)
    if field.letter == "a":
        return np.asarray(pc.equal(pc.utf8_lower(text), "pm")).astype(np.int64)
    if field.is_text:
        short = pc.utf8_lower(pc.utf8_slice_codeunits(text, 0, 3))
        names = pa.array([name[:3].lower() for name in MONTHS])
        return np.asarray(pc.index_in(short, value_set=names)).astype(np.int64) + 1
    if field.letter == "S":
        text = pc.utf8_slice_codeunits(pc.utf8_rpad(text, 3, "0"), 0, 3)
    return np.asarray(pc.utf8_ltrim(text, "+").cast(pa.int64()))


def _offset(text: pa.StringArray) -> Longs:
    digits = pc.utf8_rpad(
        pc.replace_substring_regex(text, pattern="[^0-9]", replacement=""), 6, "0"
    )
    size = np.zeros(len(text), np.int64)
    for start, unit in ((0, 3_600_000), (2, 60_000), (4, 1000)):
        part = pc.utf8_slice_codeunits(digits, start, start + 2)
        size += np.asarray(part.cast(pa.int64())) * unit
    return np.where(np.asarray(pc.starts_with(text, "-")), -size, size)


class _Check(Protocol):
    """What :func:`_instants` gives to its parts: raises where any of ``bad`` is true."""

    def __call__(self, bad: npt.NDArray[np.bool_], what: str) -> None: ...


def _date(values: dict[str, Longs], rows: int, check: _Check) -> Longs:
    """Midnight of the day, in ms."""
    dated = any(letter in values for letter in "MdD")
    year = np.full(rows, 2000 if dated else 1970, np.int64)
    if "Y" in values:
        check(values["Y"] < 1, "year")
        year = values["Y"]
    year = values.get("y", year)
    january = (year - 1970) * 12
    if "D" in values:
        length = first_day(january + 12) - first_day(january)
        check((values["D"] < 1) | (values["D"] > length), "day")
        return (first_day(january) + values["D"] - 1) * DAY
    month = values.get("M", np.ones(rows, np.int64))
    check((month < 1) | (month > 12), "month")
    months = january + month - 1
    day = values.get("d", np.ones(rows, np.int64))
    check((day < 1) | (day > first_day(months + 1) - first_day(months)), "day")
    return (first_day(months) + day - 1) * DAY


def _time(values: dict[str, Longs], rows: int, check: _Check) -> Longs:
    """Milliseconds of the day."""
    total = np.zeros(rows, np.int64)
    for letter, (least, most, unit) in _CLOCK.items():
        if letter in values:
            number = values[letter]
            check((number < least) | (number > most), f"{letter!r}")
            total += number % (most + 1 if least == 0 else most) * unit
    if "a" in values and "H" not in values and "k" not in values:
        total += values["a"] * (DAY // 2)
    return total + values.get("S", np.zeros(rows, np.int64))


def _no_time(column: str, text: str, why: str) -> DataError:
    return DataError(
        f"partition column {column!r}",
        f"its value {text!r} is no time: it {why}.",
        "correct the data; the formats are hoodie.keygen.timebased.input.dateformat of the table.",
    )
