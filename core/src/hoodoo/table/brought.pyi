"""Methods of :class:`hoodoo.Table` that plugins bring. Written by tests/meta/table_stub.py."""

import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from hoodoo_catalogs.sync import Synced
from hoodoo_cli.reports.figures import TableStats
from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter
from hoodoo_clustering.outcome import BucketsResized, PendingClustering
from hoodoo_copies.outcome import BackedUp
from hoodoo_erasure.outcome import Erased
from hoodoo_metadata.life.indexes import Index
from hoodoo_rows.api import Commit, Query, Scan
from hoodoo_services.outcome import (
    Archived,
    Cleaned,
    Comparison,
    Restored,
    Rewritten,
    RewrittenKeys,
)
from hoodoo_services.savepoints import Savepoint
from hoodoo_statements.builder import MergeBuilder
from hoodoo_versions.outcome import VersionChange

from hoodoo import Table
from hoodoo.hookspecs.engine import Engine
from hoodoo.model.findings import Progress, Report
from hoodoo.model.outcome import RolledBack
from hoodoo.timeline.batches import Batch

class Brought:
    # hoodoo-blob
    def blob_bytes(self, blobs: Any) -> pa.ChunkedArray:
        """The bytes of ``blobs``, an Arrow array of blobs of the table, as ``read_blob`` finds them.

        Raises CallError for anything but an Arrow array, and what ``read_blob`` raises.

        >>> table.blob_bytes(table.read(["photo"]).to_arrow()["photo"]).to_pylist()
        [b'...']
        """
    def read_blob(
        self, column: str, where: Any = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """The rows of the newest snapshot with the bytes of the blobs in ``column``: those that are
        stored in the table, and those of the files that blobs refer to. Other reads of the table give
        references as they are, and open no such file.

        ``where`` and ``columns`` are those of ``read``; ``columns`` need not contain ``column``. A
        reference is relative to the table's folder, or an absolute path or URI. Files outside of that
        folder are read only if they are in a folder that the option ``hoodoo.blob.folders`` names.

        Raises SchemaError for a column that is missing or has no blobs, ConfigError for a reference
        that leads somewhere else, and StorageError for a file that is missing or too short.

        >>> table.read_blob("photo", where="id = 1")["photo"].to_pylist()
        [b'...']
        """
    # hoodoo-catalogs
    def sync(self) -> tuple[Synced, ...]:
        """Update the catalogs that have the table now, also with what other programs committed. Writes
        and services do this by themselves. Returns what was done in each catalog; empty if the table is
        in none.

        Raises the error of the first catalog that could not be updated, after all others were.
        """
    # hoodoo-cli
    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """What happened to the table, the newest first: a dict for each completed commit and service,
        also archived ones. ``limit``: the newest ones alone; each of them costs the read of a file.

        ``version`` is the number of the commit, which ``as_of`` takes (1 is the first; None for
        services that write no commit); ``instant``, ``timestamp`` (when it completed; in version 6,
        when it began), ``operation`` and ``action`` say what it was; ``inserted``, ``updated``,
        ``deleted`` count rows, ``files`` and ``bytes`` what was written.

        >>> [(entry["version"], entry["operation"]) for entry in table.history(2)]
        [(2, 'upsert'), (1, 'bulk_insert')]
        """
    def stats(self, progress: Progress = ...) -> TableStats:
        """The size of the files, how much of it is old, and the cost of the writes; see
        docs/command-line.md. ``progress`` gets step, done and total."""
    def verify(
        self,
        *,
        quick: bool = False,
        keys: bool = True,
        sample: int | None = None,
        progress: Progress = ...,
    ) -> Report:
        """Check whether the table is correct: properties, timeline, files, their bytes, record keys.
        Changes nothing. ``quick`` opens no data file, and ``keys=False`` reads no rows. With
        ``sample``, only the record keys of some file slices are read, and this number of keys is looked
        up in the table's index.

        What looks wrong while writers change the table is looked at again, up to three times."""
    # hoodoo-clustering
    def cancel_clustering(self, instant: str) -> RolledBack:
        """Cancel a planned clustering, even if it is running. All its files are removed. Raises
        ConfigError if it is not pending."""
    def cluster(
        self,
        plan: Any = None,
        order: Any = None,
        *,
        columns: str | Sequence[str] | None = None,
        target_file_size: int | None = None,
        partitions: str | Sequence[str] | PartitionFilter | None = None,
        options: Mapping[str, Any] | None = None,
        engine: str | Engine | None = None,
    ) -> Commit:
        """Rewrite file groups with a good size and order. No row changes, and writers can continue.

        ``plan`` groups files: ``size``, ``several``, ``single_file``, ``copy``, ``key_range``,
        ``commit_time``, ``overlap``, ``random``. ``order`` sorts their rows: ``linear``, ``zorder``,
        ``hilbert``, ``single_file``, ``combine`` (not sorted). Both take the name of a plugin, a Java
        class name or an object, too. ``columns`` are the columns to sort by. ``target_file_size`` is in
        bytes. ``partitions`` are partition paths, or an object that filters them. ``options`` are
        further options. What you do not give comes from the table's ``hoodie.clustering.*`` options.

        ``notes`` of the commit say which file slices are left out. Pending clusterings are run first,
        except those that another tool has begun. If there is nothing to do, the commit has an empty
        instant. Raises CommitConflictError if the clustering gives way to a write."""
    def clusterings(self) -> tuple[PendingClustering, ...]:
        """The clusterings that are planned and not completed, the oldest first."""
    def optimize(
        self,
        columns: str | Sequence[str] | None = None,
        *,
        order: Any = None,
        target_file_size: int | None = None,
        engine: str | Engine | None = None,
    ) -> tuple[Commit, ...]:
        """Make reads fast: compact the log files of a merge-on-read table, then cluster small files
        into larger ones. No row changes. Returns the commits of what was done.

        ``columns`` are the columns to sort by, and ``order`` is that of ``cluster``; by default
        ``linear`` for one column, and ``zorder`` for several. ``target_file_size`` is in bytes. Old
        files stay until they are cleaned. Raises what ``compact`` and ``cluster`` raise.
        """
    def resize_buckets(
        self,
        buckets: int | None = None,
        *,
        expressions: str | None = None,
        dry_run: bool = False,
        engine: str | Engine | None = None,
    ) -> BucketsResized:
        """Give the partition paths of a table with a bucket index other numbers of buckets. No row
        changes.

        ``buckets`` is the number of each path, or of the paths without a rule if the table has rules
        by path. ``expressions`` are these rules, ``regex,number`` with ``;`` between them; an empty
        text removes them. What you do not give stays. Readers and writers can continue. After a crash,
        repeat the call.

        ``dry_run``: change nothing, and say what would be rewritten. Raises UnsupportedTableError for
        another index, ConfigError for a number or rules that are invalid, and CommitConflictError if a
        compaction or a clustering is pending for the file groups."""
    def run_cluster(
        self, instant: str, *, order: Any = None, engine: str | Engine | None = None
    ) -> Commit:
        """Run a planned clustering of Hoodoo or of another tool, from the start or from where an
        earlier run stopped.

        ``order`` is an object, if the plan was made with one. Raises ConfigError if the plan is not
        pending or if its strategy is not installed; CommitConflictError if another process runs it, or
        if it gives way to a write: then it is undone."""
    def run_clustering(
        self, instant: str, *, order: Any = None, engine: str | Engine | None = None
    ) -> Commit:
        """Run a planned clustering of Hoodoo or of another tool, from the start or from where an
        earlier run stopped.

        ``order`` is an object, if the plan was made with one. Raises ConfigError if the plan is not
        pending or if its strategy is not installed; CommitConflictError if another process runs it, or
        if it gives way to a write: then it is undone."""
    def schedule_cluster(
        self,
        plan: Any = None,
        order: Any = None,
        *,
        columns: str | Sequence[str] | None = None,
        target_file_size: int | None = None,
        partitions: str | Sequence[str] | PartitionFilter | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Plan a clustering, and run nothing. Returns its instant, or None if there is nothing to do.

        The plan contains everything that the run needs: another process may run it, with other
        options. The arguments are those of ``cluster``, except that ``order`` cannot be an object.
        Raises ConfigError for invalid arguments, and CommitConflictError while a restore or a rollback
        is in progress."""
    def schedule_clustering(
        self,
        plan: Any = None,
        order: Any = None,
        *,
        columns: str | Sequence[str] | None = None,
        target_file_size: int | None = None,
        partitions: str | Sequence[str] | PartitionFilter | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> str | None:
        """Plan a clustering, and run nothing. Returns its instant, or None if there is nothing to do.

        The plan contains everything that the run needs: another process may run it, with other
        options. The arguments are those of ``cluster``, except that ``order`` cannot be an object.
        Raises ConfigError for invalid arguments, and CommitConflictError while a restore or a rollback
        is in progress."""
    # hoodoo-copies
    def backup(self, target: str | os.PathLike[str], *, verify: bool = False) -> BackedUp:
        """Copy the table to ``target``, a directory or URI, also on another store; a repeated call
        copies what has changed. Writers can continue. Each file that is copied is read back and
        compared.

        The copy is a table that can be read, a state that this table had; do not write to it:
        ``hoodoo.restore_backup`` makes a new table of it. It has no metadata table. If the call was
        interrupted, repeat it. ``verify``: read all files of the copy, also those of earlier calls, and
        compare their checksums.

        Raises ConfigError if ``target`` is not empty and no backup of this table, or was written to;
        CommitConflictError if cleans come too often; CorruptTableError for a file of the copy that has
        changed.

        >>> table.backup("s3://backups/trips").copied
        12
        """
    def clone(
        self,
        path: str | os.PathLike[str],
        as_of: str | date | int | None = None,
        *,
        shallow: bool = False,
    ) -> Table:
        """Make a new table at ``path`` with the properties of this table, and its rows, now or
        ``as_of`` a time, an instant or a tag. The rows are read and written in tasks of the engine. The
        new table has one commit, and no history.

        Raises TableExistsError if there is a table at ``path``, ConfigError for an invalid time, and
        UnsupportedTableError for ``shallow``, because two tables cannot share files.

        >>> table.clone("trips-test", as_of="eom-11").count()
        41
        """
    def tag(self, name: str, instant: str | int | None = None) -> str:
        """Give the completed write ``instant`` a name that ``as_of`` takes; by default the newest, and
        the number of a commit is taken, too. Its files stay until the tag is deleted: a tag is a
        savepoint with a name. Returns the instant.

        Raises ConfigError for an invalid name, for one that is used already, and if there is no such
        write.

        >>> table.tag("eom-11")
        '20261129104500123'
        """
    def tags(self) -> dict[str, str]:
        """The tags of the table, and the instants that they name, the oldest first. Raises no error."""
    def untag(self, name: str) -> None:
        """Delete the tag ``name``; a later clean may delete its files. A savepoint that was there
        before the tag stays. Raises ConfigError for an unknown tag."""
    # hoodoo-erasure
    def erase(
        self,
        where: Any = None,
        *,
        keys: Any = None,
        look_for: Sequence[str] | None = None,
        prove: bool | bytes = False,
        drop_savepoints: bool = False,
    ) -> Erased:
        """Delete rows, and all files of before that may hold them: older file slices, log files, the
        metadata table's old files. You cannot read earlier states afterwards.

        ``where`` is a condition as for ``delete``; ``keys`` are record keys as for ``delete``, also of
        rows that are deleted already. The call can be repeated after a crash, and goes on: by then, it
        needs neither.

        ``prove``: look through all files of the table for the record keys, and for the texts
        ``look_for``; the result has a report, which names keys by hashes. If it is bytes, they are a
        key that signs the report.

        Raises ConfigError if there are savepoints, unless ``drop_savepoints`` is set;
        CommitConflictError while a clustering is pending, or if other writers are too busy; and
        UnsupportedTableError for a bootstrapped table.

        >>> table.erase("id = 3", prove=True).proven
        True
        """
    # hoodoo-frames
    def to_pandas(
        self,
        columns: Sequence[str] | None = None,
        where: Any = None,
        as_of: str | date | int | None = None,
    ) -> pd.DataFrame:
        """All rows as a pandas DataFrame. The arguments are those of ``read``. Raises EngineError if
        pandas is not installed."""
    def to_polars(
        self,
        columns: Sequence[str] | None = None,
        where: Any = None,
        as_of: str | date | int | None = None,
    ) -> pl.DataFrame:
        """All rows as a polars DataFrame; ``hoodoo.scan_polars`` reads only what a query needs. The
        arguments are those of ``read``. Raises EngineError if polars is not installed."""
    # hoodoo-history
    def changes(
        self,
        since: str | date | int,
        until: str | date | int | None = None,
        columns: Sequence[str] | None = None,
        where: Any = None,
    ) -> Query:
        """The changes of each commit after ``since`` and up to ``until`` (by default: now): one row for
        each inserted, updated or deleted row, with its images before and after.

        ``columns`` are the columns of the images. ``where`` is applied to both images, and one of them
        has to match. A row that moves to another partition path is deleted in the old path and inserted
        in the new one. Raises the same errors as ``incremental``."""
    def incremental(
        self,
        since: str | date | int,
        until: str | date | int | None = None,
        columns: Sequence[str] | None = None,
        where: Any = None,
        meta: bool = False,
    ) -> Scan:
        """A lazy scan of the rows that were written by commits after ``since`` and up to ``until`` (by
        default: now), with their values at the end of that range. Deleted rows are not returned: see
        ``changes``.

        ``since`` and ``until`` have the same form as ``as_of``, or are ``"earliest"``. Commits are
        ordered by completion, in version 6 by request. ``scan.plan.until`` is the ``since`` of the next
        read. ``columns`` and ``meta`` are those of ``read``. Raises ConfigError for an invalid time,
        and if a clean has deleted files that ``until`` needs."""
    # hoodoo-metadata
    def compact_metadata(self, *, engine: str | Engine | None = None) -> tuple[str, ...]:
        """Compact the metadata table now. Returns the instants of its compactions. Writes do this
        automatically after every ``hoodie.metadata.compact.max.delta.commits`` commits."""
    def create_index(
        self,
        name: str,
        columns: str | Sequence[str] | None = None,
        kind: str = ...,
        expression: str | None = None,
        *,
        engine: str | Engine | None = None,
    ) -> Index:
        """Create an index in the metadata table, beside writers. From then on, every writer updates it.

        ``kind`` is by default ``secondary``: an index of one column with texts, whole numbers or dates.
        Reads with a filter such as ``city = 'oslo'`` or ``n in (1, 2)`` then open only the files that
        have such rows. It needs the record index of the whole table, which is created if it is missing;
        the table's own index stays. Other kinds are ``record_index``, ``partitioned_record_index``,
        ``growing_record_index``, ``column_stats`` and ``bloom_filters``; their names are the same, and
        a table has at most one of each. They need no ``columns``.

        ``expression``, SQL such as ``from_unixtime(ts, 'yyyy-MM-dd')``, makes an expression index of
        Hudi, by which Spark Hudi skips files when a query filters by the same expression. Reads of
        Hoodoo do not use it: they skip files by the ranges of the column itself.

        Raises ConfigError for an invalid index, UnsupportedTableError for tables that cannot have this
        kind, and CommitConflictError if another process is creating an index."""
    def drop_index(self, name: str) -> tuple[str, ...]:
        """Drop a partition of the metadata table (``bloom_filters``, ``column_stats``), or the
        partition of an index that is stored there (``partitioned_record_index``). Returns the dropped
        partitions. Writers can continue, and no longer update it.

        Raises ConfigError for a partition that the table does not have, or that it needs (``files``,
        and that of its own index); CommitConflictError if another process creates or drops one."""
    def indexes(self) -> tuple[Index, ...]:
        """The indexes in the table's metadata table, by name. The list of files is not an index."""
    def location_changes(
        self, since: str | date, until: str | date | None = None, index: str | None = None
    ) -> Query:
        """The changes in the record index after ``since`` and up to ``until`` (by default: now):
        ``record_key``, ``partition_path``, ``file_id``, and the ``instant`` of the change. Lazy. Only
        the newest change of a key is returned; path and file id are null if the key was deleted. An
        update of a row in its file group is no change. ``index`` names the index, if there are several.

        If the index does not have these changes any more, the record keys of both states are compared:
        then ``instant`` is null.

        The times are those of ``incremental``. Raises ConfigError for invalid times, if there is no
        record index, and for states whose files have been cleaned, or whose instants are archived.
        """
    # hoodoo-publishing
    def publish(
        self,
        formats: str | Sequence[str] | None = None,
        *,
        catalog: str | Sequence[str] | None = None,
        keep: bool = False,
    ) -> tuple[str, ...]:
        """Write the metadata of other formats for the newest state of the table: ``"delta"``,
        ``"iceberg"``, or both, and ``"manifest"``, a list of the newest base files; by default those of
        the property ``hoodoo.open.formats``. With ``keep``, ``formats`` are stored there: they, and no
        others, are written after each action; ``""`` switches all off.

        ``catalog``: catalogs that show the table as the format, by default those of the property
        ``hoodoo.open.catalogs``: ``"glue://db.trips"``, ``"hms://host:9083/db.trips"``, or
        ``"iceberg://name/db.trips"`` for a catalog that pyiceberg's configuration describes;
        ``"iceberg=glue://db.trips"`` if several formats are published. ``keep`` stores them, too.

        Returns ``<format> <instant>`` of each new version, and ``<format>=<catalog>`` of each entry
        that has changed. Raises ConfigError for an unknown format, and for a merge-on-read table
        without ``hoodoo.open.read.optimized``, SchemaError for a column that the format has no type
        for, and CommitConflictError if other processes are always first; then the error of a catalog.
        """
    # hoodoo-rows
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All rows, by Arrow's PyCapsule interface: ``polars.DataFrame(trips)``,
        ``duckdb.sql("FROM trips")``, ``pyarrow.table(trips)``."""
    def append(
        self,
        data: Any,
        *,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
        add_columns: bool = False,
    ) -> Commit:
        """Add rows in new files, without an exchange and without a comparison with stored keys."""
    def bulk_insert(
        self,
        data: Any,
        *,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
        add_columns: bool = False,
    ) -> Commit:
        """Write rows to new files in the order in which they arrive. This is the fastest write, for
        first loads."""
    def count(self, where: Any = None, as_of: str | date | int | None = None) -> int:
        """The number of rows. Without ``where``, only the footers of files are read. The arguments are
        those of ``read``."""
    def delete(
        self,
        data: Any = None,
        *,
        where: Any = None,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
    ) -> Commit:
        """Delete rows by key. ``data`` has the key columns, or whole rows. Without the partition
        columns, a key is deleted in every partition path. If the key is one column, a list of keys is
        enough.

        Or delete all rows for which ``where`` is true: a pyarrow expression, SQL as text, or a Spark
        Column."""
    def delete_partitions(self, paths: str | Sequence[str]) -> Commit:
        """Drop whole partition paths (``"region=apac"``, or ``"2013/01"`` without hive style)."""
    def head(
        self,
        n: int = 10,
        columns: Sequence[str] | None = None,
        where: Any = None,
        as_of: str | date | int | None = None,
    ) -> pa.Table:
        """The first ``n`` rows, in memory, as a pyarrow Table. Reads only as much of the files as
        necessary. Rows have no order of their own. The other arguments are those of ``read``."""
    def insert(
        self,
        data: Any,
        *,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
        add_columns: bool = False,
    ) -> Commit:
        """Add rows; small files are filled first. Stored keys are compared only if
        ``hoodie.datasource.insert.dup.policy`` is ``drop`` or ``fail``."""
    def insert_overwrite(
        self,
        data: Any,
        *,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
        add_columns: bool = False,
    ) -> Commit:
        """Replace the partition paths that occur in ``data`` with its rows."""
    def insert_overwrite_table(
        self,
        data: Any,
        *,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
        add_columns: bool = False,
    ) -> Commit:
        """Replace all rows of the table with the rows of ``data``."""
    def query(self, name: str, /, **arguments: Any) -> Scan | Query:
        """A lazy read of the query type ``name``. hoodoo-history provides ``incremental`` and
        ``changes``. ``arguments`` are those of the query type.

        Raises PluginError if no plugin provides the query type, and CallError for unknown arguments.
        """
    def read(
        self,
        columns: Sequence[str] | None = None,
        where: Any = None,
        as_of: str | date | int | None = None,
        mode: str = "snapshot",
        meta: bool = False,
    ) -> Scan:
        """A lazy scan of the newest rows, or of the rows at the time ``as_of`` (inclusive): an
        instant, a datetime, a date (its end), ISO 8601 text with a zone, or the number of a commit: 1
        is the first, -1 the newest, 0 none. A rollback or restore changes numbers; instants stay.

        ``columns`` are by default the table's own columns. ``meta`` adds Hudi's ``_hoodie_*`` columns
        after them; ``columns`` may also name these. ``where`` is a pyarrow compute expression over all
        columns or, with hoodoo-statements, a condition in SQL or a Spark Column. Raises SchemaError for
        unknown columns, and ConfigError for an invalid time.
        """
    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        where: Any = None,
        as_of: str | date | int | None = None,
    ) -> pa.Table:
        """All rows in memory, as a pyarrow Table. The arguments are those of ``read``."""
    def upsert(
        self,
        data: Any,
        *,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
        add_columns: bool = False,
    ) -> Commit:
        """Update rows whose key is in the table, and insert the others. All writes: docs/writing.md.

        A column that the table lacks is refused. With ``add_columns=True`` (also in the other writes)
        it becomes a column of the table. ``batch`` (also in the other writes) is the name and number of
        a batch. If this batch, or a newer batch of its stream, is already in the table, nothing is
        written, and the commit has an empty instant. See docs/streaming.md."""
    # hoodoo-services
    def archive(self) -> Archived:
        """Move the oldest instants of the active timeline into the archived timeline, if there are more
        completed writes than ``hoodie.keep.max.commits``. Instants that reading and cleaning need
        stay."""
    def check_restore(self, instant: str | int) -> tuple[str, ...]:
        """The instants that ``restore`` would undo now, in their order. Changes nothing. Raises the
        errors that ``restore`` would raise before it changes anything."""
    def clean(self, /, policy: Any = None, **settings: Any) -> Cleaned:
        """Delete the files that neither recent readers nor a savepoint need.

        Pending cleans are finished, then a new one is planned and run. ``policy`` is a name or an
        object; the default is ``hoodie.clean.policy``. ``settings`` are options of cleaning without the
        first part of their names: ``commits_retained=5``, ``reader_window=2``. If there is nothing to
        do, the instant of the result is empty. Raises StorageError if a file cannot be deleted: then
        clean again."""
    def compact(self, strategy: Any = None, *, engine: str | Engine | None = None) -> Commit:
        """Write new base files from the log files of a merge-on-read table. No row changes, and writers
        can continue.

        Pending compactions are finished, then a new one is planned and run. ``strategy`` is a name, a
        Java class name or an object; the default is ``hoodie.compaction.strategy``. If there is nothing
        to do, the commit has an empty instant."""
    def compare_indexes(
        self,
        a: Any,
        b: Any,
        since: str | date | None = None,
        until: str | date | None = None,
        *,
        engine: str | Engine | None = None,
    ) -> Comparison:
        """Look keys up in two indexes, and report the differences. ``a`` and ``b`` are names, Java
        class names or objects. Changes nothing.

        With ``since``, the keys of rows that commits after it and up to ``until`` (by default: now)
        wrote. Without it, all keys of the table, and stale entries are reported, too: entries of a
        stored index for keys that the table does not have. Raises ConfigError for invalid times and
        names, and CorruptTableError if an index cannot be read.
        """
    def delete_savepoint(self, instant: str) -> None:
        """Delete the savepoint of ``instant``, and the tags that name it; a later clean may delete its
        files."""
    def enable_virtual_keys(self, kept: Sequence[str] = ...) -> None:
        """Do not store record keys from now on: they are made from the columns of a row (RFC-21).

        Changes only the table's properties: stored keys are no longer used. ``kept`` names the meta
        columns that rows still store; with all five of them, you can return to stored keys. A record
        index is first built again, which reads all keys; see docs/virtual-keys.md.

        Raises ConfigError if readers could not make the keys, or if a stored key differs from the key
        that its columns give.
        """
    def locate(
        self,
        keys: Any,
        as_of: str | date | int | None = None,
        *,
        index: Any = None,
        engine: str | Engine | None = None,
    ) -> pa.Table:
        """Find the rows of ``keys``. Returns ``record_key``, ``partition_path``, ``file_id`` and
        ``instant``, the instant in the name of the file slice, once for each file group with the key.

        ``keys`` are those of ``delete``: data with the key columns, or a list if the key is one column.
        Without the partition columns, a key is found in every partition path. The keys are looked up in
        the table's index, or in the one that ``index`` names. With ``as_of``, the files of that time
        are read. Raises ConfigError for an invalid time, for a time whose files have been cleaned, and
        for ``as_of`` together with ``index``.
        """
    def rebuild_index(
        self,
        name: str | None = None,
        *,
        source: Any = None,
        buckets: int | None = None,
        hash: str | None = None,
        scaling: str | None = None,
        cap: int | None = None,
        engine: str | Engine | None = None,
    ) -> tuple[str, ...]:
        """Rebuild the metadata table from the table's files, beside writers. Returns its partitions.

        ``name`` is one partition (``record_index``), or an index that is stored there (such as
        ``growing_record_index``, or one of ``create_index``), which is created or built again; by
        default all, and at least ``files``. Readers do not use them until they are complete. ``source``
        is an index (``bloom``, ``simple``, an object) from whose answers a record index is built.

        ``buckets`` is the number of file groups of a record index (in each partition path, if it is
        partitioned), or the first number of buckets of a growing one. ``hash``, ``scaling`` and ``cap``
        are for a growing record index, as the options ``hoodoo.index.hash``, ``.scaling`` and
        ``.bucket.cap``; the table stores them.

        A new global index becomes the table's index, if the table has no bound index yet and each key
        is in one place. Raises ConfigError for a partition that cannot be built in this way,
        UnsupportedTableError for one that tables of this version cannot have, and CommitConflictError
        if another process is rebuilding.
        """
    def restore(self, instant: str | int) -> Restored:
        """Undo all actions after the completed write ``instant``, forever: afterwards the table has the
        rows that ``read(as_of=instant)`` returns. Numbers of commits and tags are taken, too. Stop
        other writers first: unfinished writes are undone, too.

        Raises ConfigError, and changes nothing, if there is no such write, if files that it needs have
        been cleaned (a savepoint prevents this), or if there is a later savepoint."""
    def rewrite(
        self,
        options: Mapping[str, Any] | None = None,
        where: Any = None,
        partitions: str | Sequence[str] | None = None,
        *,
        evolved: bool = False,
        virtual_keys: bool = False,
        target_file_size: int | None = None,
        again: bool = False,
        dry_run: bool = False,
        engine: str | Engine | None = None,
        progress: Progress = ...,
    ) -> Rewritten:
        """Write the base files of the table again, with other ``options``: the codec, the size of
        row groups and pages, or bloom filters. No row changes, and readers and writers can continue.

        ``where`` chooses the files that may contain rows for which the condition is true, and
        ``partitions`` those of some partition paths. ``evolved=True`` chooses only files whose
        columns are not those of the table now. ``virtual_keys=True`` makes the record keys virtual
        first, and chooses the files that still store them. ``target_file_size``, in bytes, clusters the
        chosen partition paths into larger files first, with new file groups.

        Otherwise file groups keep their ids, rows and commit times. Slices with log files are
        compacted. Repeat an interrupted call: file groups that were written since it began are left
        out, also in a second call with the same options; ``again=True`` begins again. ``dry_run``
        counts what would be rewritten. ``progress`` gets step, done and total, in file groups.

        Raises UnknownOptionError and ConfigError for invalid options, SchemaError for a column that
        does not exist, and CommitConflictError if other writers cause a conflict again and again.
        """
    def rewrite_keys(
        self, virtual: bool = True, *, engine: str | Engine | None = None, progress: Progress = ...
    ) -> RewrittenKeys:
        """Rewrite the files that still store record keys although keys are virtual, as
        ``enable_virtual_keys`` makes them first if necessary.

        File groups are rewritten one after another, beside readers and writers; call it again after an
        interruption. Slices with log files are compacted. ``virtual=False`` returns to stored keys; it
        needs a table in which all rows store all meta columns. ``progress`` gets step, done and total,
        in file groups, after each commit.

        Raises ConfigError, and CommitConflictError if other writers cause a conflict again and again.
        """
    def run_clean(self, instant: str) -> Cleaned:
        """Run a planned clean, from the start or from where an earlier run stopped. Files that have
        become necessary since it was planned are not deleted."""
    def run_compact(self, instant: str, *, engine: str | Engine | None = None) -> Commit:
        """Run a planned compaction, from the start or from where an earlier run stopped."""
    def run_compaction(self, instant: str, *, engine: str | Engine | None = None) -> Commit:
        """Run a planned compaction, from the start or from where an earlier run stopped."""
    def run_restore(self, instant: str) -> Restored:
        """Run the planned restore ``instant``, from the start or from where an earlier run stopped."""
    def savepoint(self, instant: str | None = None, comment: str = "", user: str = "") -> str:
        """Protect the completed write ``instant`` (by default the newest) and its files. Returns the
        instant.

        Cleaning and archiving do not touch them until the savepoint is deleted. Raises ConfigError if
        there is no such write, or if some of its files have already been cleaned."""
    def savepoints(self) -> tuple[Savepoint, ...]:
        """All savepoints, the oldest first."""
    def schedule_clean(self, /, policy: Any = None, **settings: Any) -> str | None:
        """Plan a clean. Returns its instant, or None if there is nothing to delete."""
    def schedule_compact(self, strategy: Any = None) -> str | None:
        """Plan a compaction. Returns its instant, or None if there is nothing to compact. If a process
        died during a rollback, that rollback is finished first.

        Raises CommitConflictError in version 6 if a write is in progress.
        """
    def schedule_compaction(self, strategy: Any = None) -> str | None:
        """Plan a compaction. Returns its instant, or None if there is nothing to compact. If a process
        died during a rollback, that rollback is finished first.

        Raises CommitConflictError in version 6 if a write is in progress.
        """
    def schedule_restore(self, instant: str) -> str | None:
        """Plan a restore. Returns its instant, or None if there is no action after ``instant``. From
        then on no write that has begun can complete, and the next writer would finish the restore."""
    def switch_index(self, index: Any, *, engine: str | Engine | None = None) -> Comparison:
        """Give the table another index, a name or an object, for all writers. Returns how the index
        agrees with the files.

        A stored index that does not exist is built, and the index has to find every row. Writers can
        continue.

        If the rows do not fit the index, nothing is changed, and the error names keys:
        DuplicateKeyError for keys in several partition paths with a global index; DataError for rows
        that an index of partition paths would not find; ConfigError for an index that computes other
        places for rows, and for one that the table cannot have; CorruptTableError for a stored index
        that differs from the files.
        """
    def vacuum(self, retention_hours: int | None = None) -> Cleaned:
        """Delete files that neither recent readers nor a savepoint need: ``clean`` by the name that
        Delta Lake has for it. It deletes at once; there is no dry run.

        With ``retention_hours``, the states of the last hours stay readable, and no older one but those
        of savepoints; the newest state stays always. Without it, the table's ``hoodie.clean.policy``
        says what stays.
        """
    # hoodoo-statements
    def alter(
        self,
        add: Any = None,
        *,
        widen: Mapping[str, Any] | None = None,
        nullable: str | Sequence[str] | None = None,
        rename: Mapping[str, str] | None = None,
        drop: str | Sequence[str] | None = None,
        reorder: str | Sequence[str] | None = None,
        comments: Mapping[str, str] | None = None,
        engine: str | Engine | None = None,
    ) -> Commit:
        """Change the table's schema in one commit without rows. Existing files are not rewritten.

        ``add`` maps columns, or fields within them (``"place.zone"``, ``"stops.element.zone"``,
        ``"by.value.zone"``), to types: pyarrow types, or Spark's names of types (``"bigint"``,
        ``"decimal(9, 2)"``, ``"array<string>"``). They are null in existing rows. ``widen`` maps
        columns to wider types: int to bigint, float or double; float to double; decimals in precision.
        ``nullable`` names columns that accept nulls from now on. ``rename`` maps columns, and fields
        within them, to new names; ``drop`` takes some away; those of ``reorder`` come first. Other
        readers need ``hoodie.schema.on.read.enable=true`` from then on. Columns of the key, the
        partition path, the ordering and of indexes are refused; so are ``comments``.

        Raises SchemaError and ConfigError. If nothing has to change, the instant of the commit is
        empty."""
    def merge(
        self,
        source: Any,
        on: Any = None,
        *,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
    ) -> MergeBuilder:
        """Merge ``source`` into the table: add clauses, then call ``execute()``. ``source`` is any data
        that a write accepts, another table, or a scan.

        ``on`` says which rows match: the name of a column that both sides have, a list of such names,
        or a condition in SQL over ``target.*`` and ``source.*``. The default is the columns of the
        record key."""
    def update(
        self,
        set: Mapping[str, Any],
        where: Any = None,
        *,
        engine: str | Engine | None = None,
        batch: Batch | None = None,
    ) -> Commit:
        """Change columns of the rows for which ``where`` is true; without ``where``, of all rows.

        ``set`` maps columns to expressions: SQL as text, a Spark Column, a pyarrow expression, or a
        value that is not text. ``where`` is SQL, a Column, or a pyarrow expression. This is one commit.
        If no row changes, there is no commit, and the instant is empty. Raises ConfigError, SchemaError
        and DataError."""
    # hoodoo-vectors
    def search(
        self,
        column: str,
        vector: Any,
        k: int = 10,
        metric: str = "l2",
        where: Any = None,
        columns: Sequence[str] | None = None,
        approximate: bool = False,
    ) -> pa.Table:
        """The ``k`` rows of the newest snapshot whose vectors in ``column`` are nearest to ``vector``,
        the nearest first, as a pyarrow Table with the distance in the column ``_distance``. The search
        is exact, unless it may be ``approximate``: then an index of a plugin, such as
        hoodoo-vector-index, says which rows are compared, and some of the nearest may be missing.
        Distances are exact, and what the index does not know is searched whole.

        ``column`` has lists of float, double or int8, of one length; rows with null are left out.
        ``vector`` is a list, a NumPy or an Arrow array of that length. A 2-D array is a vector in each
        row: the result has ``k`` rows for each, with its number in the column ``_query``. ``metric`` is
        ``"l2"`` (Euclidean distance), ``"cosine"`` (1 minus the cosine; 1.0 for a vector of zeros), or
        ``"dot"`` (the negated inner product), as in Hudi's ``hudi_vector_search``. ``where`` and
        ``columns`` are those of ``read``; ``columns`` need not contain ``column``.

        Raises SchemaError for a column that is missing or has no vectors, for stored vectors of another
        length, with NaN or null; ConfigError for a vector that is none, an unknown ``metric`` and for
        ``k`` below 1; PluginError for an approximate search where no plugin has an index.
        """
    # hoodoo-versions
    def downgrade(self, version: int = 6, *, dry_run: bool = False) -> VersionChange:
        """Give the table an older table version of Hudi: 9 to 8 or 6, 8 to 6. No row changes. The steps
        and errors are those of ``upgrade``.

        Indexes that the older version does not have are dropped; the result says which. Raises
        ConfigError if the table's own index is one of them.

        >>> table.downgrade(6, dry_run=True).steps[-1]
        'change the properties from version 9 to 8 to 6'
        """
    def upgrade(self, version: int = 9, *, dry_run: bool = False) -> VersionChange:
        """Give the table a newer table version of Hudi: 6 to 8 or 9, 8 to 9. No row changes.

        Readers can continue. Stop writers of other engines first; writes of Hoodoo that are in
        progress cannot complete. After a crash the table has the old or the new version, whole: repeat
        the call. A repeated call also deletes the timeline of the old version.

        ``dry_run``: change nothing. The result lists the steps, and what is lost. Raises
        UnsupportedTableError for a table that cannot be converted, ConfigError for an older version,
        and CommitConflictError while something is pending that this call does not finish.

        >>> table.upgrade(9).done
        False
        """
