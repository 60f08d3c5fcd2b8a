"""Options about the table as a whole. No defaults where a table that does not say is inferred from
its other properties."""

from __future__ import annotations

from hoodoo.options.kinds import FLAG, TEXT, Choice, PluginName
from hoodoo.options.option import Option

DATABASE = Option("hoodie.database.name", "The database of the table.", table_property=True)
BASE_FORMAT = Option(
    "hoodie.table.base.file.format",
    "The format of base files.",
    "PARQUET",
    table_property=True,
    kind=PluginName("file_format"),
)
# A property of tables whose base files have field ids: column paths and numbers, as JSON.
FIELD_IDS = "hoodoo.parquet.field.ids"
BOOTSTRAP_BASE = "hoodie.bootstrap.base.path"  # rows of base files may lie in files there
BACKUP_OF = "hoodoo.backup.of"  # a property of backups: the place of their table
LOG_FORMAT = Option(
    "hoodie.table.log.file.format",
    "The format of log files.",
    "HOODIE_LOG",
    table_property=True,
    kind=PluginName("log_format"),
)
HIVE_STYLE = Option(
    "hoodie.datasource.write.hive_style_partitioning",
    "Partition directories are named column=value.",
    "false",
    table_property=True,
    kind=FLAG,
)
URL_ENCODE = Option(
    "hoodie.datasource.write.partitionpath.urlencode",
    "Characters that are special in paths are written as %XX.",
    "false",
    table_property=True,
    kind=FLAG,
)
BY_ARRIVAL = "COMMIT_TIME_ORDERING"  # nothing but the time of the commit decides
BY_EVENT_TIME = "EVENT_TIME_ORDERING"
MERGE_MODES = (BY_ARRIVAL, BY_EVENT_TIME, "CUSTOM")
MERGE_MODE = Option(
    "hoodie.record.merge.mode",
    "How rows of one key are merged.",
    table_property=True,
    kind=Choice(*MERGE_MODES),
)
MERGE_STRATEGY = Option(
    "hoodie.record.merge.strategy.id", "The id of a custom merger.", table_property=True
)
INDEX_TYPE = Option(
    "hoodie.index.type", "The index that finds the file group of a key.", kind=PluginName("index")
)
# A property of tables of other engines, which Hoodoo reads; not an option of Hoodoo.
DROP_COLUMNS = Option(
    "hoodie.datasource.write.drop.partition.columns",
    "Base files lack the partition columns. Only tables of other engines have this.",
    "false",
    table_property=True,
    kind=FLAG,
)
INDEX_CLASS = Option(
    "hoodie.index.class",
    "The index, named by a Java class that a plugin declares as an alias. It is used instead of "
    "hoodie.index.type.",
    kind=PluginName("index"),
)
CDC = Option(
    "hoodie.table.cdc.enabled",
    "A write that rewrites base files also writes change data logs, which Spark Hudi's change "
    "queries need.",
    "false",
    table_property=True,
    kind=FLAG,
)
CDC_MODE = Option(
    "hoodie.table.cdc.supplemental.logging.mode",
    "What the change data logs contain; by default DATA_BEFORE_AFTER.",
    table_property=True,
    kind=Choice("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"),
)
NAIVE_TIMESTAMPS = Option(
    "hoodoo.naive.timestamps",
    "UTC: incoming timestamps without a time zone are UTC, but for columns that have no zone.",
    kind=Choice("UTC"),
)
NANOSECONDS = Option(
    "hoodoo.nanoseconds",
    "TRUNCATE: incoming timestamps lose digits that their column has no room for. Else an error.",
    kind=Choice("TRUNCATE"),
)
WIDEN_INTEGERS = Option(
    "hoodoo.schema.widen.integers",
    "true: an integer column becomes a floating-point column when floating-point values arrive, if "
    "no stored value loses digits. false: such values must be whole numbers. Key, partition and "
    "ordering columns never change.",
    "false",
    kind=FLAG,
)
ADD_COLUMNS = Option(
    "hoodie.datasource.write.reconcile.schema",
    "true: columns that rows have and the table lacks are added to it, and decimals get more "
    "digits (argument add_columns). false: such rows are refused. True, too, where the options "
    "name the table, as those of a Spark Hudi job do.",
    "false",
    kind=FLAG,
)
FILL_COLUMNS = Option(
    "hoodie.write.set.null.for.missing.columns",
    "true: columns that rows lack are null in them. false: such rows are refused. If not set: "
    "true; false where the options name the table, as those of a Spark Hudi job do, and do not "
    "reconcile schemas.",
    kind=FLAG,
)
# Said by who opens a store, to its factory; no option of users.
STORAGE_URI = Option("hoodoo.storage.uri", "The URI of the table's storage.", "", kind=TEXT)

TABLE_OPTIONS: tuple[Option, ...] = (
    DATABASE,
    BASE_FORMAT,
    LOG_FORMAT,
    HIVE_STYLE,
    URL_ENCODE,
    MERGE_MODE,
    MERGE_STRATEGY,
    INDEX_TYPE,
    INDEX_CLASS,
    CDC,
    CDC_MODE,
    NAIVE_TIMESTAMPS,
    NANOSECONDS,
    WIDEN_INTEGERS,
    ADD_COLUMNS,
    FILL_COLUMNS,
)
