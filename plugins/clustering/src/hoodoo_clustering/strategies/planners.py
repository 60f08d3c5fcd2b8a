"""The planners of this distribution, as the hook returns them."""

from __future__ import annotations

from hoodoo.hookspecs.registration import Option, Registration
from hoodoo.options import Names

_MODULE = "hoodoo_clustering.strategies"
_CLIENT = "org.apache.hudi.client.clustering.plan.strategy."
SORT_BY = Option(
    "hoodie.clustering.plan.strategy.file.slices.sort.by",
    "What file slices are sorted by before they are grouped by size: SIZE (the largest first), "
    "INSTANT_TIME (the oldest first), or both.",
    "SIZE",
    kind=Names(of=("SIZE", "INSTANT_TIME"), least=1),
)
SEED = Option(
    "hoodoo.clustering.random.seed", "Text; another one makes other groups at random.", "0"
)


def planners() -> list[Registration]:
    """For the hook ``hoodoo_clustering_plans``."""
    return [
        Registration(
            "size",
            f"{_MODULE}.by_size:BySize.from_settings",
            (
                f"{_CLIENT}SparkSizeBasedClusteringPlanStrategy",
                f"{_CLIENT}JavaSizeBasedClusteringPlanStrategy",
                f"{_CLIENT}FlinkSizeBasedClusteringPlanStrategy",
                # Plans look at partitions that changed, unless asked for all.
                f"{_CLIENT}FlinkSizeBasedClusteringPlanStrategyRecently",
                # Today these are the same with a filter of partitions.
                f"{_CLIENT}SparkRecentDaysClusteringPlanStrategy",
                f"{_CLIENT}JavaRecentDaysClusteringPlanStrategy",
                f"{_CLIENT}FlinkRecentDaysClusteringPlanStrategy",
                f"{_CLIENT}SparkSelectedPartitionsClusteringPlanStrategy",
                f"{_CLIENT}FlinkSelectedPartitionsClusteringPlanStrategy",
            ),
            (SORT_BY,),
            "as many file slices together as a group may read",
        ),
        Registration(
            "several",
            f"{_MODULE}.several:Several.from_settings",
            (f"{_CLIENT}FlinkSkipSingleFileClusteringPlanStrategy",),
            (SORT_BY,),
            "by size, where a partition has more than one such file or rows are sorted",
        ),
        Registration(
            "single_file",
            f"{_MODULE}.single_file:EachAlone.from_settings",
            (f"{_CLIENT}SparkSingleFileSortPlanStrategy",),
            summary="each file slice alone: one file in, one file out",
        ),
        Registration(
            "copy",
            f"{_MODULE}.copy:AsTheyCome.from_settings",
            (f"{_CLIENT}SparkStreamCopyClusteringPlanStrategy",),
            (SORT_BY,),
            "by size, to be put together without sorting",
        ),
        Registration(
            "key_range",
            f"{_MODULE}.by_key_range:ByKeyRange.from_settings",
            summary="neighbours by their record keys",
        ),
        Registration(
            "commit_time",
            f"{_MODULE}.by_commit_time:ByCommitTime.from_settings",
            ("org.apache.hudi.table.action.cluster.strategy.CommitBasedClusteringPlanStrategy",),
            summary="neighbours by the time when they were written",
        ),
        Registration(
            "overlap",
            f"{_MODULE}.by_overlap:ByOverlap.from_settings",
            summary="file slices whose values of the sort columns overlap",
        ),
        Registration(
            "random",
            f"{_MODULE}.at_random:AtRandom.from_settings",
            options=(SEED,),
            summary="any file slices together",
        ),
    ]
