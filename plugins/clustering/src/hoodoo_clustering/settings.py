"""What scheduling a clustering reads of the options: Hudi's names and defaults, and two of Hoodoo's
own.

Source: ``HoodieClusteringConfig`` of Hudi 1.2.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen
from hoodoo.errors import ConfigError

from hoodoo_clustering import options as keys

# Planners of older versions of Hudi -> the filter that they are today, with the planner `size`.
_DEPRECATED = {
    "SparkRecentDaysClusteringPlanStrategy": "recent_days",
    "JavaRecentDaysClusteringPlanStrategy": "recent_days",
    "FlinkRecentDaysClusteringPlanStrategy": "recent_days",
    "SparkSelectedPartitionsClusteringPlanStrategy": "selected_partitions",
    "FlinkSelectedPartitionsClusteringPlanStrategy": "selected_partitions",
}


@frozen
class ClusteringSettings:
    """Sizes in bytes. ``small``: see :attr:`limit`. ``target``: of the files that a clustering
    makes. ``group``: the most that a group reads; ``groups``: how many a plan has at most.

    ``selected`` partitions, or those whose whole path matches ``pattern``, are what the filter
    gets; ``latest_first`` turns its answer around. ``earliest``: file slices of that instant and
    before are left alone. ``single``: groups of one slice are planned. ``incremental``: only
    partitions that changed since the last plan are looked at. ``with_logs``: slices that have log
    files, too."""

    small: int | None = None
    target: int = keys.TARGET.initial
    group: int = keys.GROUP.initial
    groups: int = keys.GROUPS.initial
    sort_columns: tuple[str, ...] = ()
    layout: str = "LINEAR"
    pattern: str | None = None
    selected: tuple[str, ...] = ()
    latest_first: bool = False
    earliest: str | None = None
    single: bool = True
    incremental: bool = True
    with_logs: bool = False

    @property
    def limit(self) -> int:
        """Base files of that size or more are left alone: ``small``, where it is given, or a
        default that is no more than the target, as what has that size need not be made again."""
        return min(keys.SMALL.initial, self.target) if self.small is None else self.small

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ClusteringSettings:
        """Raises ConfigError for a value that can't be."""
        pattern = keys.PATTERN.given(options)
        return cls(
            keys.SMALL.given(options),
            keys.TARGET.read(options),
            keys.GROUP.read(options),
            keys.GROUPS.read(options),
            keys.SORT_COLUMNS.given(options) or (),
            keys.LAYOUT.read(options),
            pattern.pattern or None if pattern else None,
            keys.SELECTED.given(options) or (),
            keys.ORDER.read(options) == "latest",
            (keys.EARLIEST.given(options) or "").strip() or None,
            keys.SINGLE.read(options),
            keys.INCREMENTAL.read(options),
            keys.WITH_LOGS.read(options),
        )


def filter_name(options: Mapping[str, str]) -> str:
    """The filter of partitions that ``options`` name, or a planner that is one today."""
    planner = keys.PLANNER.read(options).rpartition(".")[2]
    return keys.FILTER.given(options) or _DEPRECATED.get(planner) or keys.FILTER.read({})


def check_options(options: Mapping[str, str]) -> None:
    """ConfigError for options that are right alone, and contradict each other."""
    runs, plans = keys.INLINE, keys.SCHEDULED
    if runs.read(options) and plans.read(options):
        raise ConfigError(
            f"options {runs.key} and {plans.key}",
            "exclude each other: a write either runs a clustering or plans one.",
            "Set one of them.",
        )
