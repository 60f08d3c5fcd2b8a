"""What scheduling a clustering reads of the options: Hudi's names and defaults, and two of Hoodoo's own.

Source: ``HoodieClusteringConfig`` of Hudi 1.2.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from hoodoo.errors import ConfigError
from hoodoo.kernel.clustering_options import (
    BEGIN,
    DEFAULT_GROUP,
    DEFAULT_SMALL,
    DEFAULT_TARGET,
    EARLIEST,
    END,
    FILTER,
    GROUP,
    GROUPS,
    INCREMENTAL,
    LAYOUT,
    LOOKBACK,
    ORDER,
    PATTERN,
    PLAN_CLASS,
    SELECTED,
    SINGLE,
    SKIP,
    SMALL,
    SORT_COLUMNS,
    TARGET,
    WITH_LOGS,
)

NONE, RECENT, RANGE, ROLLING = "NONE", "RECENT_DAYS", "SELECTED_PARTITIONS", "DAY_ROLLING"
_FILTERS = (NONE, RECENT, RANGE, ROLLING)
_LAYOUTS = ("LINEAR", "ZORDER", "HILBERT")
_ORDERS = ("oldest", "latest")
# Planners of older versions of Hudi -> the filter that they are today, with the planner `size`.
_DEPRECATED = {
    "SparkRecentDaysClusteringPlanStrategy": RECENT,
    "JavaRecentDaysClusteringPlanStrategy": RECENT,
    "SparkSelectedPartitionsClusteringPlanStrategy": RANGE,
}


@frozen
class ClusteringSettings:
    """Sizes in bytes. ``small``: base files of that size or more are left alone. ``target``: of the files that
    a clustering makes. ``group``: the most that a group reads; ``groups``: how many a plan has at most.

    ``filter``: NONE; RECENT_DAYS (``lookback`` partitions, 0 for all, after the newest ``skip``);
    SELECTED_PARTITIONS (from ``begin`` to ``end``); DAY_ROLLING. ``selected`` partitions, or those whose
    whole path matches ``pattern``, are what it filters. ``earliest``: file slices of that instant and
    before are left alone. ``single``: groups of one slice are planned. ``incremental``: only partitions
    that changed since the last plan are looked at. ``with_logs``: slices that have log files, too."""

    small: int = DEFAULT_SMALL
    target: int = DEFAULT_TARGET
    group: int = DEFAULT_GROUP
    groups: int = 30
    sort_columns: tuple[str, ...] = ()
    layout: str = "LINEAR"
    filter: str = NONE
    lookback: int = 2
    skip: int = 0
    pattern: str | None = None
    selected: tuple[str, ...] = ()
    begin: str | None = None
    end: str | None = None
    latest_first: bool = False
    earliest: str | None = None
    single: bool = True
    incremental: bool = True
    with_logs: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ClusteringSettings:
        """Raises ConfigError for a value that can't be."""
        target = _number(options, TARGET, DEFAULT_TARGET, 1)
        group = _number(options, GROUP, DEFAULT_GROUP, 1)
        pattern = _text(options, PATTERN)
        _check_pattern(pattern)
        deprecated = _DEPRECATED.get(options.get(PLAN_CLASS, "").rpartition(".")[2], NONE)
        return cls(
            _number(options, SMALL, DEFAULT_SMALL, 0),
            target,
            group,
            _number(options, GROUPS, 30, 1),
            named(options.get(SORT_COLUMNS)),
            _choice(options, LAYOUT, _LAYOUTS, "LINEAR"),
            _choice(options, FILTER, _FILTERS, deprecated),
            _number(options, LOOKBACK, 2, 0),
            _number(options, SKIP, 0, 0),
            pattern,
            named(options.get(SELECTED)),
            _text(options, BEGIN),
            _text(options, END),
            _choice(options, ORDER, _ORDERS, "oldest") == "latest",
            _text(options, EARLIEST),
            _flag(options, SINGLE, True),
            _flag(options, INCREMENTAL, True),
            _flag(options, WITH_LOGS, False),
        )


def named(text: str | None) -> tuple[str, ...]:
    """What a list separated by commas names, in its order; nothing for None."""
    parts = (part.strip() for part in (text or "").split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def _text(options: Mapping[str, str], key: str) -> str | None:
    return options.get(key, "").strip() or None


def _number(options: Mapping[str, str], key: str, default: int, least: int) -> int:
    text = options.get(key, str(default)).strip()
    if not (text.isascii() and text.isdigit()) or int(text) < least:
        raise ConfigError(
            f"option {key}", f"must be a whole number of at least {least}, not {text!r}.",
            f"Leave it out: the default is {default}.",
        )  # fmt: skip
    return int(text)


def _flag(options: Mapping[str, str], key: str, default: bool) -> bool:
    text = options.get(key, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise ConfigError(
            f"option {key}", f"must be true or false, not {text!r}.",
            f"Leave it out: the default is {str(default).lower()}.",
        )  # fmt: skip
    return text == "true"


def _choice(options: Mapping[str, str], key: str, choices: tuple[str, ...], default: str) -> str:
    text = options.get(key, default).strip()
    found = {choice.casefold(): choice for choice in choices}.get(text.casefold())
    if found is None:
        raise ConfigError(
            f"option {key}", f"must be one of {', '.join(choices)}, not {text!r}.",
            f"Leave it out: the default is {default}.",
        )  # fmt: skip
    return found


def _check_pattern(pattern: str | None) -> None:
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise ConfigError(
            f"option {PATTERN}", f"{pattern!r} is no regular expression: {error}.",
            "Correct it; it has to match whole partition paths.",
        ) from error  # fmt: skip
