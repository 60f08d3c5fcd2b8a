"""Instant strings: ``yyyyMMddHHmmssSSS`` in the table's timezone.

Instants compare as strings once :func:`order_key` has padded the legacy form. Arithmetic is done on
the wall clock that the digits spell, so that a change to or from summer time can't turn it back.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from hoodoo.errors import ConfigError, CorruptTableError

_MILLISECOND = timedelta(milliseconds=1)
_ISO = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d{1,9}))?\s*([Zz]|[+-]\d{2}:?\d{2})?"
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_FIX = (
    "Give an instant (17 digits, yyyyMMddHHmmssSSS), a datetime with tzinfo, ISO 8601 with a time "
    "zone such as 2024-04-18T22:35:50Z, or a day such as 2024-04-18, which stands for its end."
)


def order_key(instant: str) -> str:
    """The instant padded for comparison: one of 14 digits counts as its last millisecond."""
    return instant + "999" if len(instant) == 14 else instant


def to_datetime(instant: str, zone: str = "UTC") -> datetime:
    """The moment an instant names, with tzinfo; 1970 for what Hudi begins tables with
    (``0000...``). ``zone`` is ``UTC`` or ``LOCAL``. ConfigError where the digits are not a date.
    """
    naive = datetime(1970, 1, 1) if instant.startswith("0000") else _naive(instant)
    return naive.replace(tzinfo=timezone.utc) if zone == "UTC" else naive.astimezone()


def from_datetime(moment: datetime, zone: str = "UTC") -> str:
    """The instant of a moment (with tzinfo), cut to milliseconds, in ``zone``."""
    local = moment.astimezone(timezone.utc) if zone == "UTC" else moment.astimezone()
    return _text(local)


def next_instant(now: datetime, after: str | None, zone: str = "UTC") -> str:
    """The later of ``now`` and one millisecond past ``after``: strictly greater than ``after``.

    ``after`` is the greatest instant known, requested or completed. Source: RFC-66 asks for
    monotonic instants whatever the clocks of the writers do.
    """
    current = from_datetime(now, zone)
    if after is None or current > order_key(after):
        return current
    try:
        return _text(_naive(after) + _MILLISECOND)
    except (ConfigError, OverflowError) as error:
        raise CorruptTableError(
            f"instant {after}",
            "the newest instant of the table is not a date, so no later instant can be made.",
            "Repair the timeline: delete the file that is not an instant.",
        ) from error


def parse_point(value: str | date | int, zone: str = "UTC") -> str:
    """A point in time as a user gives it -> a 17-digit instant in the table's ``zone``.

    Takes an instant (17 digits; 14 stand for the end of that second; zeros for the beginning), a
    datetime with tzinfo, ISO 8601 with zone, or a day, which stands for its end in the table's
    zone. Raises :class:`~hoodoo.errors.ConfigError`.
    """
    if isinstance(value, datetime):
        if value.tzinfo is None or value.utcoffset() is None:
            raise ConfigError(
                f"datetime {value!r}",
                "a point in time needs a time zone.",
                "Use datetime(..., tzinfo=timezone.utc).",
            )
        return from_datetime(value, zone)
    text = value.isoformat() if isinstance(value, date) else value
    text = text.strip() if isinstance(text, str) else ""
    if _DAY.fullmatch(text):
        text = text.replace("-", "") + "235959999"
    if text.isascii() and text.isdigit():
        if not text.strip("0"):
            return "0" * 17
        if len(text) in (14, 17):
            if not text.startswith("0000"):  # what Hudi begins tables with is no date
                _naive(text)
            return order_key(text)
    elif match := _ISO.fullmatch(text):
        day, clock, fraction, offset = match.groups()
        if offset is None:
            raise ConfigError(f"point in time {value!r}", "the time zone is missing.", _FIX)
        offset = "+00:00" if offset in "Zz" else f"{offset[:3]}:{offset[-2:]}"
        micros = (fraction or "0")[:6].ljust(6, "0")
        if clock.count(":") == 1:
            clock += ":00"
        try:
            return from_datetime(datetime.fromisoformat(f"{day}T{clock}.{micros}{offset}"), zone)
        except (ValueError, OverflowError) as error:
            raise ConfigError(f"point in time {value!r}", f"not a date: {error}.", _FIX) from error
    raise ConfigError(f"point in time {value!r}", "is neither instant nor date nor tag.", _FIX)


def _naive(instant: str) -> datetime:
    digits = order_key(instant)
    try:
        if len(digits) != 17 or not digits.isdigit():
            raise ValueError("expected 14 or 17 digits")
        month, day, hour, minute, second = (int(digits[at : at + 2]) for at in range(4, 14, 2))
        return datetime(int(digits[:4]), month, day, hour, minute, second, int(digits[14:]) * 1000)
    except ValueError as error:
        raise ConfigError(f"instant {instant!r}", f"not a date: {error}.", _FIX) from error


def _text(moment: datetime) -> str:
    # strftime("%Y") doesn't pad years below 1000 everywhere.
    return f"{moment.year:04d}{moment:%m%d%H%M%S}{moment.microsecond // 1000:03d}"
