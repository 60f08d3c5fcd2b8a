"""The options, by Hudi's own names (HoodieTTLConfig)."""

from __future__ import annotations

from hoodoo.options import FLAG, NAMES, Choice, Option, Text, Whole

BY_TIME, BY_CREATION, BY_EVENT = "KEEP_BY_TIME", "KEEP_BY_CREATION_TIME", "KEEP_BY_EVENT_TIME"
_JAVA = "org.apache.hudi.table.action.ttl.strategy."
CLASSES = {
    f"{_JAVA}KeepByTimeStrategy": BY_TIME,
    f"{_JAVA}KeepByCreationTimeStrategy": BY_CREATION,
    f"{_JAVA}KeepByEventTimeStrategy": BY_EVENT,
}

INLINE = Option(
    "hoodie.partition.ttl.inline",
    "Drop partitions that are too old after each write.",
    "false",
    kind=FLAG,
    older=("hoodie.partition.ttl.automatic",),
)
STRATEGY = Option(
    "hoodie.partition.ttl.management.strategy.type",
    "What the age of a partition is counted from: its newest write, its first one, or the date in "
    "its path.",
    BY_TIME,
    kind=Choice(BY_TIME, BY_CREATION, BY_EVENT),
)
CLASS = Option(
    "hoodie.partition.ttl.strategy.class",
    "The same by Hudi's Java class; goes before the type.",
    kind=Choice(*CLASSES),
)
DAYS = Option(
    "hoodie.partition.ttl.strategy.days.retain",
    "Days after which a partition is too old; 0 or less: never.",
    "-1",
    kind=Whole(),
)
SELECTED = Option(
    "hoodie.partition.ttl.strategy.partition.selected",
    "The partition paths that may be dropped; all where nothing is said.",
    kind=NAMES,
)
MOST = Option(
    "hoodie.partition.ttl.strategy.max.delete.partitions",
    "So many partitions are dropped at once, the oldest first.",
    "1000",
    kind=Whole(1),
)
FORMAT = Option(
    "hoodie.partition.ttl.strategy.event.time.format",
    "How the path spells the date, of yyyy, MM, dd, HH, mm and what is no letter; a / means that "
    "it goes on in "
    "the next directory.",
    "yyyy-MM-dd",
    kind=Text(empty=False),
)
SEGMENT = Option(
    "hoodie.partition.ttl.strategy.event.time.segment.start.index",
    "Number of the directory that the date begins in, from 0.",
    "0",
    kind=Whole(0),
)
NULLS_TOO = Option(
    "hoodie.partition.ttl.strategy.event.time.delete.hive.default.partition",
    "Partitions of rows that have no date are too old, too.",
    "false",
    kind=FLAG,
)
ALL = (INLINE, STRATEGY, CLASS, DAYS, SELECTED, MOST, FORMAT, SEGMENT, NULLS_TOO)
