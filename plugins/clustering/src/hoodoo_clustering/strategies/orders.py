"""The ways to order the rows of a clustered group, as the hook returns them. Factories are named,
not imported."""

from __future__ import annotations

from hoodoo.hookspecs.registration import Option, Registration
from hoodoo.options import Choice, Whole

_MODULE = "hoodoo_clustering.strategies"
_RUN = "org.apache.hudi.client.clustering.run.strategy."
METHOD = Option(
    "hoodie.layout.optimize.curve.build.method",
    "What a curve uses: SAMPLE, how the values of a sample are spread; DIRECT, the bits of the "
    "values (Hudi's default).",
    "SAMPLE",
    kind=Choice("SAMPLE", "DIRECT"),
)
SAMPLE = Option(
    "hoodie.layout.optimize.build.curve.sample.size",
    "How many rows of a group are looked at to learn how values are spread, at most.",
    "200000",
    kind=Whole(1),
)


def orders() -> list[Registration]:
    """For the hook ``hoodoo_clusterings``."""
    return [
        Registration(
            "linear",
            f"{_MODULE}.linear:by_layout",
            (
                f"{_RUN}SparkSortAndSizeExecutionStrategy",
                f"{_RUN}SingleSparkJobSortAndSizeExecutionStrategy",
                f"{_RUN}JavaSortAndSizeExecutionStrategy",
            ),
            (METHOD, SAMPLE),
            "sorted by the sort columns, or along the curve that the layout names",
        ),
        Registration(
            "zorder",
            f"{_MODULE}.zorder:ZOrder.from_settings",
            ("z-order",),
            (METHOD, SAMPLE),
            "along the Z-order curve through the sort columns",
        ),
        Registration(
            "hilbert",
            f"{_MODULE}.hilbert:Hilbert.from_settings",
            (),
            (METHOD, SAMPLE),
            "along Hilbert's curve through the sort columns",
        ),
        Registration(
            "single_file",
            f"{_MODULE}.single_file:SingleFile.from_settings",
            (f"{_RUN}SparkSingleFileSortExecutionStrategy",),
            (METHOD, SAMPLE),
            "as linear; each group becomes one file, whatever its size",
        ),
        Registration(
            "combine",
            f"{_MODULE}.combine:Combine.from_settings",
            (
                f"{_RUN}SparkBinaryCopyClusteringExecutionStrategy",
                f"{_RUN}SparkStreamCopyClusteringExecutionStrategy",
            ),
            summary="in the order in which rows come",
        ),
    ]
