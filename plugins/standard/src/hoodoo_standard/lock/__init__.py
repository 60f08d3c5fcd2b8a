"""Locks: exclusion between the writers of a table."""

from __future__ import annotations

from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard import options

FOLDER = ".hoodie/.hoodoo/locks"


def lease(settings: Settings) -> tuple[float, float]:
    """Seconds between two signs of life of a holder, and those without one after which others may
    take the lock over. ConfigError where one sign that is late would be enough for that."""
    renew = settings.value(options.LOCK_RENEW)
    validity = settings.value(options.LOCK_VALIDITY)
    if validity < 2 * renew:
        raise ConfigError(
            f"option {options.LOCK_VALIDITY.key}",
            f"is {validity:g}, less than twice {options.LOCK_RENEW.key} = {renew:g}.",
            "Make it ten times as long, as Hudi does.",
        )
    return renew, validity
