"""Options of the metadata table and its record indexes."""

from __future__ import annotations

from hoodoo.options.kinds import COLUMNS, FLAG, Choice, Names, Number, PluginName, Size, Whole
from hoodoo.options.option import Option

_GLOBAL = "hoodie.metadata.global.record.level.index."
_PATHS = "hoodie.metadata.record.level.index."
_OLDER = "hoodie.metadata.record.index."
_OLDER_PATHS = "hoodie.metadata.partitioned.record.index."

ENABLED = Option(
    "hoodie.metadata.enable",
    "The table has a metadata table. When a table is created: true makes one; later, false removes "
    "it.",
    kind=FLAG,
)
KEYS = Option(
    f"{_GLOBAL}enable",
    "A new table gets a record index in its metadata table.",
    "false",
    kind=FLAG,
    older=(f"{_OLDER}enable",),
)
KEYS_LEAST = Option(
    f"{_GLOBAL}min.filegroup.count",
    "File groups that a record index gets at least.",
    "10",
    kind=Whole(1),
    older=(f"{_OLDER}min.filegroup.count",),
)
KEYS_MOST = Option(
    f"{_GLOBAL}max.filegroup.count",
    "File groups that a record index gets at most.",
    "10000",
    kind=Whole(1),
    older=(f"{_OLDER}max.filegroup.count",),
)
PATH_KEYS = Option(
    f"{_PATHS}enable",
    "A new table gets a partitioned record index: a key may occur once in each partition path.",
    "false",
    kind=FLAG,
)
PATH_KEYS_LEAST = Option(
    f"{_PATHS}min.filegroup.count",
    "File groups that a partitioned record index gets at least for each partition path.",
    "1",
    kind=Whole(1),
    older=(f"{_OLDER_PATHS}min.filegroup.count",),
)
PATH_KEYS_MOST = Option(
    f"{_PATHS}max.filegroup.count",
    "File groups that a partitioned record index gets at most for each partition path.",
    "10",
    kind=Whole(1),
    older=(f"{_OLDER_PATHS}max.filegroup.count",),
)
KEYS_GROWTH = Option(
    f"{_OLDER}growth.factor",
    "How many times as many rows the table is expected to have later; decides the number of file "
    "groups.",
    "2",
    kind=Number(above=0),
)
KEYS_BYTES = Option(
    f"{_OLDER}max.filegroup.size",
    "Bytes that a file group of a record index may reach; decides the number of file groups.",
    str(1 << 30),
    kind=Size(1),
)
RANGES = Option(
    "hoodie.metadata.index.column.stats.enable",
    "The metadata table of a new table holds ranges of columns, of files and of partitions.",
    "true",
    kind=FLAG,
)
RANGE_COLUMNS = Option(
    "hoodie.metadata.index.column.stats.column.list",
    "The columns whose ranges are stored; by default the first columns of simple types.",
    kind=COLUMNS,
)
RANGES_MOST = Option(
    "hoodie.metadata.index.column.stats.max.columns.to.index",
    "The largest number of columns whose ranges are stored, if they are not named.",
    "32",
    kind=Whole(0),
)
FILTERS = Option(
    "hoodie.metadata.index.bloom.filter.enable",
    "The metadata table of a new table has the bloom filters of base files, which bloom indexes "
    "use.",
    "false",
    kind=FLAG,
)
FILTER_GROUPS = Option(
    "hoodie.metadata.index.bloom.filter.file.group.count",
    "File groups that the bloom filters of the metadata table get.",
    "4",
    kind=Whole(1),
)
DROPPED = Option(
    "hoodie.metadata.index.drop",
    "Partitions of the metadata table that are dropped before a write.",
    kind=Names(),
)
COMPACT_EVERY = Option(
    "hoodie.metadata.compact.max.delta.commits",
    "After so many commits a write compacts the metadata table.",
    "10",
    kind=Whole(1),
)

# --- the record indexes -------------------------------------------------------------------------
RECORD_MOVES = Option(
    "hoodie.record.index.update.partition.path",
    "With the record index: a key that arrives with another partition path moves there; false: it "
    "is "
    "updated where it is, and from then on readers don't leave out files by partition path.",
    "false",
    kind=FLAG,
)
CHOOSES = Option(
    "record.level.index.dynamically.choose.scan.vs.seek",
    "A lookup in an HFile seeks single keys or scans it all, by the share of its keys that is "
    "asked for; "
    "false: record.level.index.do.random.lookups says which.",
    "true",
    kind=FLAG,
)
SEEKS = Option(
    "record.level.index.do.random.lookups",
    "Where record.level.index.dynamically.choose.scan.vs.seek is false: true seeks single keys, "
    "false scans all.",
    "true",
    kind=FLAG,
)

# --- the growing record index: they decide where its entries lie --------------------------------
BUCKETS = Option(
    "hoodoo.index.buckets",
    "Buckets of a growing record index.",
    "10",
    table_property=True,
    kind=Whole(1),
)
BUCKET_CAP = Option(
    "hoodoo.index.bucket.cap",
    "Entries in a file group of a bucket, at which it is sealed and another one takes what comes.",
    "1000000",
    table_property=True,
    kind=Whole(1),
)
INDEX_HASH = Option(
    "hoodoo.index.hash",
    "The hash of record keys.",
    "java",
    table_property=True,
    kind=PluginName("index_hash"),
)

# The two ways of RFC-08 to go on when the first estimate is full.
FILE_GROUPS, BUCKET_GROUPS = "file_groups", "bucket_groups"
SCALING = Option(
    "hoodoo.index.scaling",
    "How a growing record index grows: file_groups, where a bucket that is full gets one more file "
    "group, or "
    "bucket_groups, where another hash leads into a new group of buckets once the newest one is "
    "loaded.",
    FILE_GROUPS,
    table_property=True,
    kind=Choice(FILE_GROUPS, BUCKET_GROUPS),
)
SCALING_FACTOR = Option(
    "hoodoo.index.scaling.factor",
    "With bucket_groups: how many times as many buckets a new group has as the one before.",
    "2",
    table_property=True,
    kind=Whole(1),
)
# A property of the table alone: how often the index was rebuilt with other buckets or another hash.
LAYOUT = "hoodoo.index.layout"

# Those of every record index.
LOOKUP_OPTIONS: tuple[Option, ...] = (CHOOSES, SEEKS)
METADATA_OPTIONS: tuple[Option, ...] = (
    ENABLED,
    KEYS,
    KEYS_LEAST,
    KEYS_MOST,
    PATH_KEYS,
    PATH_KEYS_LEAST,
    PATH_KEYS_MOST,
    KEYS_GROWTH,
    KEYS_BYTES,
    RANGES,
    RANGE_COLUMNS,
    RANGES_MOST,
    FILTERS,
    FILTER_GROUPS,
    DROPPED,
    COMPACT_EVERY,
)
# Those of the growing record index alone.
GROWING_OPTIONS: tuple[Option, ...] = (BUCKETS, BUCKET_CAP, INDEX_HASH, SCALING, SCALING_FACTOR)
