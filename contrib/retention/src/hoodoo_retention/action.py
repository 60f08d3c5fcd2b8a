"""The action ``retention``: partitions that are too old are dropped, as Hudi's partition TTL does
it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from attrs import frozen
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.engine import Engine
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Writes, WriteTarget

from hoodoo_retention.options import DAYS, INLINE
from hoodoo_retention.rule import Rule


@frozen
class Dropped:
    """``partitions`` were dropped by the commit ``instant``, the oldest first; it is empty where
    none was. ``left``: those that are too old as well, and have to wait for another run."""

    instant: str = ""
    partitions: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@frozen
class RetentionAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: run by hand, or after writes."""

    @classmethod
    def from_settings(cls, settings: Settings) -> RetentionAction:
        return cls()

    def run(
        self,
        table: TableHandle,
        days: int | None = None,
        *,
        dry_run: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> Dropped:
        """Drop what is older than ``days``, by default what the options say. ``dry_run``: only
        look."""
        shorter = {} if days is None else {DAYS.key: str(days)}
        given = {**table.options, **table.check_options({**(options or {}), **shorter})}
        return _run(table, Rule.of(given), dry_run)

    def after_write(self, table: TableHandle) -> AfterWrite | None:
        rule = Rule.of(table.options)
        if not INLINE.read(table.options) or rule.days <= 0:
            return None

        def due(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
            # A look is cheaper than a request, and mostly all that there is to do.
            looked = _run(table, rule, dry_run=True)
            return bool(looked.partitions and _run(table, rule).instant)

        return AfterWrite("retention", due, order=5)  # first: what is dropped needs no compaction


def _run(table: TableHandle, rule: Rule, dry_run: bool = False) -> Dropped:
    table.check_writable()
    table.refresh()
    now = _now()
    if dry_run:
        timeline, slices = table.newest_slices()
        every = rule.too_old(table.storage, timeline, slices, now)
        return Dropped("", every[: rule.most], every[rule.most :])
    every = ()

    def choose(target: WriteTarget) -> Sequence[str] | None:
        """Called again after a conflict: a partition that another writer has just written to is
        young again."""
        nonlocal every
        every = rule.too_old(target.storage, target.timeline, target.slices, now)
        return every[: rule.most] or None

    commit = Writes.drop_partitions(table.write_request(Writes.DELETE_PARTITION), choose)
    if commit is None:
        return Dropped()
    return Dropped(commit.instant, every[: rule.most], every[rule.most :])


def _now() -> datetime:
    return datetime.now(timezone.utc)
