"""What a table, or a call, says about the times that partition paths are made of."""

from __future__ import annotations

import re
from typing import Any

from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.hookspecs.registration import Option, Settings

from hoodoo_standard import options
from hoodoo_standard.keygen.joda_zone import Zone

# How many of a unit are a millisecond, or how many milliseconds a unit is.
SMALL = {"NANOSECONDS": 1_000_000, "MICROSECONDS": 1000}
LARGE = {
    "MILLISECONDS": 1,
    "SECONDS": 1000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": 86_400_000,
}
# What numbers are counted in; None: SCALAR says it, and of texts there is nothing to say.
UNITS = {
    "UNIX_TIMESTAMP": "SECONDS",
    "EPOCHMILLISECONDS": "MILLISECONDS",
    "EPOCHMICROSECONDS": "MICROSECONDS",
    "SCALAR": None,
    "DATE_STRING": None,
    "MIXED": None,
}


def said(settings: Settings, option: Option[Any]) -> str:
    """What the table, or else this call, says of the option, in its plain spelling."""
    stored, given = option.stored(settings.table.properties), option.given(settings.options)
    if stored is not None and given is not None and stored != given:
        raise OptionConflictError(
            f"option {option.key}={option.spell(given)!r}",
            f"contradicts the table, which has {option.spell(stored)!r}.",
            "leave it out.",
        )
    found = given if stored is None else stored
    return (option.default or "") if found is None else option.spell(found)


def only_given(settings: Settings) -> tuple[tuple[str, str], ...]:
    """What this call says and the table does not, by its present names."""
    return tuple(
        (option.key, said(settings, option))
        for option in options.TIMES
        if not option.is_in(settings.table.properties) and option.is_in(settings.options)
    )


def unit_of(kind: str, settings: Settings) -> str | None:
    """What the numbers of a column of this ``kind`` count; None: it holds texts. ConfigError."""
    if kind != "SCALAR":
        return UNITS[kind]
    return said(settings, options.TIME_UNIT)


def zones_of(settings: Settings) -> tuple[Zone | None, Zone | None]:
    """Those of input and output; None: not said."""
    both = said(settings, options.BOTH_ZONES).strip()
    if both:
        zone = Zone.of(both, options.BOTH_ZONES.key)
        return zone, zone
    found = []
    for option in (options.INPUT_ZONE, options.OUTPUT_ZONE):
        name = said(settings, option).strip()
        found.append(Zone.of(name, option.key) if name else None)
    return found[0], found[1]


def patterns_of(settings: Settings, name: str) -> list[str]:
    """The input patterns, in the order in which they are tried. ConfigError where there is none."""
    text = said(settings, options.INPUT_FORMAT)
    delimiter = said(settings, options.INPUT_DELIMITER).strip() or ","
    found = [part.strip() for part in re.split(delimiter, text)]
    while found and not found[-1]:
        found.pop()
    if not found:
        raise lacks(options.INPUT_FORMAT, name)
    return found


def lacks(option: Option, name: str) -> ConfigError:
    return ConfigError(
        f"partition column {name!r}",
        f"is a time, and the table does not say {option.key}.",
        f"give that option: {option.summary}",
    )
