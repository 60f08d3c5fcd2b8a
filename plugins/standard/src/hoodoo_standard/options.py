"""The options that the standard plugins read."""

from __future__ import annotations

from attrs import frozen
from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.hookspecs.registration import Option, Settings
from hoodoo.options import (
    COLUMNS,
    FLAG,
    Choice,
    Duration,
    Kind,
    Names,
    Pattern,
    Size,
    Whole,
)
from hoodoo.options.core import SMALL_FILE_LIMIT
from hoodoo.options.table import BY_ARRIVAL, BY_EVENT_TIME, HIVE_STYLE, URL_ENCODE

from hoodoo_standard.index.path_rules import REGEX, rules_of

# --- what Hudi calls the standard plugins in the properties of a table ---------------------------
JAVA_GENERATORS = {
    "SIMPLE": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "COMPLEX": "org.apache.hudi.keygen.ComplexKeyGenerator",
    "NON_PARTITION": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "TIMESTAMP": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
    "CUSTOM": "org.apache.hudi.keygen.CustomKeyGenerator",
}
JAVA_PAYLOADS = {  # by the merge mode
    BY_ARRIVAL: "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
    BY_EVENT_TIME: "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
}

# --- key generators: these decide bytes, so they are properties of the table -------------------
THREADS = Option(
    "hoodoo.local.threads",
    "Partitions that the local engine works on at a time; by default one per core.",
    kind=Whole(1),
)
LOGICAL_TIMESTAMPS = Option(
    "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled",
    "Timestamps in keys and paths are written as text, cut to milliseconds, not as numbers.",
    "false",
    table_property=True,
    kind=FLAG,
)
KEYS = (LOGICAL_TIMESTAMPS, HIVE_STYLE, URL_ENCODE)
SLASH_DATES = Option(
    "hoodie.datasource.write.slash.separated.date.partitioning",
    "The value 2024-01-02 of the only partition column becomes 2024/01/02.",
    "false",
    table_property=True,
    kind=FLAG,
)
# Releases of Hudi disagree about the key of one column: `id:7` up to 0.14.0 and since 1.1, `7` in
# 0.14.1 to 1.0.2. A table that does not say is asked for a key that it has.
COMPLEX_ENCODING = Option(
    "hoodie.write.complex.keygen.new.encoding",
    "The COMPLEX key of a single column is the bare value; versions up to 8.",
    "false",
    table_property=True,
    assumed=False,
    kind=FLAG,
)
# A property alone, FIELD_PREFIXED or VALUE_ONLY: what Hudi after 1.2 notes when it upgrades such a
# table to version 9.
STORED_ENCODING = "hoodie.table.complex.keygen.encoding"
TIMEBASED = "hoodie.keygen.timebased."
OLD_TIMEBASED = "hoodie.deltastreamer.keygen.timebased."  # when only Hudi's streamer had such keys
TIME_TYPE = Option(
    f"{TIMEBASED}timestamp.type",
    "What the partition column of TIMESTAMP holds.",
    table_property=True,
    older=(f"{OLD_TIMEBASED}timestamp.type",),
    kind=Choice(
        "UNIX_TIMESTAMP", "EPOCHMILLISECONDS", "EPOCHMICROSECONDS", "SCALAR", "DATE_STRING", "MIXED"
    ),
)
TIME_UNIT = Option(
    f"{TIMEBASED}timestamp.scalar.time.unit",
    "The unit of SCALAR.",
    "SECONDS",
    table_property=True,
    older=(f"{OLD_TIMEBASED}timestamp.scalar.time.unit",),
    kind=Choice(
        "NANOSECONDS", "MICROSECONDS", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS"
    ),
)
INPUT_FORMAT = Option(
    f"{TIMEBASED}input.dateformat",
    "Joda patterns of the texts of DATE_STRING and MIXED, the first that fits counts.",
    table_property=True,
    older=(f"{OLD_TIMEBASED}input.dateformat",),
)
INPUT_DELIMITER = Option(
    f"{TIMEBASED}input.dateformat.list.delimiter.regex",
    "What separates two input patterns.",
    ",",
    table_property=True,
    kind=Pattern(),
    older=(f"{OLD_TIMEBASED}input.dateformat.list.delimiter.regex",),
)
INPUT_ZONE = Option(
    f"{TIMEBASED}input.timezone",
    "The time zone of texts without an offset; UTC if not said.",
    table_property=True,
    older=(f"{OLD_TIMEBASED}input.timezone",),
)
OUTPUT_FORMAT = Option(
    f"{TIMEBASED}output.dateformat",
    "The Joda pattern of partition paths.",
    table_property=True,
    older=(f"{OLD_TIMEBASED}output.dateformat",),
)
OUTPUT_ZONE = Option(
    f"{TIMEBASED}output.timezone",
    "The time zone of partition paths. If not said: that of the texts, else UTC.",
    table_property=True,
    older=(f"{OLD_TIMEBASED}output.timezone",),
)
BOTH_ZONES = Option(
    f"{TIMEBASED}timezone",
    "The time zone of both, if it is set.",
    table_property=True,
    older=(f"{OLD_TIMEBASED}timezone",),
)
TIME_PARSER = Option(
    "hoodie.keygen.datetime.parser.class",
    "What reads the texts: Hudi's own only.",
    table_property=True,
    older=("hoodie.deltastreamer.keygen.datetime.parser.class",),
    kind=Choice("org.apache.hudi.keygen.parser.HoodieDateTimeParser"),
)
TIMES = (
    TIME_TYPE,
    TIME_UNIT,
    INPUT_FORMAT,
    INPUT_DELIMITER,
    INPUT_ZONE,
    OUTPUT_FORMAT,
    OUTPUT_ZONE,
    BOTH_ZONES,
    TIME_PARSER,
)
VIRTUAL_BY_HOODOO = Option(
    "hoodoo.recordkey.virtual.by.hoodoo",
    "Virtual keys may have the key generators TIMESTAMP and CUSTOM, which Spark Hudi does not take "
    "for them: it can't "
    "write such a table.",
    "false",
    kind=FLAG,
)
PARTITION_TYPES = Option(
    "hoodoo.partition.types",
    "column:SIMPLE or column:TIMESTAMP for each partition column of CUSTOM, in table version 6, "
    "which "
    "has only the names.",
    table_property=True,
)

