"""Options that core reads itself, declared the way plugins declare theirs.

Options of what core registers (the base file format, the local engine) stand with the registrations.
"""

from __future__ import annotations

from hoodoo.hookspecs import Option
from hoodoo.kernel.clustering_options import CLUSTERING_OPTIONS

# No defaults where a table that does not say is inferred from its other properties.
CORE_OPTIONS: tuple[Option, ...] = (
    Option("hoodie.database.name", "The database of the table.", table_property=True),
    Option(
        "hoodie.table.base.file.format",
        "The format of base files.",
        default="PARQUET",
        table_property=True,
    ),
    Option(
        "hoodie.datasource.write.hive_style_partitioning",
        "Partition directories are named column=value.",
        default="false",
        table_property=True,
    ),
    Option(
        "hoodie.datasource.write.partitionpath.urlencode",
        "Partition directories are URL-encoded.",
        default="false",
        table_property=True,
    ),
    Option(
        "hoodie.combine.before.insert",
        "bulk_insert and append merge the duplicate keys of a batch.",
        default="false",
    ),
    Option("hoodie.record.merge.mode", "How rows of one key are merged.", table_property=True),
    Option("hoodie.record.merge.strategy.id", "The id of a custom merger.", table_property=True),
    Option(
        "hoodie.table.cdc.enabled",
        "Rewrites of base files leave change data logs, as Spark Hudi's change query asks.",
        default="false",
        table_property=True,
    ),
    Option(
        "hoodie.table.cdc.supplemental.logging.mode",
        "What these logs hold: OP_KEY_ONLY, DATA_BEFORE or DATA_BEFORE_AFTER, the default.",
        table_property=True,
    ),
    Option(
        "hoodie.metadata.enable",
        "The table has a metadata table. When a table is created: true makes one; later, false removes it.",
    ),
    Option(
        "hoodie.metadata.global.record.level.index.enable",
        "A new table gets a record index in its metadata table.",
        default="false",
    ),
    Option(
        "hoodie.metadata.index.column.stats.enable",
        "The metadata table of a new table holds ranges of columns, of files and of partitions.",
        default="true",
    ),
    Option(
        "hoodie.metadata.index.column.stats.column.list",
        "The columns whose ranges are kept; by default the first ones of a plain type.",
    ),
    Option(
        "hoodie.metadata.index.column.stats.max.columns.to.index",
        "Of how many columns ranges are kept, where they are not named.",
        default="32",
    ),
    Option("hoodie.metadata.record.index.enable", "The older name of the option above."),
    Option(
        "hoodie.metadata.global.record.level.index.min.filegroup.count",
        "File groups that a record index gets at least.",
        default="10",
    ),
    Option(
        "hoodie.metadata.global.record.level.index.max.filegroup.count",
        "File groups that a record index gets at most.",
        default="10000",
    ),
    Option(
        "hoodie.metadata.record.level.index.enable",
        "A new table gets a partitioned record index: a key may lie once in each partition path.",
        default="false",
    ),
    Option(
        "hoodie.metadata.record.level.index.min.filegroup.count",
        "File groups that a partitioned record index gets at least for each partition path.",
        default="1",
    ),
    Option(
        "hoodie.metadata.record.level.index.max.filegroup.count",
        "File groups that a partitioned record index gets at most for each partition path.",
        default="10",
    ),
    Option(
        "hoodie.metadata.record.index.min.filegroup.count", "The older name of the option above it."
    ),
    Option(
        "hoodie.metadata.record.index.max.filegroup.count", "The older name of the option above it."
    ),
    Option(
        "hoodie.metadata.record.index.growth.factor",
        "How many times its rows a table may come to have: for the number of file groups.",
        default="2.0",
    ),
    Option(
        "hoodie.metadata.record.index.max.filegroup.size",
        "Bytes that a file group of a record index may reach: for their number.",
        default="1073741824",
    ),
    Option(
        "hoodie.metadata.compact.max.delta.commits",
        "After so many commits a write compacts the metadata table.",
        default="10",
    ),
    Option("hoodie.index.type", "The index that finds the file group of a key."),
    Option(
        "hoodie.datasource.insert.dup.policy",
        "What insert does with keys that the table has: none (insert them again), drop or fail.",
        default="none",
    ),
    Option(
        "hoodie.logfile.data.block.format",
        "The blocks that log files are written with, parquet or avro; both are always read. By default "
        "parquet, but avro where an ordering column is text.",
    ),
    Option(
        "hoodie.compaction.strategy",
        "The compaction strategy: which file groups are compacted.",
        default="log_size",
    ),
    Option("hoodie.compact.inline", "Compact after a write, every so often.", default="false"),
    Option(
        "hoodie.compact.inline.max.delta.commits",
        "Deltacommits after which an inline compaction is due.",
        default="5",
    ),
    Option("hoodie.clean.automatic", "Clean after a write.", default="true"),
    Option("hoodie.clean.policy", "The cleaning policy: which files stay.", default="by_commits"),
    Option("hoodie.cleaner.policy", "The old name of hoodie.clean.policy."),
    Option(
        "hoodie.clean.trigger.max.commits",
        "Writes since the last clean after which an inline clean is due.",
        default="1",
    ),
    Option("hoodie.clean.max.commits", "The old name of hoodie.clean.trigger.max.commits."),
    Option(
        "hoodie.clean.incremental.enabled",
        "A clean looks only where writes have been since the last one; false: everywhere.",
        default="true",
    ),
    Option("hoodie.cleaner.incremental.mode", "The old name of hoodie.clean.incremental.enabled."),
    Option(
        "hoodie.clean.parallelism", "Files that a clean deletes at the same time.", default="32"
    ),
    Option("hoodie.cleaner.parallelism", "The old name of hoodie.clean.parallelism."),
    Option(
        "hoodoo.clean.reader.window",
        "Hours that the longest read may take: files that were the newest within them stay.",
        default="0",
    ),
    Option(
        "hoodie.write.lock.provider",
        "The lock under which decisions about the table are made. By default none: needed beside other "
        "engines only.",
    ),
    Option(
        "hoodie.write.lock.wait_time_ms",
        "Milliseconds that a writer waits for the lock.",
        default="60000",
    ),
    Option(
        "hoodie.write.num.retries.on.conflict.failures",
        "How often a write is repeated that lost to another writer.",
        default="20",
    ),
    Option(
        "hoodie.write.concurrency.mode",
        "Several writers are always safe. With NON_BLOCKING_CONCURRENCY_CONTROL log files of two of them "
        "may stand in one file group, as by the conflict strategy log_appends.",
        default="OPTIMISTIC_CONCURRENCY_CONTROL",
    ),
    Option(
        "hoodie.write.lock.conflict.resolution.strategy",
        "What counts as a conflict between two writes.",
        default="file_groups",
    ),
    Option("hoodoo.layout", "The layout that finds places for inserts.", default="small_file"),
    Option(
        "hoodoo.naive.timestamps",
        "How timestamps without a zone are read: UTC. Refused if not set.",
    ),
    Option("hoodie.archive.automatic", "Archive after a write, where it is due.", default="true"),
    Option(
        "hoodie.keep.max.commits",
        "With more completed writes on the active timeline, archiving begins.",
        default="30",
    ),
    Option("hoodie.keep.min.commits", "So many writes archiving leaves.", default="20"),
    Option(
        "hoodie.commits.archival.batch",
        "Entries of one block of an archive file (table version 6).",
        default="10",
    ),
    Option(
        "hoodie.timeline.compaction.batch.size",
        "So many files of a level of the archived timeline become one.",
        default="10",
    ),
    Option(
        "hoodie.timeline.compaction.target.file.max.bytes",
        "Files of the archived timeline of more bytes together are not merged.",
        default="1048576000",
    ),
    Option(
        "hoodie.timeline.manifest.retained.versions",
        "So many versions of the archived timeline stay for its readers.",
        default="3",
    ),
    *CLUSTERING_OPTIONS,
)
