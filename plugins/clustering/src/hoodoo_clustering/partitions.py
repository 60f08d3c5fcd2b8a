"""Where a clustering looks: the partition paths that its options let through.

Source: ``ClusteringPlanPartitionFilter`` and ``PartitionAwareClusteringPlanStrategy`` of Hudi 1.2.0. Hudi
filters the partitions that changed; here all that there are, so that "the last two" are the last two of the
table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from hoodoo_clustering.settings import RANGE, RECENT, ROLLING, ClusteringSettings

_HOURS = 24


def wanted_partitions(
    paths: Iterable[str], settings: ClusteringSettings, now: datetime
) -> list[str]:
    """Those of the partition ``paths`` of a table to look at, the ones to cluster first first. ``now``: its
    hour, as it stands there, is the one that DAY_ROLLING goes by."""
    found = sorted(set(paths))
    if settings.selected:
        found = sorted(set(found) & set(settings.selected))
    elif settings.pattern is not None:
        whole = re.compile(settings.pattern)
        found = [path for path in found if whole.fullmatch(path)]
    if settings.filter == RECENT:
        # Partition paths of days sort as the days do.
        newest = found[::-1][settings.skip :]
        found = sorted(newest[: settings.lookback or None])
    elif settings.filter == RANGE:
        found = [path for path in found if _between(path, settings.begin, settings.end)]
    elif settings.filter == ROLLING:
        found = [path for n, path in enumerate(found) if n % _HOURS == now.hour]
    return found[::-1] if settings.latest_first else found


def _between(path: str, begin: str | None, end: str | None) -> bool:
    return (begin is None or path >= begin) and (end is None or path <= end)