# --- indexes ----------------------------------------------------------------------------------
SIDE_BYTES = Option(
    "hoodoo.index.simple.side.bytes",
    "Bytes of incoming record keys up to which they are sent to the file readers.",
    str(256 << 20),
    kind=Size(),
)
MOVES = Option(
    "hoodie.simple.index.update.partition.path",
    "With global_simple: a key that arrives with another partition path moves there; false: it is "
    "updated "
    "where it is, and from then on readers don't leave out files by partition path.",
    "true",
    table_property=True,
    kind=FLAG,
)
BLOOM_RANGES = Option(
    "hoodie.bloom.index.prune.by.ranges",
    "The smallest and the largest key of a file are looked at before its bloom filter.",
    "true",
    kind=FLAG,
)
BLOOM_METADATA = Option(
    "hoodie.bloom.index.use.metadata",
    "Lookups use the bloom filters of the metadata table, if it has them; false: only those in "
    "footers.",
    "true",
    kind=FLAG,
)
BLOOM_MOVES = Option(
    "hoodie.bloom.index.update.partition.path",
    "With global_bloom, as hoodie.simple.index.update.partition.path.",
    "true",
    table_property=True,
    kind=FLAG,
)
BLOOM = (SIDE_BYTES, BLOOM_RANGES, BLOOM_METADATA)
TEE = Option(
    "hoodoo.index.tee",
    "The two indexes of the index tee, separated by a comma; writes use the first.",
    kind=Names(least=2),
)
BUCKETS = Option(
    "hoodie.bucket.index.num.buckets",
    "Buckets (file groups) in each partition path; with CONSISTENT_HASHING, at first.",
    "256",
    table_property=True,
    assumed=False,
    kind=Whole(1, 99_999_999),
)
HASH_FIELD = Option(
    "hoodie.bucket.index.hash.field",
    "Record key fields that are hashed; default: all of them.",
    table_property=True,
    assumed=False,
    kind=COLUMNS,
)
BUCKET_ENGINE = Option(
    "hoodie.index.bucket.engine",
    "SIMPLE: the number of buckets never changes; CONSISTENT_HASHING: a clustering splits and "
    "merges them.",
    "SIMPLE",
    table_property=True,
    assumed=False,
    kind=Choice("SIMPLE", "CONSISTENT_HASHING"),
)
LEAST_BUCKETS = Option(
    "hoodie.bucket.index.min.num.buckets",
    "With CONSISTENT_HASHING: buckets are merged down to as many; if not said, to those at first.",
    table_property=True,
    assumed=False,
    kind=Whole(1),
)
MOST_BUCKETS = Option(
    "hoodie.bucket.index.max.num.buckets",
    "With CONSISTENT_HASHING: buckets are split up to as many; if not said, to those at first.",
    table_property=True,
    assumed=False,
    kind=Whole(1),
)


@frozen
class PathRules(Kind[str]):
    """``regex,number;regex,number``: numbers of buckets by partition path."""

    def parse(self, text: str) -> str:
        if text.strip():
            rules_of(text.strip())
        return text.strip()

    @property
    def bounds(self) -> str:
        return "rules `regex,number`, with ; between"


PATH_BUCKETS = Option(
    "hoodie.bucket.index.partition.expressions",
    "Buckets of the partition paths in which a regular expression is found, the first that is.",
    table_property=True,
    assumed=False,
    kind=PathRules(),
)
PATH_RULE = Option(
    "hoodie.bucket.index.partition.rule.type",
    "What the rules of hoodie.bucket.index.partition.expressions are.",
    REGEX,
    kind=Choice(REGEX),
)
BUCKET = (BUCKETS, HASH_FIELD, BUCKET_ENGINE, LEAST_BUCKETS, MOST_BUCKETS, PATH_BUCKETS, PATH_RULE)


