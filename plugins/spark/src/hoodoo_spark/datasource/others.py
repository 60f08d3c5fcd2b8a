"""Options of other formats and of Spark Hudi that say which rows come or go: nobody may pass over
them. Each is refused with what says the same here."""

from __future__ import annotations

from collections.abc import Mapping

from hoodoo.errors import ConfigError
from hoodoo.options.write import OVERWRITES

_AS_OF = (
    'option("as_of", ...) takes an instant of table.timeline(), a moment such as '
    "2024-05-01T10:00:00Z, or the number of a commit (1 is the first, -1 the newest)."
)
_BEGIN = (
    'option("begin", ...) takes an instant of table.timeline(), a moment, or "earliest"; with mode '
    "changes or incremental."
)
_REPLACE = (
    'the operation insert_overwrite replaces the partition paths of the rows: option("operation", '
    '"insert_overwrite").'
)
_EVOLVES = (
    'option("hoodie.datasource.write.reconcile.schema", "true") takes in new columns; wider types '
    "come in by themselves."
)
_STREAM = (
    "leave it out: a stream of mode incremental goes on after updates and deletes; mode changes "
    "has them all."
)
_ONCE = (
    "leave it out: a stream's batches count once by its checkpoint, and those of others with "
    "table.upsert(df, batch=Batch(name, n))."
)
# Of Delta Lake and Iceberg, in lower case -> what to do instead.
_FORMATS: Mapping[str, str] = {
    **dict.fromkeys(
        ("versionasof", "timestampasof", "snapshot-id", "as-of-timestamp", "branch", "tag"), _AS_OF
    ),
    **dict.fromkeys(
        ("startingversion", "startingtimestamp", "start-snapshot-id", "stream-from-timestamp"),
        _BEGIN,
    ),
    **dict.fromkeys(
        ("endingversion", "endingtimestamp", "end-snapshot-id"), _BEGIN.replace('"begin"', '"end"')
    ),
    **dict.fromkeys(
        ("readchangefeed", "readchangedata"),
        'option("mode", "changes"), with option("begin", ...).',
    ),
    **dict.fromkeys(("replacewhere", "partitionoverwritemode", "overwrite-mode"), _REPLACE),
    **dict.fromkeys(("mergeschema", "overwriteschema", "merge-schema"), _EVOLVES),
    **dict.fromkeys(("ignorechanges", "ignoredeletes", "skipchangecommits"), _STREAM),
    **dict.fromkeys(("txnappid", "txnversion"), _ONCE),
    "compression": 'option("hoodie.parquet.compression.codec", "gzip").',
}
# What properties of a table of the catalog may be called by themselves.
_NOTES = frozenset({"branch", "tag", "compression"})
_READ = "hoodie.datasource.read."
_FILTER = "leave it out, and filter the DataFrame: .where(\"city = 'oslo'\")."
# Of Spark Hudi, which would give fewer rows, or others: key -> the value that is as it is here,
# what to do instead.
_HUDIS: Mapping[str, tuple[str, str]] = {
    f"{_READ}incr.path.glob": ("", _FILTER),
    f"{_READ}incr.filters": ("", _FILTER),
    f"{_READ}paths": ("", 'leave it out, and load each table by its path: .load("/data/trips").'),
    "hoodie.datasource.merge.type": (
        "payload_combine",
        "leave it out: rows of log files are always merged; mode read_optimized leaves them out.",
    ),
}


def refuse_others(lowered: Mapping[str, str]) -> None:
    """ConfigError for the first of them. ``lowered``: options, their names in lower case."""
    for key, text in lowered.items():
        if key in _FORMATS and not ("provider" in lowered and key in _NOTES):
            raise ConfigError(f"option {key}", 'is of another format than "hoodoo"', _FORMATS[key])
        if key in _HUDIS and text.strip().lower() != _HUDIS[key][0]:
            raise ConfigError(
                f"option {key}={text!r}",
                "is not followed here, and would change which rows are read",
                _HUDIS[key][1],
            )


# Options of a stream that reads -> what to do instead.
_LIMITS: Mapping[str, str] = dict.fromkeys(
    ("maxfilespertrigger", "maxbytespertrigger"),
    "give it to the stream that reads: spark.readStream.option(...).",
)
# Options of a read -> what to do instead, where a write gives them.
_OF_READS: Mapping[str, str] = {
    "columns": 'leave it out, and write the columns that you want: df.select("id", "fare").',
    "as_of": "leave it out: a write makes the newest state; table.restore goes back to an older "
    "one.",
    "mode": 'leave it out; .mode("append") and .mode("overwrite") are Spark\'s, and '
    'option("operation", ...) says what is done.',
    **dict.fromkeys(("begin", "end", "meta", "tasks", "pushdown"), "leave it out."),
    **_LIMITS,
    **dict.fromkeys(
        (
            "as.of.instant",
            "hoodie.datasource.query.type",
            "hoodie.datasource.view.type",
            "hoodie.datasource.query.incremental.format",
            "hoodie.datasource.streaming.startoffset",
            f"{_READ}begin.instanttime",
            f"{_READ}end.instanttime",
        ),
        "leave it out, and give it to the read.",
    ),
}
# Options of a write -> what to do instead, where a read gives them.
_OF_WRITES: Mapping[str, str] = dict.fromkeys(
    ("operation", "hoodie.datasource.write.operation", *OVERWRITES.names),
    "leave it out, and give it to the write.",
)


def refuse_reading(given: Mapping[str, str]) -> None:
    """ConfigError for the first option of ``given``, which are those of a write, that only reads
    follow."""
    _refuse(given, _OF_READS, "reads, and says nothing to a write")


def refuse_writing(given: Mapping[str, str]) -> None:
    """ConfigError for the first option of ``given``, which are those of a read, that only writes
    follow."""
    _refuse(given, _OF_WRITES, "writes, and says nothing to a read")


def refuse_limits(given: Mapping[str, str]) -> None:
    """ConfigError for an option of ``given``, which are those of a batch read, that only streams
    follow."""
    _refuse(given, _LIMITS, "streams, and says nothing to a read of one state")


def _refuse(given: Mapping[str, str], of: Mapping[str, str], rule: str) -> None:
    lowered = {str(key).lower(): text for key, text in given.items()}
    for key, fix in of.items():
        if key in lowered and "provider" not in lowered:
            raise ConfigError(f"option {key}={lowered[key]!r}", f"is one of {rule}", fix)


def refuse_several(given: Mapping[str, str]) -> None:
    """ConfigError for the paths of ``load([...])``, which Spark hands on under this name if there
    are several."""
    if paths := given.get("paths"):
        raise ConfigError(
            f"paths {paths}",
            "are of several tables, and a DataFrame is of one.",
            "Load each by its path, and put the rows together: first.unionByName(second).",
        )
