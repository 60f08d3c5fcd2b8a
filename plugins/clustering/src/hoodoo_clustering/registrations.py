"""What hoodoo-clustering offers: the action, and what plans, orders and shields it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_clustering.options import CLUSTERING_OPTIONS
from hoodoo_clustering.strategies.filters import filters
from hoodoo_clustering.strategies.orders import orders
from hoodoo_clustering.strategies.planners import planners

_UPDATES = "org.apache.hudi.client.clustering.update.strategy."

_VERBS = (
    "cluster",
    "optimize",
    "schedule_clustering",
    "schedule_cluster",
    "run_clustering",
    "run_cluster",
    "cancel_clustering",
    "clusterings",
)


@hookimpl
def hoodoo_families() -> Mapping[str, str]:
    return {
        "clustering_plan": "hoodoo_clustering.hookspecs:PLANS",
        "clustering": "hoodoo_clustering.hookspecs:ORDERS",
        "partition_filter": "hoodoo_clustering.hookspecs:FILTERS",
    }


@hookimpl
def hoodoo_actions() -> Iterable[Registration]:
    return [
        Registration(
            "clustering",
            "hoodoo_clustering.action:ClusteringAction.from_settings",
            options=CLUSTERING_OPTIONS,
            summary="small files are rewritten as larger files with sorted rows",
            check="hoodoo_clustering.settings:check_options",
            verbs={name: f"hoodoo_clustering.verbs:{name}" for name in _VERBS},
        ),
        Registration(
            "resize_buckets",
            "hoodoo_clustering.resize:ResizeAction.from_settings",
            summary="partition paths of a table with a bucket index get other numbers of buckets",
            verbs={"resize_buckets": "hoodoo_clustering.verbs:resize_buckets"},
        ),
    ]


@hookimpl
def hoodoo_clustering_plans() -> Iterable[Registration]:
    return planners()


@hookimpl
def hoodoo_partition_filters() -> Iterable[Registration]:
    return filters()


@hookimpl
def hoodoo_clusterings() -> Iterable[Registration]:
    return orders()


@hookimpl
def hoodoo_clustering_updates() -> Iterable[Registration]:
    module = "hoodoo_clustering.strategies.updates"
    return [
        Registration(
            "reject",
            f"{module}:Reject.from_settings",
            (f"{_UPDATES}SparkRejectUpdateStrategy",),
            summary="writes to file groups that a clustering waits for are refused",
            default=True,
        ),
        Registration(
            "allow",
            f"{module}:Allow.from_settings",
            (f"{_UPDATES}SparkAllowUpdateStrategy",),
            summary="clusterings give way to writes",
        ),
    ]


@hookimpl
def hoodoo_reports() -> Iterable[Registration]:
    return [
        Registration(
            "layout",
            "hoodoo_clustering.layout.report:LayoutReporter.from_settings",
            summary="Which values of columns each file holds.",
        )
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "cluster",
            "hoodoo_clustering.commands.cluster:cluster",
            summary="Rewrite small files as larger files with sorted rows; no row changes.",
        ),
        Registration(
            "resize-buckets",
            "hoodoo_clustering.commands.resize:resize_buckets",
            summary="Give the partition paths of a table other numbers of buckets; no row changes.",
        ),
        Registration(
            "layout",
            "hoodoo_clustering.commands.layout:layout",
            summary="Show, or draw, how the values of columns are spread over the files of a "
            "table.",
        ),
    ]
