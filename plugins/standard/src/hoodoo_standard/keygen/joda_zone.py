"""Time zones as ``DateTimeZone.forTimeZone(TimeZone.getTimeZone(id))`` takes them.

Java takes UTC for an id that it doesn't know; here that is an error.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError, DataError

Longs = npt.NDArray[np.int64]
_MINUTE = 60_000
_FIXED = re.compile(r"GMT([+-])(\d{1,2})(?::?(\d\d))?")
# Ids of three letters that mean a place (Joda-Time 2.12, DateTimeZone).
_SHORT = {
    "GMT": "UTC", "UT": "UTC", "Z": "UTC", "MET": "CET", "ECT": "CET", "MIT": "Pacific/Apia",
    "HST": "Pacific/Honolulu", "AST": "America/Anchorage", "PST": "America/Los_Angeles",
    "MST": "America/Denver", "PNT": "America/Phoenix", "CST": "America/Chicago",
    "EST": "America/New_York", "IET": "America/Indiana/Indianapolis", "PRT": "America/Puerto_Rico",
    "CNT": "America/St_Johns", "AGT": "America/Argentina/Buenos_Aires", "BET": "America/Sao_Paulo",
    "ART": "Africa/Cairo", "CAT": "Africa/Harare", "EAT": "Africa/Addis_Ababa",
    "NET": "Asia/Yerevan", "PLT": "Asia/Karachi", "IST": "Asia/Kolkata", "BST": "Asia/Dhaka",
    "VST": "Asia/Ho_Chi_Minh", "CTT": "Asia/Shanghai", "JST": "Asia/Tokyo",
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "SST": "Pacific/Guadalcanal",
    "NST": "Pacific/Auckland",
}  # fmt: skip


@frozen
class Zone:
    """``name`` as the table says it. ``place``: an id of the tz database; None: ``fixed`` ms from UTC."""

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
                "is no time zone that is known here; Hudi takes UTC for those that it doesn't know.",
                "give an id like Europe/Berlin, GMT+08:00 or UTC.",
            )
        return cls(name, place)

    def offsets(self, millis: Longs) -> Longs:
        """Milliseconds to add to each instant (ms since the epoch, UTC) to get the local time."""
        if self.place is None:
            return np.full(len(millis), self.fixed, np.int64)
        utc = pa.array(millis, pa.timestamp("ms", self.place))
        local = pc.local_timestamp(utc).cast(pa.int64()).to_numpy()
        return np.asarray(local - millis, np.int64)

    def instants(self, local: Longs, column: str) -> Longs:
        """Local times (ms) as instants; of two that have the same local time, the earlier one.

        DataError where clocks were put forward past a time.
        """
        if self.place is None:
            return local - self.fixed
        times = pa.array(local, pa.timestamp("ms"))
        try:
            utc = pc.assume_timezone(
                times, self.place, ambiguous="earliest", nonexistent="raise"
            )  # fmt: skip
        except (pa.ArrowException, ValueError) as error:
            raise DataError(
                f"partition column {column!r}", f"has a time that {self.place} skipped ({error}).",
                "correct the data.",
            ) from error  # fmt: skip
        return np.asarray(utc.cast(pa.int64()).to_numpy(), np.int64)


UTC = Zone("UTC")
