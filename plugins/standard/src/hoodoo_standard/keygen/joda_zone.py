"""Time zones as ``DateTimeZone.forTimeZone(TimeZone.getTimeZone(id))`` takes them.

Java takes UTC for an id that it doesn't know; here that is an error.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError, DataError

Longs = npt.NDArray[np.int64]
_MINUTE = 60_000
_STEP = 21 * 24 * 60 * _MINUTE  # no two changes are as near to each other
# Arrow knows no change of clocks after 2037, where files of the tz database end with a rule. The
# last rule holds for ever, and the calendar, days of the week included, repeats itself every 400
# years.
_ARROW_ENDS = 2_114_380_800_000  # 2037-01-01, in ms
_RULES_ONLY = 4_102_444_800_000  # 2100-01-01: lists of single changes (Ramadan) have ended
_CYCLE = 146_097 * 24 * 60 * _MINUTE
_FIXED = re.compile(r"GMT([+-])(\d{1,2})(?::?(\d\d))?")
# Ids of three letters that mean a place (Joda-Time 2.12, DateTimeZone).
_SHORT = {
    "GMT": "UTC",
    "UT": "UTC",
    "Z": "UTC",
    "MET": "CET",
    "ECT": "CET",
    "MIT": "Pacific/Apia",
    "HST": "Pacific/Honolulu",
    "AST": "America/Anchorage",
    "PST": "America/Los_Angeles",
    "MST": "America/Denver",
    "PNT": "America/Phoenix",
    "CST": "America/Chicago",
    "EST": "America/New_York",
    "IET": "America/Indiana/Indianapolis",
    "PRT": "America/Puerto_Rico",
    "CNT": "America/St_Johns",
    "AGT": "America/Argentina/Buenos_Aires",
    "BET": "America/Sao_Paulo",
    "ART": "Africa/Cairo",
    "CAT": "Africa/Harare",
    "EAT": "Africa/Addis_Ababa",
    "NET": "Asia/Yerevan",
    "PLT": "Asia/Karachi",
    "IST": "Asia/Kolkata",
    "BST": "Asia/Dhaka",
    "VST": "Asia/Ho_Chi_Minh",
    "CTT": "Asia/Shanghai",
    "JST": "Asia/Tokyo",
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "SST": "Pacific/Guadalcanal",
    "NST": "Pacific/Auckland",
}


@frozen
class Zone:
    """``name`` as the table says it. ``place``: an id of the tz database; None: ``fixed`` ms from
    UTC."""

    name: str
    place: str | None = None
    fixed: int = 0

    @classmethod
    def of(cls, name: str, option: str) -> Zone:
        """ConfigError, naming ``option``, for an id that is not known."""
        found = _FIXED.fullmatch(name)
        if found and int(found[2]) < 24 and int(found[3] or 0) < 60:
            size = (int(found[2]) * 60 + int(found[3] or 0)) * _MINUTE
            return cls(name, None, -size if found[1] == "-" else size)
        place = _SHORT.get(name, name)
        if place == "UTC":
            return cls(name)
        try:
            pc.local_timestamp(pa.array([0], pa.timestamp("ms", place)))
            known = bool(place) and not place.startswith(("+", "-"))
        except (pa.ArrowException, ValueError):
            known = False
        if not known:
            raise ConfigError(
                f"option {option}={name!r}",
                "is no time zone that is known here; Hudi takes UTC for those that it doesn't "
                "know.",
                "give an id like Europe/Berlin, GMT+08:00 or UTC.",
            )
        return cls(name, place)

    def offsets(self, millis: Longs) -> Longs:
        """Milliseconds to add to each instant (ms since the epoch, UTC) to get the local time."""
        if self.place is None:
            return np.full(len(millis), self.fixed, np.int64)
        far = millis >= _ARROW_ENDS
        utc = pa.array(np.where(far, 0, millis), pa.timestamp("ms", self.place))
        local = pc.local_timestamp(utc).cast(pa.int64()).to_numpy()
        found = np.array(local - np.where(far, 0, millis), np.int64)
        if far.any():
            found[far] = _later_offsets(self.place, millis[far])
        return found

    def instants(self, local: Longs, column: str) -> Longs:
        """Local times (ms) as instants; of two that have the same local time, the earlier one.

        DataError where clocks were put forward past a time.
        """
        if self.place is None:
            return local - self.fixed
        day = 24 * 60 * _MINUTE
        before, after = self.offsets(local - day), self.offsets(local + day)
        first, second = local - np.maximum(before, after), local - np.minimum(before, after)
        is_first = self.offsets(first) == local - first
        skipped = ~is_first & (self.offsets(second) != local - second)
        if skipped.any():
            time = np.datetime64(int(local[np.flatnonzero(skipped)[0]]), "ms")
            raise DataError(
                f"partition column {column!r}",
                f"has the time {time}, which {self.place} skipped.",
                "correct the data.",
            )
        return np.where(is_first, first, second)


def _later_offsets(place: str, millis: Longs) -> Longs:
    """Offsets (ms) at instants from 2037 on."""
    since = _RULES_ONLY + (millis - _RULES_ONLY) % _CYCLE
    changes, offsets = _later_changes(place)
    at = np.searchsorted(changes, np.where(millis < _RULES_ONLY, millis, since), "right") - 1
    return np.asarray(offsets[at], np.int64)


@lru_cache(maxsize=16)
def _later_changes(place: str) -> tuple[Longs, Longs]:
    """Instants from 2037 to 2500 (ms) at which ``place`` changes its offset, the first one among
    them, and the offsets (ms) from then on. A tenth of a second, once a zone, where such times
    occur."""
    zone = ZoneInfo(place)
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)

    def offset(millis: int) -> int:
        found = (epoch + timedelta(milliseconds=millis)).astimezone(zone).utcoffset()
        return 0 if found is None else found // timedelta(milliseconds=1)

    changes, offsets = [_ARROW_ENDS], [offset(_ARROW_ENDS)]
    for low in range(_ARROW_ENDS, _RULES_ONLY + _CYCLE, _STEP):
        high = low + _STEP
        if offset(high) == offsets[-1]:
            continue
        while high - low > 1000:
            middle = (low + high) // 2000 * 1000
            low, high = (middle, high) if offset(middle) == offsets[-1] else (low, middle)
        changes.append(high)
        offsets.append(offset(high))
    return np.array(changes, np.int64), np.array(offsets, np.int64)


UTC = Zone("UTC")
