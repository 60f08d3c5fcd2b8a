"""A number that a cleaning policy reads, under Hudi's new name or its old one."""

from __future__ import annotations

import math

from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Option, Settings


def number(settings: Settings, names: tuple[Option, Option], least: int) -> float:
    """The value of the first of ``names`` that is set, or its default. A whole number where
    ``least`` is at least 1. ConfigError for what is no number, or below ``least``."""
    option = next((o for o in names if settings.get(o.key) is not None), names[0])
    text = settings.get(option.key, names[0].default) or ""
    try:
        value = float(int(text)) if least else float(text)
    except ValueError:
        value = math.nan
    if not least <= value < math.inf:
        kind = f"an integer of at least {least}" if least else f"a number of at least {least}"
        raise ConfigError(
            f"option {option.key}",
            f"must be {kind}, not {text!r}.",
            f"the default is {names[0].default}.",
        )
    return value
