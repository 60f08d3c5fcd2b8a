"""The options of services that run by themselves."""

from __future__ import annotations

from hoodoo.options import FLAG, NAMES, Duration, Option, Whole

POLICIES = Option(
    "hoodoo.services.policies",
    "What a process that looks after a table does, and when that is due: policies, in any order.",
    "pending_plans,following",
    kind=NAMES,
)
RENEW = Option(
    "hoodoo.services.renew",
    "Seconds between two signs of life of the process that leads.",
    "2",
    kind=Duration("s", 0.05, whole=False),
)
VALIDITY = Option(
    "hoodoo.services.validity",
    "Seconds without a sign of life after which another process leads.",
    "8",
    kind=Duration("s", 0.1, whole=False),
)
# The switches of Hudi for services beside a writer, in a thread of its process.
ASYNC_CLUSTERING = Option(
    "hoodie.clustering.async.enabled",
    "Cluster in a thread beside the writer, after writes.",
    "false",
    kind=FLAG,
    aliases=("hoodie.datasource.clustering.async.enable",),
)
ASYNC_CLUSTERING_EVERY = Option(
    "hoodie.clustering.async.max.commits",
    "Writes after which a clustering beside the writer, or by hoodoo serve, is due.",
    "4",
    kind=Whole(1),
)
ASYNC_COMPACTION = Option(
    "hoodie.datasource.compaction.async.enable",
    "Compact in a thread beside the writer, after writes.",
    "false",
    kind=FLAG,
)
ASYNC_CLEANING = Option(
    "hoodie.clean.async.enabled",
    "Clean in a thread beside the writer, after writes, which do not wait for it.",
    "false",
    kind=FLAG,
    older=("hoodie.clean.async",),
)
ASYNC_ARCHIVING = Option(
    "hoodie.archive.async",
    "Archive in a thread beside the writer, after writes, which do not wait for it.",
    "false",
    kind=FLAG,
)
OPTIONS = (POLICIES, RENEW, VALIDITY)
ASYNC_OPTIONS = (
    ASYNC_CLUSTERING,
    ASYNC_CLUSTERING_EVERY,
    ASYNC_COMPACTION,
    ASYNC_CLEANING,
    ASYNC_ARCHIVING,
)
