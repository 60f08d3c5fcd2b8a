"""The formats of log blocks that are installed, by the kind of block that each reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hoodoo.hookspecs.log_block import LogBlockFormat
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve

LogFormats = Mapping[int, LogBlockFormat]

# The last ones that were made, and of what: a reader of a log file makes none anew.
_made: list[tuple[tuple[Any, ...], LogFormats]] = []


def log_formats() -> LogFormats:
    """All of them, for reading, in their default settings. On the driver: steps take them along."""
    registry = kernel()
    offers = registry.offers("log_block")
    of = (registry, *(offer.registration.factory for offer in offers))
    if _made and _made[0][0] == of:
        return _made[0][1]
    made: dict[int, LogBlockFormat] = {}
    for offer in offers:
        one: LogBlockFormat = resolve("log_block", offer.name, using=registry).instance
        made.setdefault(int(one.kind), one)
    _made[:] = [(of, made)]
    return made