def hash_fields(settings: Settings) -> tuple[str, ...]:
    """What is hashed of the record key, as :data:`HASH_FIELD` says. Raises ConfigError for other
    columns, OptionConflictError for an option where the table notes its buckets without it: all
    fields were hashed so far."""
    keys, properties = settings.table.record_key_fields, settings.table.properties
    fields = settings.given(HASH_FIELD) or keys
    noted = BUCKETS.stored(properties) is not None and HASH_FIELD.stored(properties) is None
    if noted and set(fields) != set(keys):
        raise OptionConflictError(
            f"option {HASH_FIELD.key}={','.join(fields)}",
            f"the table hashes all fields of the record key: {', '.join(keys)}.",
            "leave the option out.",
        )
    strange = [f for f in fields if f not in keys]
    if strange:
        raise ConfigError(
            f"option {HASH_FIELD.key}",
            f"{', '.join(strange)} is not among the record key fields {', '.join(keys)}.",
            "hash only fields of the record key: the bucket is computed from it.",
        )
    return tuple(fields)


def path_buckets(settings: Settings) -> str:
    """What :data:`PATH_BUCKETS` says, "" for nothing. OptionConflictError for an option where the
    table notes its buckets without it."""
    said, properties = settings.given(PATH_BUCKETS) or "", settings.table.properties
    noted = BUCKETS.stored(properties) is not None and PATH_BUCKETS.stored(properties) is None
    if said and noted:
        raise OptionConflictError(
            f"option {PATH_BUCKETS.key}={said}",
            "the table has the same number of buckets in each partition path.",
            "leave the option out, or copy the rows into a table that is made with it.",
        )
    return said


# --- layouts ----------------------------------------------------------------------------------
MAX_FILE_SIZE = Option(
    "hoodie.parquet.max.file.size",
    "Target size of a base file in bytes.",
    "125829120",
    kind=Size(1),
)
RECORD_SIZE = Option(
    "hoodie.copyonwrite.record.size.estimate",
    "Bytes of a row on disk where nothing is known yet.",
    "1024",
    kind=Size(1),
)
SIZES = (SMALL_FILE_LIMIT, MAX_FILE_SIZE, RECORD_SIZE)

# --- locks and conflicts ----------------------------------------------------------------------
LOCK_PATH = Option(
    "hoodie.write.lock.filesystem.path",
    "The folder of the lock file of filesystem, absolute; by default .hoodie of the table.",
)
LOCK_EXPIRE = Option(
    "hoodie.write.lock.filesystem.expire",
    "Minutes after which the lock filesystem removes a lock of any process; 0: never.",
    "0",
    kind=Duration("min"),
)
LOCK_RENEW = Option(
    "hoodie.write.lock.storage.renew.interval.secs",
    "Seconds between two signs of life of who holds storage_based or conditional_put.",
    "30",
    kind=Duration("s", 0.001, whole=False),
    older=("hoodie.write.lock.storage.heartbeat.poll.secs",),
)
LOCK_VALIDITY = Option(
    "hoodie.write.lock.storage.validity.timeout.secs",
    "Seconds without a sign of life after which storage_based or conditional_put is taken over.",
    "300",
    kind=Duration("s", 0.001, whole=False),
)

# --- what counts as a conflict -------------------------------------------------------------------
NON_BLOCKING = "NON_BLOCKING_CONCURRENCY_CONTROL"
CONCURRENCY = Option(
    "hoodie.write.concurrency.mode",
    "Several writers are always safe. With NON_BLOCKING_CONCURRENCY_CONTROL log files of two of "
    "them "
    "may stand in one file group, as by the conflict strategy log_appends.",
    "OPTIMISTIC_CONCURRENCY_CONTROL",
    kind=Choice("SINGLE_WRITER", "OPTIMISTIC_CONCURRENCY_CONTROL", NON_BLOCKING),
)


# --- mergers ----------------------------------------------------------------------------------
_OF_MERGING = "hoodie.record.merge.property."
PARTIAL_UPDATES = Option(
    "hoodie.table.partial.update.mode",
    "What the row that wins takes from the other one. IGNORE_DEFAULTS: values that are null in it; "
    "FILL_UNAVAILABLE: those for which a text stands; KEEP_VALUES: columns that it lacks.",
    table_property=True,
    kind=Choice("NONE", "IGNORE_DEFAULTS", "FILL_UNAVAILABLE", "KEEP_VALUES"),
)
UNAVAILABLE = Option(
    _OF_MERGING + "hoodie.write.partial.update.unavailable.value",
    "The text that stands for a value, with the partial update mode FILL_UNAVAILABLE.",
    table_property=True,
    aliases=("hoodie.write.partial.update.unavailable.value",),
)
DELETE_FIELD = Option(
    _OF_MERGING + "hoodie.payload.delete.field",
    "The column that says which rows are deletes.",
    table_property=True,
    aliases=("hoodie.payload.delete.field",),
)
DELETE_MARKER = Option(
    _OF_MERGING + "hoodie.payload.delete.marker",
    "The value of that column in rows that are deletes.",
    table_property=True,
    aliases=("hoodie.payload.delete.marker",),
)
MERGING = (PARTIAL_UPDATES, UNAVAILABLE, DELETE_FIELD, DELETE_MARKER)
