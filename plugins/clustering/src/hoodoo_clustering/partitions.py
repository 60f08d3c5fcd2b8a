"""Where a clustering looks: the partition paths that its options and its filter let through."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter

from hoodoo.model.filegroup import FileSlice

from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter, TablePartition
from hoodoo_clustering.settings import ClusteringSettings


def partitions_of(slices: Sequence[FileSlice], changed: Collection[str]) -> list[TablePartition]:
    """The partitions of ``slices``, sorted by path. ``changed``: those that writes touched."""
    by_path = sorted(slices, key=attrgetter("partition_path"))
    return [
        TablePartition(path, tuple(found), path in changed)
        for path, found in groupby(by_path, key=attrgetter("partition_path"))
    ]


def wanted_partitions(
    partitions: Sequence[TablePartition],
    settings: ClusteringSettings,
    only: PartitionFilter,
    now: datetime,
) -> list[str]:
    """Return the paths to look at, in the order in which they are clustered: that of the filter
    ``only``, or the latest first, if the settings say so. ``partitions``: those of a table, sorted
    by path. ``now``: its hour, as it stands there, is the one that filters go by."""
    found = partitions
    if settings.selected:
        named = set(settings.selected)
        found = [one for one in found if one.path in named]
    elif settings.pattern is not None:
        whole = re.compile(settings.pattern)
        found = [one for one in found if whole.fullmatch(one.path)]
    paths = [one.path for one in only.wanted(found, now)]
    return sorted(paths, reverse=True) if settings.latest_first else paths
