"""Functions of :mod:`hoodoo` that plugins bring. Written by tests/meta/table_stub.py."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo_bootstrap.plan import BootstrapPlan
from hoodoo_catalogs.lake import Lake
from hoodoo_frames.aio import AsyncTable
from hoodoo_ingest.run import Round
from hoodoo_rows.api import Commit
from hoodoo_spark.views import View
from hoodoo_statements.session.session import Session

import hoodoo
from hoodoo import Table
from hoodoo.hookspecs.engine import Engine
from hoodoo.timeline.batches import Batch

__all__: list[str] = [
    "aio",
    "blob",
    "bootstrap",
    "catalog",
    "convert",
    "ingest",
    "plan_bootstrap",
    "restore_backup",
    "scan_polars",
    "session",
    "spark_view",
    "sql",
    "variant",
    "variants",
    "vector",
    "where",
    "write",
]

def aio(
    path: str | os.PathLike[str] | Table, options: Mapping[str, Any] | None = None
) -> AsyncTable:
    """A table for programs with ``async``: ``await hoodoo.aio("trips").upsert(rows)``.

    ``path`` and ``options`` as in ``hoodoo.open``, or an open table. Nothing is opened before the
    first call. A thread does the work of a call, so the event loop goes on.

    A call that is canceled ends at its next operation of the store, before ``CancelledError`` is
    raised: of a write nothing is seen, unless it had committed."""

def blob() -> pa.DataType:
    """The Arrow type of a column BLOB of Hudi 1.2: a struct of ``type`` (``INLINE`` or
    ``OUT_OF_LINE``), ``data`` (bytes) and ``reference`` (a file, and where in it the bytes are).

    Raises no error.

    >>> hoodoo.blob().names
    ['type', 'data', 'reference']
    """

def bootstrap(
    source: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    record_key: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] | None = None,
    mode: str | None = None,
    regex: str | None = None,
    **table: Any,
) -> hoodoo.Table:
    """Make a table of the Parquet files in the folder ``source``, which stay there, and return it.

    With the ``mode`` METADATA_ONLY, the default, the table at ``path`` gets only Hudi's columns, in
    a small file for each file of the source. FULL_RECORD copies the rows. With ``regex``, partition
    paths that match it as a whole have the mode, and all others the other one. Hudi's options
    (``hoodie.bootstrap.*``) may stand for these arguments.

    ``record_key``: the columns that identify a row. ``partition_by``: a column for each level of
    folders; by default those that folders named ``column=value`` say. The other arguments,
    ``options`` and ``engine`` among them, are those of ``create``. If a bootstrap failed or died,
    the same call begins again.

    Raises DuplicateKeyError, NullKeyError, MissingColumnError or DataError for rows that can't be
    those of the table, ConfigError, SchemaError or NotATableError for a source that can't be
    bootstrapped, TableExistsError for a table that has commits, CommitConflictError while another
    process bootstraps it, and the errors of ``create``."""

def catalog(place: str, options: Mapping[str, Any] | None = None) -> Lake:
    """The catalog at ``place``: a folder or the URI of a bucket or folder (a file catalog, which
    needs no server), ``glue://`` (AWS Glue), or ``hms://host:port`` (a Hive Metastore). ``options``
    are those of its tables.

    Raises ConfigError or PluginError for a place that no installed catalog stands for.

    >>> lake = hoodoo.catalog("lake")
    >>> lake.create("trips", schema, record_key="ride").upsert(rows)
    >>> lake.tables(), lake.open("trips").read().count()
    """

def convert(
    source: Any,
    to: str | os.PathLike[str] | None = None,
    *,
    record_key: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] | None = None,
    as_of: int | str | None = None,
    options: Mapping[str, Any] | None = None,
    **table: Any,
) -> hoodoo.Table:
    """Copy a directory of Parquet files, a Delta Lake table or an Iceberg table into a new Hudi
    table, in one commit, and return the new table.

    ``source`` is a path or URI, a ``deltalake.DeltaTable``, a ``pyiceberg`` table, or a pyarrow
    Dataset. It is only read. ``to`` is the path of the new table, neither within the source nor
    around it; by default that of the source with ``_hudi`` at its end. ``record_key`` is
    required: the columns that identify a row, or () for generated keys. ``partition_by`` is by
    default the partitioning of the source. ``as_of`` is a version of a Delta Lake table, or the id
    of a snapshot of an Iceberg table. ``options`` and the other arguments are those of ``create``.

    If reading or writing fails, the new table exists and is empty. Raises DuplicateKeyError if two
    rows have the same key and no ``ordering`` says which one is newer, ConfigError for a source
    that cannot be converted or a path that overlaps with it, and the errors of ``create`` and of
    writes.
    """

def ingest(
    config: str | os.PathLike[str] | Mapping[str, Any], *, once: bool = False
) -> Iterator[Round]:
    """Feed a table from a source, as ``config`` says: the name of a TOML file, or a mapping of its
    sections. Returns an iterator: each step reads what is new, and writes it in one commit, which
    has the checkpoint, too. It ends when nothing is new, unless the configuration says
    ``continuous``. With ``once`` there is one round at most.

    Repeat the call to continue, also after a crash: each file or message takes effect once.

    Raises ConfigError for a wrong configuration; DataError for rows that can't be read, unless
    they are set aside; and what the write raises."""

def plan_bootstrap(
    source: str | os.PathLike[str],
    *,
    partition_by: str | Sequence[str] | None = None,
    mode: str | None = None,
    regex: str | None = None,
    engine: str | Engine | None = None,
    options: Mapping[str, Any] | None = None,
) -> BootstrapPlan:
    """What :func:`bootstrap` would do with ``source``: files, partitions, rows and bytes for each
    mode, the columns of the table, and an estimate of the bytes that it would write. Reads the
    footers of all files, and writes nothing.

    The arguments are those of :func:`bootstrap`. Raises ConfigError, SchemaError or NotATableError
    for a source that can't be bootstrapped."""

