"""Options of compaction, cleaning and archiving."""

from __future__ import annotations

from hoodoo.options.kinds import FLAG, Duration, PluginName, Size, Whole
from hoodoo.options.option import Option

# --- compaction -------------------------------------------------------------------------------
COMPACTION = Option(
    "hoodie.compaction.strategy",
    "The compaction strategy: which file groups are compacted.",
    "log_size",
    kind=PluginName("compaction"),
)
COMPACT_INLINE = Option(
    "hoodie.compact.inline",
    "Compact after a write, if there have been enough deltacommits since the last compaction.",
    "false",
    kind=FLAG,
)
COMPACT_EVERY = Option(
    "hoodie.compact.inline.max.delta.commits",
    "Deltacommits after which an inline compaction is due.",
    "5",
    kind=Whole(1),
)
LOG_COMPACT_INLINE = Option(
    "hoodie.log.compaction.inline",
    "Merge log blocks after a write, if enough writes came since they were merged.",
    "false",
    kind=FLAG,
)
LOG_BLOCKS = Option(
    "hoodie.log.compaction.blocks.threshold",
    "Log blocks of a file slice, at least 2, from which on they are merged; inline, also the "
    "writes since the last time.",
    "5",
    kind=Whole(1),
)

# --- cleaning ---------------------------------------------------------------------------------
CLEAN_INLINE = Option("hoodie.clean.automatic", "Clean after a write.", "true", kind=FLAG)
CLEAN_POLICY = Option(
    "hoodie.clean.policy",
    "The cleaning policy: which files stay.",
    "by_commits",
    kind=PluginName("cleaning"),
    older=("hoodie.cleaner.policy",),
)
CLEAN_EVERY = Option(
    "hoodie.clean.trigger.max.commits",
    "Writes since the last clean after which an inline clean is due.",
    "1",
    kind=Whole(1),
    older=("hoodie.clean.max.commits",),
)
CLEAN_INCREMENTAL = Option(
    "hoodie.clean.incremental.enabled",
    "A clean looks only where writes have been since the last one; false: everywhere.",
    "true",
    kind=FLAG,
    older=("hoodie.cleaner.incremental.mode",),
)
CLEAN_THREADS = Option(
    "hoodie.clean.parallelism",
    "Files that a clean deletes at the same time.",
    "32",
    kind=Whole(1),
    older=("hoodie.cleaner.parallelism",),
)
CLEAN_WINDOW = Option(
    "hoodoo.clean.reader.window",
    "Hours that the longest read may take: files that were the newest within them stay.",
    "0",
    kind=Duration("h", whole=False),
)

# --- archiving --------------------------------------------------------------------------------
ARCHIVE_INLINE = Option(
    "hoodie.archive.automatic", "Archive after a write, if it is due.", "true", kind=FLAG
)
ARCHIVE_MOST = Option(
    "hoodie.keep.max.commits",
    "With more completed writes on the active timeline, archiving begins. Greater than "
    "hoodie.keep.min.commits.",
    "30",
    kind=Whole(1),
)
ARCHIVE_LEAST = Option(
    "hoodie.keep.min.commits",
    "How many writes archiving leaves on the active timeline.",
    "20",
    kind=Whole(1),
)
ARCHIVE_BATCH = Option(
    "hoodie.commits.archival.batch",
    "Entries of one block of an archive file (table version 6).",
    "10",
    kind=Whole(1),
)
HISTORY_FILES = Option(
    "hoodie.timeline.compaction.batch.size",
    "How many files of a level of the archived timeline are merged into one.",
    "10",
    kind=Whole(2),
)
HISTORY_BYTES = Option(
    "hoodie.timeline.compaction.target.file.max.bytes",
    "Files of the archived timeline are not merged where they have more bytes together.",
    str(1000 << 20),
    kind=Size(1),
)
HISTORY_VERSIONS = Option(
    "hoodie.timeline.manifest.retained.versions",
    "How many versions of the archived timeline stay for its readers.",
    "3",
    kind=Whole(1),
)

# --- strategies and policies --------------------------------------------------------------------
TARGET_IO = Option(
    "hoodie.compaction.target.io",
    "About how many MB one compaction reads and writes.",
    "512000",
    kind=Size(1, unit="m"),
)
LOG_SIZE = Option(
    "hoodie.compaction.logfile.size.threshold",
    "A file group is compacted when its log files have at least so many bytes.",
    "0",
    kind=Size(),
)
LOG_COUNT = Option(
    "hoodie.compaction.logfile.num.threshold",
    "A file group is compacted when it has at least so many log files.",
    "0",
    kind=Whole(0),
)
DAYS = Option(
    "hoodie.compaction.daybased.target.partitions",
    "Newest partition paths that are compacted.",
    "10",
    kind=Whole(1),
)

COMMITS_RETAINED = Option(
    "hoodie.clean.commits.retained",
    "Number of newest writes whose files by_commits does not delete.",
    "10",
    kind=Whole(1),
    older=("hoodie.cleaner.commits.retained",),
)
VERSIONS_RETAINED = Option(
    "hoodie.clean.fileversions.retained",
    "Number of slices of a file group that by_versions does not delete.",
    "3",
    kind=Whole(1),
    older=("hoodie.cleaner.fileversions.retained",),
)
HOURS_RETAINED = Option(
    "hoodie.clean.hours.retained",
    "Hours; by_hours does not delete files of writes of these last hours.",
    "24",
    kind=Duration("h", whole=False),
    older=("hoodie.cleaner.hours.retained",),
)

COMPACTION_OPTIONS = (COMPACTION, COMPACT_INLINE, COMPACT_EVERY)
LOG_COMPACTION_OPTIONS = (LOG_COMPACT_INLINE, LOG_BLOCKS)
CLEAN_OPTIONS: tuple[Option, ...] = (
    CLEAN_INLINE,
    CLEAN_POLICY,
    CLEAN_EVERY,
    CLEAN_INCREMENTAL,
    CLEAN_THREADS,
    CLEAN_WINDOW,
)
ARCHIVE_OPTIONS: tuple[Option, ...] = (
    ARCHIVE_INLINE,
    ARCHIVE_MOST,
    ARCHIVE_LEAST,
    ARCHIVE_BATCH,
    HISTORY_FILES,
    HISTORY_BYTES,
    HISTORY_VERSIONS,
)
