"""Options of clustering: Hudi's names and defaults (``HoodieClusteringConfig`` of Hudi 1.2.0), and some of
Hoodoo's own.
"""

from __future__ import annotations

from hoodoo.hookspecs.registration import Option

_STRATEGY = "hoodie.clustering.plan.strategy."
PLAN_CLASS = f"{_STRATEGY}class"
SMALL = f"{_STRATEGY}small.file.limit"
TARGET = f"{_STRATEGY}target.file.max.bytes"
GROUP = f"{_STRATEGY}max.bytes.per.group"
GROUPS = f"{_STRATEGY}max.num.groups"
SORT_COLUMNS = f"{_STRATEGY}sort.columns"
LOOKBACK = f"{_STRATEGY}daybased.lookback.partitions"
SKIP = f"{_STRATEGY}daybased.skipfromlatest.partitions"
PATTERN = f"{_STRATEGY}partition.regex.pattern"
SELECTED = f"{_STRATEGY}partition.selected"
BEGIN = f"{_STRATEGY}cluster.begin.partition"
END = f"{_STRATEGY}cluster.end.partition"
EARLIEST = f"{_STRATEGY}earliest.commit.to.cluster"
SINGLE = f"{_STRATEGY}single.group.clustering.enabled"
FILTER = "hoodie.clustering.plan.partition.filter.mode"
LAYOUT = "hoodie.layout.optimize.strategy"
INCREMENTAL = "hoodie.table.services.incremental.enabled"
ORDER = "hoodoo.clustering.partitions.order"
WITH_LOGS = "hoodoo.clustering.with.log.files"

EXECUTION = "hoodie.clustering.execution.strategy.class"
UPDATES = "hoodie.clustering.updates.strategy"
UNDONE = "hoodie.clustering.rollback.pending.replacecommit.on.conflict"
INLINE = "hoodie.clustering.inline"
EVERY = "hoodie.clustering.inline.max.commits"
SCHEDULED = "hoodie.clustering.schedule.inline"
MEMORY = "hoodoo.clustering.memory"

_MIB = 1 << 20
DEFAULT_SMALL, DEFAULT_TARGET, DEFAULT_GROUP = 300 * _MIB, 1024 * _MIB, 2048 * _MIB
DEFAULT_MEMORY = 256 * _MIB

CLUSTERING_OPTIONS: tuple[Option, ...] = (
    Option(SMALL, "Base files of so many bytes or more are not clustered.", str(DEFAULT_SMALL)),
    Option(TARGET, "Bytes of the files that a clustering makes.", str(DEFAULT_TARGET)),
    Option(GROUP, "Bytes that a group of a clustering reads at most.", str(DEFAULT_GROUP)),
    Option(GROUPS, "Groups that a plan of a clustering has at most.", "30"),
    Option(SORT_COLUMNS, "The columns by which a clustering orders rows, with commas between."),
    Option(
        LAYOUT,
        "How a clustering orders rows: LINEAR, or along a curve: ZORDER or HILBERT.",
        "LINEAR",
    ),
    Option(
        FILTER,
        "The partitions that a clustering looks at: NONE (all), RECENT_DAYS, SELECTED_PARTITIONS (a range) "
        "or DAY_ROLLING (each at an hour of the day).",
        "NONE",
    ),
    Option(LOOKBACK, "With RECENT_DAYS: so many of the last partitions; 0: all.", "2"),
    Option(SKIP, "With RECENT_DAYS: so many of the very last partitions are left out.", "0"),
    Option(PATTERN, "Only partitions whose whole path matches this expression are clustered."),
    Option(SELECTED, "Only these partitions, with commas between, are clustered."),
    Option(BEGIN, "With SELECTED_PARTITIONS: the first partition path, as text compares."),
    Option(END, "With SELECTED_PARTITIONS: the last partition path, as text compares."),
    Option(EARLIEST, "File slices of this instant and before are not clustered."),
    Option(SINGLE, "A single file slice may make a group.", "true"),
    Option(
        INCREMENTAL,
        "Only partitions that changed since the last plan of a clustering are looked at; false: all.",
        "true",
    ),
    Option(ORDER, "The partitions that are clustered first: oldest or latest.", "oldest"),
    Option(WITH_LOGS, "File groups that have log files are clustered too.", "false"),
    Option(PLAN_CLASS, "The planner of clusterings: what groups their files.", "size"),
    Option(EXECUTION, "What orders the rows of a clustering; linear where columns are named."),
    Option(UPDATES, "What becomes of writes that meet a planned clustering.", "reject"),
    Option(UNDONE, "A write that may go first undoes the plan that it meets.", "false"),
    Option(INLINE, "Cluster after writes.", "false"),
    Option(EVERY, "After so many writes.", "4"),
    Option(SCHEDULED, "Only plan then; another process runs it.", "false"),
    Option(MEMORY, "Bytes of rows that the sort of one group holds.", str(DEFAULT_MEMORY)),
)
