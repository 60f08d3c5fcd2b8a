"""The four modes in which Hudi filters partitions: none, recent days, a range, and each at one hour
of the day.

Source: ``ClusteringPlanPartitionFilter`` of Hudi 1.2.0. Hudi filters the partitions that changed;
here all that there are, so that "the last two" are the last two of the table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from attrs import frozen
from hoodoo.hookspecs.registration import Registration, Settings

from hoodoo_clustering.hookspecs.partition_filter import TablePartition
from hoodoo_clustering.options import BEGIN, END, LOOKBACK, SKIP

_MODULE = "hoodoo_clustering.strategies.filters"
_HOURS = 24


def filters() -> list[Registration]:
    """For the hook ``hoodoo_partition_filters``."""
    return [
        Registration(
            "no_filter", f"{_MODULE}:NoFilter.from_settings", ("NONE",), summary="all partitions"
        ),
        Registration(
            "recent_days",
            f"{_MODULE}:RecentDays.from_settings",
            options=(LOOKBACK, SKIP),
            summary="the last partitions, as paths of days sort",
        ),
        Registration(
            "selected_partitions",
            f"{_MODULE}:Range.from_settings",
            options=(BEGIN, END),
            summary="a range of partition paths",
        ),
        Registration(
            "day_rolling",
            f"{_MODULE}:DayRolling.from_settings",
            summary="each partition at one hour of the day",
        ),
    ]


@frozen
class NoFilter:
    @classmethod
    def from_settings(cls, settings: Settings) -> NoFilter:
        return cls()

    def wanted(
        self, partitions: Sequence[TablePartition], now: datetime
    ) -> Sequence[TablePartition]:
        return partitions


@frozen
class RecentDays:
    """``lookback`` partitions, 0 for all, after the newest ``skip``, the newest first, as Hudi has
    them: where a plan has room for few groups, it takes these. Partition paths of days sort as the
    days do."""

    lookback: int = LOOKBACK.initial
    skip: int = SKIP.initial

    @classmethod
    def from_settings(cls, settings: Settings) -> RecentDays:
        return cls(LOOKBACK.read(settings.options), SKIP.read(settings.options))

    def wanted(
        self, partitions: Sequence[TablePartition], now: datetime
    ) -> Sequence[TablePartition]:
        return partitions[::-1][self.skip :][: self.lookback or None]


@frozen
class Range:
    """From ``begin`` to ``end``, both included; None: from the first, to the last."""

    begin: str | None = None
    end: str | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> Range:
        ends = [(option.given(settings.options) or "").strip() or None for option in (BEGIN, END)]
        return cls(*ends)

    def wanted(
        self, partitions: Sequence[TablePartition], now: datetime
    ) -> Sequence[TablePartition]:
        return [one for one in partitions if self._holds(one.path)]

    def _holds(self, path: str) -> bool:
        return (self.begin is None or path >= self.begin) and (self.end is None or path <= self.end)


@frozen
class DayRolling:
    """Every 24th partition, by the hour."""

    @classmethod
    def from_settings(cls, settings: Settings) -> DayRolling:
        return cls()

    def wanted(
        self, partitions: Sequence[TablePartition], now: datetime
    ) -> Sequence[TablePartition]:
        return [one for n, one in enumerate(partitions) if n % _HOURS == now.hour]
