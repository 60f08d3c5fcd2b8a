"""Options that core reads itself, declared the way plugins declare theirs.

Options of what core registers (the base file format, the local engine) stand with the registrations.
"""

from __future__ import annotations

from hoodoo.hookspecs import Option

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
    Option("hoodoo.layout", "The layout that finds places for inserts.", default="small_file"),
    Option(
        "hoodoo.naive.timestamps",
        "How timestamps without a zone are read: UTC. Refused if not set.",
    ),
)
