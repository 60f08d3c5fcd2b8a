"""DataFrames that are Parquet files and nothing else: tasks read the files as Arrow data, and no
row passes the JVM.

What Spark does with a file beyond that (dates of the old calendar, columns that a file lacks, other
types, caches, filters, columns from folder names) stays Spark's: wherever one of these is possible,
the answer is None."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from hoodoo_spark.session import is_connect

FILES = 1000  # whose footers the driver reads at most
_READERS = 8
# Options of a read that only choose files; any other one may change what is read from them.
_CHOOSING = frozenset(
    {"path", "paths", "pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter"}
)
_FORMAT = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_INDEX = "org.apache.spark.sql.execution.datasources.InMemoryFileIndex"
# Settings of Spark with which it reads a file as this module does.
_USUAL = {
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
}
_REBASE = "spark.sql.parquet.datetimeRebaseModeInRead"
# Spark takes dates before 1582, and timestamps before 1900, for ones that may be of the old
# calendar.
_RECENT = datetime(1901, 1, 1)
# How the names of files end that Spark writes with the codec `lz4`, LZ4 as Hadoop frames it. Arrow
# fails on long pages of it. The footer says it, too, but to ask for the codec of a column that is
# encrypted ends the process.
_HADOOPS_LZ4 = (".lz4hadoop.parquet", ".lz4.parquet")
# What pyarrow adds to the columns of a file.
_ADDED = frozenset({"__filename", "__fragment_index", "__batch_index", "__last_in_fragment"})
_ENCRYPTION = "parquet.crypto.factory.class"
_SPARK, _LEGACY = b"org.apache.spark.version", b"org.apache.spark.legacyDateTime"


def dataset_of(frame: Any, schema: pa.Schema) -> ds.FileSystemDataset | None:
    """The Parquet files on a disk that ``frame``, of ``schema``, reads whole; None if it is
    anything else."""
    if is_connect(frame.sparkSession) or not len(schema) or _ADDED.intersection(schema.names):
        return None
    if not all(_is_plain(field.type) for field in schema):
        return None
    relation = _relation(frame)
    paths = None if relation is None else _paths(relation)
    if not paths or _is_unusual(frame.sparkSession):
        return None
    mode = frame.sparkSession.conf.get(_REBASE).upper()
    with ThreadPoolExecutor(_READERS) as pool:
        if not all(pool.map(lambda path: _has(path, schema, mode), paths)):
            return None
    return ds.FileSystemDataset.from_paths(
        paths, schema=schema, format=ds.ParquetFileFormat(), filesystem=LocalFileSystem()
    )


def _relation(frame: Any) -> Any:
    """The relation below nothing but names and columns left out; None below anything else."""
    # A cached frame is no scan any more; what the frame itself says of that is as old as its first
    # use.
    plan = frame.select("*")._jdf.queryExecution().withCachedData()
    while True:
        kind = plan.getClass().getSimpleName()
        if kind == "LogicalRelation":
            found = plan.relation()
            return found if found.getClass().getSimpleName() == "HadoopFsRelation" else None
        if kind == "Project":
            if any(
                c.getClass().getSimpleName() != "AttributeReference"
                for c in _each(plan.projectList())
            ):
                return None
        elif kind != "SubqueryAlias":
            return None
        plan = plan.child()


def _paths(relation: Any) -> list[str] | None:
    if (
        relation.fileFormat().getClass().getName() != _FORMAT
        or relation.location().getClass().getName() != _INDEX
        or not relation.partitionSchema().isEmpty()
        or any(
            str(key).lower() not in _CHOOSING for key in _each(relation.options().keys().toSeq())
        )
    ):
        return None
    found = relation.location().inputFiles()
    if len(found) > FILES:
        return None
    files = [urlsplit(uri) for uri in found]
    if any(file.scheme != "file" or file.netloc for file in files):
        return None
    paths = [unquote(file.path) for file in files]
    if any(path.endswith(_HADOOPS_LZ4) for path in paths):
        return None
    # Summaries of a folder (_metadata, _common_metadata) are on the list, and Spark does not read
    # them as rows.
    return None if any(path.rpartition("/")[2].startswith(("_", ".")) for path in paths) else paths


def _each(items: Any) -> list[Any]:
    """Of a Scala sequence."""
    return [items.apply(number) for number in range(items.size())]


def _is_unusual(spark: Any) -> bool:
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()
    return bool(hadoop.get(_ENCRYPTION)) or any(
        spark.conf.get(name) != value for name, value in _USUAL.items()
    )


def _is_plain(kind: pa.DataType) -> bool:
    """Times of day have fewer digits in Spark than in Arrow."""
    other = pa.types.is_nested(kind) or pa.types.is_time(kind)
    return not other and not isinstance(kind, pa.BaseExtensionType)


def _reads_as(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether they are the same, but for how Arrow lays text and bytes out in memory."""
    same = (
        (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
    )
    return stored == wanted or any(
        kinds[0](wanted) and any(k(stored) for k in kinds) for kinds in same
    )


def _has(path: str, schema: pa.Schema, mode: str) -> bool:
    """Whether the file has just these columns, among others, and as Spark reads them. ``mode``:
    what it does with the old calendar."""
    try:
        with pq.ParquetFile(path) as file:
            found, footer = file.schema_arrow, file.metadata
        names = Counter(name.lower() for name in found.names)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return False
    for field in schema:  # Spark looks a column up without its case
        if field.name not in found.names or names[field.name.lower()] > 1:
            return False
        if not _reads_as(found.field(field.name).type, field.type):
            return False
    temporal = [field for field in schema if pa.types.is_temporal(field.type)]
    if not temporal:
        return True
    metadata = footer.metadata or {}
    if _LEGACY in metadata:
        return False
    version = metadata.get(_SPARK)
    if version is not None:
        return version >= b"3.0.0"  # as texts, as Spark compares them
    return mode == "CORRECTED" or (mode == "EXCEPTION" and _is_recent(path, temporal))


def _is_recent(path: str, fields: Sequence[pa.Field]) -> bool:
    """Whether the statistics say that no value of these columns can be of the old calendar, which
    Spark refuses then."""
    fragment = ds.ParquetFileFormat().make_fragment(path, LocalFileSystem())
    # Of these columns alone: the statistics of an encrypted one would end the process.
    return not any(
        fragment.subset(ds.field(field.name) < pa.scalar(_RECENT).cast(field.type)).row_groups
        for field in fields
    )
