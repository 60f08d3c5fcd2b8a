"""Reach: how far back the timeline can be asked what the table was."""

from __future__ import annotations

from hoodoo.errors import ConfigError
from hoodoo.kernel.archived import oldest
from hoodoo.read.source import ReadSource
from hoodoo.timeline.instants import order_key


def check_reach(source: ReadSource, bound: str | None, asked: str) -> None:
    """Raise ConfigError, naming what was ``asked``, if the writes up to the requested time ``bound``
    have been archived: what they replaced and where their files belong is not told any more.

    A table that had no rows yet at ``bound`` is no error, nor is a write that a savepoint keeps. Costs
    nothing for a bound on the active timeline, else a listing and a small file.
    """
    timeline = source.timeline
    start = timeline.start
    if bound is None or start is None or order_key(bound) >= order_key(start):
        return
    if timeline.find(bound) is not None:
        return
    first = oldest(source.storage, source.config)
    if first is None or order_key(bound) < order_key(first):
        return
    raise ConfigError(
        asked,
        f"is before {start}, where the active timeline begins: older instants are archived",
        f"ask for {start} or later; to keep more history, raise hoodie.keep.min.commits and "
        "hoodie.keep.max.commits, or make a savepoint.",
    )
