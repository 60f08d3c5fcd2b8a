"""What a new table is, as Hudi's writers say it: the options that mean the same as arguments of
``create``.

Source: ``DataSourceOptions``, ``HoodieTableConfig`` and ``HoodieWriteConfig`` of Hudi 1.2. Of an
existing table they are properties, and may be repeated; so they keep the names under which they are
given."""

from __future__ import annotations

from hoodoo.options.kinds import COLUMNS, Choice, PluginName, Text, Whole
from hoodoo.options.option import Option

_WRITE = "hoodie.datasource.write."

NAME = Option(
    "hoodie.table.name",
    "The name of the table (argument name).",
    table_property=True,
    kind=Text(empty=False),
    aliases=(f"{_WRITE}table.name",),
)
RECORD_KEY = Option(
    "hoodie.table.recordkey.fields",
    "The columns of the record key (argument record_key).",
    table_property=True,
    kind=COLUMNS,
    aliases=(f"{_WRITE}recordkey.field",),
)
PARTITIONS = Option(
    "hoodie.table.partition.fields",
    "The partition columns, with types (city:SIMPLE,ts:TIMESTAMP) where the key generator is "
    "CUSTOM "
    "(argument partition_by).",
    table_property=True,
    kind=COLUMNS,
    aliases=(f"{_WRITE}partitionpath.field",),
)
ORDERING = Option(
    "hoodie.table.ordering.fields",
    "The ordering columns (argument ordering).",
    table_property=True,
    kind=COLUMNS,
    aliases=(f"{_WRITE}precombine.field",),
    older=("hoodie.table.precombine.field",),
)
TABLE_TYPE = Option(
    "hoodie.table.type",
    "The type of the table (argument table_type).",
    "COPY_ON_WRITE",
    table_property=True,
    kind=Choice("COPY_ON_WRITE", "MERGE_ON_READ", cow="COPY_ON_WRITE", mor="MERGE_ON_READ"),
    aliases=(f"{_WRITE}table.type",),
    older=(f"{_WRITE}storage.type",),
)
VERSION = Option(
    "hoodie.table.version",
    "The version of the table (argument table_version).",
    "9",
    table_property=True,
    kind=Whole(1),
    aliases=("hoodie.write.table.version",),
)
KEY_GENERATOR = Option(
    "hoodie.table.keygenerator.type",
    "The key generator, by its type or its class (argument key_generator).",
    table_property=True,
    kind=PluginName("key_generator"),
    aliases=(
        f"{_WRITE}keygenerator.type",
        "hoodie.table.keygenerator.class",
        f"{_WRITE}keygenerator.class",
    ),
)
PAYLOAD = Option(
    "hoodie.compaction.payload.class",
    "The payload class of older releases, which says how rows are merged (argument merger).",
    table_property=True,
    kind=PluginName("merger"),
    aliases=(f"{_WRITE}payload.class", "hoodie.table.legacy.payload.class"),
)
WRITER_MODE = Option(
    "hoodie.write.record.merge.mode",
    "The merge mode, as writers say it.",
    kind=Choice("COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING", "CUSTOM"),
)
WRITER_STRATEGY = Option(
    "hoodie.write.record.merge.strategy.id", "The id of a custom merger, as writers say it."
)
WRITER_FORMAT = Option(
    "hoodie.base.file.format",
    "The format of base files, as writers say it.",
    kind=PluginName("file_format"),
)
OPERATION = Option(
    f"{_WRITE}operation",
    "What a Spark job does with its rows. No effect here: the method that is called says it.",
)

NEW_TABLE_OPTIONS: tuple[Option, ...] = (
    NAME,
    RECORD_KEY,
    PARTITIONS,
    ORDERING,
    TABLE_TYPE,
    VERSION,
    KEY_GENERATOR,
    PAYLOAD,
    WRITER_MODE,
    WRITER_STRATEGY,
    WRITER_FORMAT,
    OPERATION,
)