def restore_backup(backup: str, path: str, *, options: Mapping[str, Any] | None = None) -> Table:
    """Copy the ``backup`` to ``path``, and make it a table that can be written to. The backup
    stays.

    ``options`` are those of ``hoodoo.open``, for both places. If the call was interrupted, repeat
    it. Indexes in the metadata table are built again. Raises ConfigError if ``backup`` is none, or
    if ``path`` is not empty."""

def scan_polars(
    source: Any,
    *,
    as_of: str | date | int | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> pl.LazyFrame:
    """A polars LazyFrame of a table. ``source`` is the path of a table, a table, or a read of a
    table.

    Columns, filters and limits of a query are pushed down. The LazyFrame shows the state at the
    time of this call. ``as_of`` and ``mode`` are those of ``table.read``, and ``options`` are
    those of ``hoodoo.open``.

    Raises EngineError if polars is not installed, CallError for an invalid source, and the errors
    of opening and planning."""

def session(
    spark: Any = None,
    catalogs: Any = None,
    tables: Mapping[str, Any] | None = None,
    views: Mapping[str, str] | None = None,
) -> Session:
    """A session for statements of SQL over several tables.

    ``tables`` maps names to tables, to paths of tables, and to any rows that a write accepts.
    ``catalogs`` is a place as ``hoodoo.catalog`` takes it, a catalog, or a list or dict of these:
    their tables are found as ``table`` or ``database.table``, and in a dict as
    ``name.database.table``, too. ``views`` maps names to queries, as text, which may read tables
    and other views of the session; a statement reads a view as if its query stood there. With a
    SparkSession as ``spark``, Spark runs queries, and its own
    tables and views can be used in them; else DuckDB runs queries in this process. The session of
    Spark is not changed.

    Raises ConfigError for arguments that are none of these, and what ``hoodoo.open`` and
    ``hoodoo.catalog`` raise.

    >>> session = hoodoo.session(tables={"trips": "/data/trips"})
    >>> session.sql("SELECT city, max(fare) FROM trips GROUP BY city").to_arrow()
    """

def spark_view(
    name: str, table: Table | str | os.PathLike[str], spark: Any = None, **wanted: Any
) -> View:
    """Create a temporary view ``name`` of ``table`` for ``spark.sql`` and ``spark.table``.
    ``table`` is an open table or a path.

    ``spark`` is by default the active session. ``wanted`` are the arguments of ``table.read``. With
    ``as_of`` the view always shows that state; without it, each statement sees the newest commits.
    Where they can't be read, the statements that use the view fail with the reason, and no others.

    Raises the errors of ``hoodoo.open`` and ``table.read``.
    """

def sql(
    statement: str,
    tables: Mapping[str, Any] | None = None,
    spark: Any = None,
    *,
    engine: str | Engine | None = None,
) -> Any:
    """Run one statement of SQL: MERGE INTO, UPDATE, DELETE FROM, INSERT INTO, INSERT OVERWRITE,
    ALTER TABLE, SELECT.

    ``tables`` maps the names in the statement to tables of Hoodoo, or to any rows that a write
    accepts. The text is Spark's SQL. A query returns a pyarrow Table, which DuckDB computes. With a
    session ``spark``, a query runs lazily on Spark and returns a DataFrame. Other statements return
    the commit; ``engine`` has the same meaning as for the methods, and is Spark if ``spark`` is
    given.

    Raises ConfigError for a text that is not such a statement, and SchemaError and DataError as the
    methods do."""

def variant() -> pa.DataType:
    """The Arrow type of a column VARIANT of Hudi 1.2: objects, lists and values as JSON has them,
    and more types of values. For the schema of a new table. Raises no error.

    >>> hoodoo.variant().extension_name
    'arrow.parquet.variant'
    """

def variants(values: Any, json: bool = False) -> pa.Array:
    """An Arrow array of variants, of Python objects (None, bool, int, float, Decimal, str, bytes,
    date, datetime, time, UUID, lists and dicts), of PySpark's ``VariantVal``, or of a column that
    was read. With ``json`` texts are JSON, otherwise values. ``to_pylist()`` of it gives Python
    objects, and ``to_json()`` the texts.

    Raises CallError for anything but a list, and SchemaError for a value that no variant holds.

    >>> hoodoo.variants([{"a": [1, None]}, "x"]).to_json().to_pylist()
    ['{"a":[1,null]}', '"x"']
    """

def vector(dimension: int, element: str = "FLOAT") -> pa.DataType:
    """The Arrow type of a column VECTOR of Hudi 1.2: lists of ``dimension`` numbers. Each is
    an ``element``: ``FLOAT`` (float32), ``DOUBLE`` or ``INT8``. For the schema of a new table, and
    for data.

    Raises SchemaError for a dimension below 1, and for other elements.

    >>> hoodoo.vector(2, "DOUBLE").list_size
    2
    """

def where(given: Any, schema: pa.Schema, table: str = "table") -> pc.Expression:
    """Convert a condition in SQL, or a Spark Column, over the columns of ``schema`` into a pyarrow
    expression that is true for the same rows: comparisons, IN, BETWEEN, LIKE, IS NULL, AND, OR,
    NOT.

    Raises SchemaError for unknown columns and for values that do not fit them, and ConfigError for
    expressions that pyarrow cannot compute (``hoodoo.sql`` can).

    >>> hoodoo.where("city = 'oslo' and fare > 10", table.schema)
    <pyarrow.compute.Expression ((city == "oslo") and ((fare > 10) or is_nan(fare)))>
    """

def write(
    path: str | os.PathLike[str],
    data: Any,
    *,
    record_key: str | Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    batch: Batch | None = None,
    add_columns: bool = False,
    **table: Any,
) -> Commit:
    """Upsert ``data`` into the table at ``path``, which is created if there is none. Returns the
    commit.

    ``data`` is what ``table.upsert`` takes. A new table gets the columns of ``data`` and needs
    ``record_key``: the columns that identify a row, or () for generated keys. Rows of a table
    without a record key are added, and not compared. ``table``: other arguments of ``create``, such
    as ``partition_by`` or ``ordering``. They, and ``record_key``, may be repeated in each call:
    OptionConflictError if a table that is there says otherwise. ``batch`` and ``add_columns`` are
    those of ``table.upsert``.

    Raises CallError if there is no table and ``record_key`` is not given, and the errors of
    ``create`` and of writes.
    """
