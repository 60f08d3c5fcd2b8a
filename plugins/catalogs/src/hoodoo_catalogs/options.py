"""The options of catalogs: Hudi's own of its sync tools, and what only Hoodoo has."""

from __future__ import annotations

from hoodoo.hookspecs.registration import Option
from hoodoo.options import COLUMNS, FLAG, NAMES, Choice, Duration, Names, Whole

_HIVE = "hoodie.datasource.hive_sync."
_META = "hoodie.datasource.meta.sync."

# Set by whoever opens a catalog; not an option of users.
URI = Option("hoodoo.catalog.uri", "The absolute URI of the catalog that is opened.")

CATALOGS = Option(
    "hoodoo.catalogs",
    "Catalogs that have the table and are updated after each commit, separated by commas: a "
    "folder or bucket, "
    "glue://database.table, hms://host:port/database.table. A table notes those that it is "
    "created with.",
    kind=NAMES,
)
WAIT = Option(
    "hoodoo.catalogs.wait",
    "How long a commit waits for its catalogs at most; then the update goes on in the "
    "background, or is repeated "
    "after the next commit.",
    "10",
    kind=Duration("s", whole=False),
)
# --- Hudi's ---------------------------------------------------------------------------------------
ENABLED = Option(
    f"{_META}enable",
    "The sync tools in hoodie.meta.sync.client.tool.class run after each commit.",
    "false",
    kind=FLAG,
)
HIVE_ENABLED = Option(
    f"{_HIVE}enable",
    "The table is in the Hive Metastore of hoodie.datasource.hive_sync.metastore.uris, and is "
    "updated after each "
    "commit.",
    "false",
    kind=FLAG,
)
TOOLS = Option(
    "hoodie.meta.sync.client.tool.class",
    "Hudi's sync tools, separated by commas: HiveSyncTool (the Hive Metastore), "
    "AwsGlueCatalogSyncTool (AWS Glue).",
    "org.apache.hudi.hive.HiveSyncTool",
    kind=Names(least=1),
)
METASTORE = Option(
    f"{_HIVE}metastore.uris",
    "The Hive Metastore, as thrift://host:port.",
    "thrift://localhost:9083",
)
MODE = Option(
    f"{_HIVE}mode",
    "How Hudi talks to Hive. Hoodoo speaks to the metastore (hms) only.",
    "hms",
    kind=Choice("hms"),
)
DATABASE = Option(f"{_HIVE}database", "The database of the table in catalogs.", "default")
TABLE = Option(f"{_HIVE}table", "The name of the table in catalogs; by default its own name.")
KEYS = Option(
    f"{_HIVE}partition_fields",
    "The partition columns of the table in catalogs; by default its own.",
    kind=COLUMNS,
)
EXTRACTOR = Option(
    f"{_HIVE}partition_extractor_class",
    "Hudi's class that makes the values of partition columns from a partition path; by default "
    "from the number of "
    "columns.",
)
TIMESTAMPS = Option(
    f"{_HIVE}support_timestamp",
    "Timestamps have Hive's type timestamp, not bigint.",
    "false",
    kind=FLAG,
)
OMIT_META = Option(
    f"{_HIVE}omit_metadata_fields", "The _hoodie_* columns are left out.", "false", kind=FLAG
)
COMMENTS = Option(
    f"{_HIVE}sync_comment", "Comments of columns are stored in catalogs.", "false", kind=FLAG
)
STRATEGY = Option(
    f"{_HIVE}table.strategy",
    "The entries of a merge-on-read table: ALL (t_ro, t_rt and t), RO or RT (t alone).",
    "ALL",
    kind=Choice("ALL", "RO", "RT"),
)
SKIP_RO = Option(
    f"{_HIVE}skip_ro_suffix",
    "The read-optimized entry of a merge-on-read table is t, not t_ro.",
    "false",
    kind=FLAG,
)
SNAPSHOT_NAME = Option(
    "hoodie.meta.sync.sync_snapshot_with_table_name",
    "A merge-on-read table has an entry of its own name, for snapshot queries.",
    "true",
    kind=FLAG,
)
AS_SOURCE = Option(
    f"{_HIVE}sync_as_datasource",
    "Entries have what Spark SQL needs to read the table as Hudi's data source.",
    "true",
    kind=FLAG,
)
SCHEMA_LENGTH = Option(
    f"{_HIVE}schema_string_length_thresh",
    "Characters of each part of the schema for Spark.",
    "4000",
    kind=Whole(1),
)
CREATE_DATABASE = Option(
    f"{_HIVE}auto_create_database", "A database that is missing is created.", "true", kind=FLAG
)
MANAGED = Option(
    f"{_HIVE}create_managed_table",
    "Hive owns the files: dropping the table there deletes them.",
    "false",
    kind=FLAG,
)
BATCH = Option(
    f"{_HIVE}batch_num", "Partitions in one call of the Hive Metastore.", "1000", kind=Whole(1)
)
TABLE_PROPERTIES = Option(
    f"{_HIVE}table_properties", "More parameters of the entry, one key=value on each line."
)
SERDE_PROPERTIES = Option(
    f"{_HIVE}serde_properties", "More parameters of the entry's serde, one key=value on each line."
)
CONDITIONAL = Option(
    "hoodie.datasource.meta_sync.condition.sync",
    "A commit that changes neither columns nor partitions does not update catalogs.",
    "false",
    kind=FLAG,
)
DECODE = Option(
    "hoodie.meta.sync.decode_partition", "Partition paths are URL-decoded.", "false", kind=FLAG
)
GLUE_LISTING = Option(
    f"{_META}glue.metadata_file_listing",
    "Athena lists files by the metadata table.",
    "false",
    kind=FLAG,
)
GLUE_ARCHIVE = Option(
    f"{_META}glue.skip_table_archive",
    "Updates make no new version of the table in AWS Glue.",
    "true",
    kind=FLAG,
)

OPTIONS = (
    CATALOGS,
    WAIT,
    ENABLED,
    HIVE_ENABLED,
    TOOLS,
    METASTORE,
    MODE,
    DATABASE,
    TABLE,
    KEYS,
    EXTRACTOR,
    TIMESTAMPS,
    OMIT_META,
    COMMENTS,
    STRATEGY,
    SKIP_RO,
    SNAPSHOT_NAME,
    AS_SOURCE,
    SCHEMA_LENGTH,
    CONDITIONAL,
    DECODE,
    TABLE_PROPERTIES,
    SERDE_PROPERTIES,
)
HIVE_OPTIONS = (URI, CREATE_DATABASE, MANAGED, BATCH, SERDE_PROPERTIES)
GLUE_OPTIONS = (URI, CREATE_DATABASE, GLUE_LISTING, GLUE_ARCHIVE)
