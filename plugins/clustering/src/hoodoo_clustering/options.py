"""Options of clustering: Hudi's names and defaults (``HoodieClusteringConfig`` of Hudi 1.2.0), and
some of Hoodoo's own."""

from __future__ import annotations

from hoodoo.options.kinds import COLUMNS, FLAG, NAMES, Choice, Pattern, PluginName, Size, Whole
from hoodoo.options.option import Option

_STRATEGY = "hoodie.clustering.plan.strategy."
_MIB = 1 << 20

SMALL = Option(
    f"{_STRATEGY}small.file.limit",
    "Base files with this many bytes or more are not clustered. Where it is not given: no more "
    "than the target size.",
    str(300 * _MIB),
    kind=Size(),
)
TARGET = Option(
    f"{_STRATEGY}target.file.max.bytes",
    "Bytes of the files that a clustering makes.",
    str(1024 * _MIB),
    kind=Size(1),
)
GROUP = Option(
    f"{_STRATEGY}max.bytes.per.group",
    "Bytes that a group of a clustering reads at most.",
    str(2048 * _MIB),
    kind=Size(1),
)
GROUPS = Option(
    f"{_STRATEGY}max.num.groups",
    "Groups that a plan of a clustering has at most.",
    "30",
    kind=Whole(1),
)
SORT_COLUMNS = Option(
    f"{_STRATEGY}sort.columns", "The columns by which a clustering orders rows.", kind=COLUMNS
)
LAYOUT = Option(
    "hoodie.layout.optimize.strategy",
    "How a clustering orders rows: LINEAR, or along a curve: ZORDER or HILBERT.",
    "LINEAR",
    kind=Choice("LINEAR", "ZORDER", "HILBERT", **{"Z-ORDER": "ZORDER"}),
)
FILTER = Option(
    "hoodie.clustering.plan.partition.filter.mode",
    "The partitions that a clustering looks at: NONE (all), RECENT_DAYS, SELECTED_PARTITIONS (a "
    "range), "
    "DAY_ROLLING (each at an hour of the day), or a plugin's.",
    "NONE",
    kind=PluginName("partition_filter"),
)
LOOKBACK = Option(
    f"{_STRATEGY}daybased.lookback.partitions",
    "With RECENT_DAYS: so many of the last partitions; 0: all.",
    "2",
    kind=Whole(0),
)
SKIP = Option(
    f"{_STRATEGY}daybased.skipfromlatest.partitions",
    "With RECENT_DAYS: so many of the very last partitions are left out.",
    "0",
    kind=Whole(0),
)
PATTERN = Option(
    f"{_STRATEGY}partition.regex.pattern",
    "Only partitions whose whole path matches this expression are clustered.",
    kind=Pattern(),
)
SELECTED = Option(
    f"{_STRATEGY}partition.selected", "Only these partitions are clustered.", kind=NAMES
)
BEGIN = Option(
    f"{_STRATEGY}cluster.begin.partition",
    "With SELECTED_PARTITIONS: the first partition path, as text compares.",
)
END = Option(
    f"{_STRATEGY}cluster.end.partition",
    "With SELECTED_PARTITIONS: the last partition path, as text compares.",
)
EARLIEST = Option(
    f"{_STRATEGY}earliest.commit.to.cluster",
    "File slices of this instant and before are not clustered.",
)
SINGLE = Option(
    f"{_STRATEGY}single.group.clustering.enabled",
    "A single file slice may make a group.",
    "true",
    kind=FLAG,
)
INCREMENTAL = Option(
    "hoodie.table.services.incremental.enabled",
    "Only partitions that changed since the last plan of a clustering are looked at; false: all.",
    "true",
    kind=FLAG,
)
ORDER = Option(
    "hoodoo.clustering.partitions.order",
    "The partitions that are clustered first: oldest or latest.",
    "oldest",
    kind=Choice("oldest", "latest"),
)
WITH_LOGS = Option(
    "hoodoo.clustering.with.log.files",
    "File groups that have log files are clustered too.",
    "false",
    kind=FLAG,
)
PLANNER = Option(
    f"{_STRATEGY}class",
    "The planner of clusterings: what groups their files.",
    "size",
    kind=PluginName("clustering_plan"),
)
EXECUTION = Option(
    "hoodie.clustering.execution.strategy.class",
    "What orders the rows of a clustering; linear where columns are named.",
    kind=PluginName("clustering"),
)
INLINE = Option(
    "hoodie.clustering.inline",
    "Cluster after writes.",
    "false",
    kind=FLAG,
    aliases=("hoodie.datasource.clustering.inline.enable",),
)
EVERY = Option(
    "hoodie.clustering.inline.max.commits",
    "Writes after which an inline clustering is due.",
    "4",
    kind=Whole(1),
)
SCHEDULED = Option(
    "hoodie.clustering.schedule.inline",
    "Only plan after writes; another process runs it.",
    "false",
    kind=FLAG,
)
AT_ONCE = Option(
    "hoodie.clustering.max.parallelism",
    "Groups of a plan that are rewritten at the same time, at most; by default as many as the "
    "engine has tasks for.",
    kind=Whole(1),
)
MEMORY = Option(
    "hoodoo.clustering.memory",
    "Bytes of rows that the sort of one group holds; by default as many as a task may take "
    "(hoodoo.memory.bytes).",
    kind=Size(_MIB),
)

CLUSTERING_OPTIONS: tuple[Option, ...] = (
    SMALL,
    TARGET,
    GROUP,
    GROUPS,
    SORT_COLUMNS,
    LAYOUT,
    FILTER,
    PATTERN,
    SELECTED,
    EARLIEST,
    SINGLE,
    INCREMENTAL,
    ORDER,
    WITH_LOGS,
    PLANNER,
    EXECUTION,
    INLINE,
    EVERY,
    SCHEDULED,
    AT_ONCE,
    MEMORY,
)
