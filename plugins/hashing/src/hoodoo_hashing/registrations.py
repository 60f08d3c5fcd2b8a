"""What hoodoo-hashing offers: the index, what plans and runs the resizing of its buckets, and what
keeps its rings."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration
from hoodoo.hookspecs.clustering_updates import DOUBLES
from hoodoo_clustering.hookspecs.clustering import RESIZES
from hoodoo_standard.options import BUCKETS, HASH_FIELD, LEAST_BUCKETS, MAX_FILE_SIZE, MOST_BUCKETS

from hoodoo_hashing.options import RESIZING

_INDEX = "org.apache.hudi.index.bucket."
_CLIENT = "org.apache.hudi.client.clustering."


@hookimpl
def hoodoo_indexes() -> Iterable[Registration]:
    return [
        Registration(
            "consistent_bucket",
            "hoodoo_hashing.index:ConsistentIndex.from_settings",
            (f"{_INDEX}HoodieSparkConsistentBucketIndex", f"{_INDEX}HoodieConsistentBucketIndex"),
            (BUCKETS, HASH_FIELD, LEAST_BUCKETS, MOST_BUCKETS),
            "as bucket, with buckets that a clustering splits and merges",
        )
    ]


@hookimpl
def hoodoo_participants() -> Iterable[Registration]:
    return [
        Registration(
            "hashing",
            "hoodoo_hashing.rings:HashingParticipant.from_settings",
            summary="keeps the rings of partition paths whose buckets are split and merged",
        )
    ]


@hookimpl(optionalhook=True)
def hoodoo_clustering_plans() -> Iterable[Registration]:
    return [
        Registration(
            "consistent_bucket",
            "hoodoo_hashing.planner:ResizeBuckets.from_settings",
            (f"{_CLIENT}plan.strategy.SparkConsistentBucketClusteringPlanStrategy",),
            (*RESIZING, LEAST_BUCKETS, MOST_BUCKETS, MAX_FILE_SIZE),
            "buckets of consistent hashing that became too large, and small neighbours",
            roles=(RESIZES,),
        )
    ]


@hookimpl(optionalhook=True)
def hoodoo_clusterings() -> Iterable[Registration]:
    return [
        Registration(
            "consistent_bucket",
            "hoodoo_hashing.order:IntoBuckets.from_settings",
            (
                f"{_CLIENT}run.strategy.SparkConsistentBucketClusteringExecutionStrategy",
                f"{_CLIENT}run.strategy.SingleSparkJobConsistentHashingExecutionStrategy",
            ),
            summary="into the buckets that the plan names, sorted by the sort columns",
        )
    ]


@hookimpl
def hoodoo_clustering_updates() -> Iterable[Registration]:
    return [
        Registration(
            "duplicate",
            "hoodoo_hashing.updates:Duplicate.from_settings",
            (f"{_CLIENT}update.strategy.SparkConsistentBucketDuplicateUpdateStrategy",),
            summary="rows go into the buckets before and after a resize",
            roles=(DOUBLES,),
        )
    ]
