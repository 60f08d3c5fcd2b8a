"""What a commit says about itself: write stats per partition, replaced file groups, extra
metadata."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from attrs import Factory, field, frozen

from hoodoo.model.outcome import Figures

# Of a write stat: path of each log of change data -> its bytes.
CHANGE_LOGS = "cdcStats"


class Operation(str, enum.Enum):
    """Hudi's ``operationType`` values (WriteOperationType)."""

    INSERT = "INSERT"
    INSERT_PREPPED = "INSERT_PREPPED"
    UPSERT = "UPSERT"
    UPSERT_PREPPED = "UPSERT_PREPPED"
    DELETE = "DELETE"
    DELETE_PREPPED = "DELETE_PREPPED"
    BULK_INSERT = "BULK_INSERT"
    BULK_INSERT_PREPPED = "BULK_INSERT_PREPPED"
    BOOTSTRAP = "BOOTSTRAP"
    INSERT_OVERWRITE = "INSERT_OVERWRITE"
    INSERT_OVERWRITE_TABLE = "INSERT_OVERWRITE_TABLE"
    DELETE_PARTITION = "DELETE_PARTITION"
    CLUSTER = "CLUSTER"
    COMPACT = "COMPACT"
    LOG_COMPACT = "LOG_COMPACT"
    INDEX = "INDEX"
    ALTER_SCHEMA = "ALTER_SCHEMA"
    BUCKET_RESCALE = "BUCKET_RESCALE"
    UNKNOWN = "UNKNOWN"

    @property
    def can_change_schema(self) -> bool:
        """Not those that only rewrite what is there (WriteOperationType.canUpdateSchema)."""
        return self not in (
            Operation.CLUSTER, Operation.COMPACT, Operation.LOG_COMPACT, Operation.INDEX
        )  # fmt: skip


_SERVICES = frozenset(
    {
        Operation.CLUSTER,
        Operation.COMPACT,
        Operation.LOG_COMPACT,
        Operation.INDEX,
        Operation.BUCKET_RESCALE,
    }
)


@frozen
class WriteStat:
    """One written file (HoodieWriteStat). Counts are rows, sizes bytes.

    ``num_writes`` counts all rows of the new file; ``num_inserts``, ``num_updates`` and
    ``num_deletes`` count the change. ``prev_commit`` is ``"null"`` for a new file group. A log file
    has a ``log_version``; its ``base_file`` is the name of the base file that it belongs to (table
    version 6; empty from 8 on), ``log_files`` are the names of the slice's log files (6) or its own
    (from 8 on). ``extra`` keeps the fields that other writers set and Hoodoo does not interpret.
    """

    partition_path: str
    file_id: str
    path: str
    prev_commit: str = "null"
    prev_base_file: str | None = None
    num_writes: int = 0
    num_inserts: int = 0
    num_updates: int = 0
    num_deletes: int = 0
    total_write_errors: int = 0
    file_size: int = 0
    min_event_time: int | None = None
    max_event_time: int | None = None
    base_file: str | None = None
    log_version: int | None = None
    log_files: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(factory=dict)

    @property
    def unmerged(self) -> int:
        """The updates and deletes of a log file. Each is one row; whether it wins is known when it
        is merged."""
        return 0 if self.log_version is None else self.num_updates + self.num_deletes

    @property
    def marks(self) -> int:
        """Of the rows of a log file those that are marked as deleted."""
        return self.num_writes - self.num_inserts - self.num_updates

    @property
    def paths(self) -> tuple[str, ...]:
        """The file, and the logs of change data beside it."""
        logs = self.extra.get(CHANGE_LOGS)
        return (self.path, *logs) if isinstance(logs, dict) else (self.path,)


@frozen
class CommitMetadata:
    """The contents of a completed commit, deltacommit or replacecommit.

    ``replaced`` maps partition path to full file ids (replacecommit only). ``extra`` is Hudi's
    ``extraMetadata``; key ``schema`` holds the Avro schema without meta columns.
    """

    operation: Operation = Operation.UNKNOWN
    stats: tuple[WriteStat, ...] = ()
    replaced: Mapping[str, tuple[str, ...]] = Factory(dict)
    extra: Mapping[str, str] = Factory(dict)
    compacted: bool = False

    @property
    def replaced_groups(self) -> frozenset[tuple[str, str]]:
        """(partition path, file id) of each replaced file group."""
        return frozenset((path, file_id) for path, ids in self.replaced.items() for file_id in ids)

    @property
    def figures(self) -> Figures:
        """The figures for observers. A service changes no row."""
        is_service = self.compacted or self.operation in _SERVICES
        changed = () if is_service else self.stats
        return Figures(
            files_added=sum(len(stat.paths) for stat in self.stats),
            files_removed=0,
            bytes_written=sum(stat.file_size for stat in self.stats),
            rows_inserted=sum(stat.num_inserts for stat in changed),
            rows_updated=sum(stat.num_updates for stat in changed),
            rows_deleted=sum(stat.num_deletes for stat in changed),
            rows_unmerged=sum(stat.unmerged for stat in changed),
            partitions=tuple(sorted({*(s.partition_path for s in self.stats), *self.replaced})),
        )

    @property
    def schema_text(self) -> str | None:
        """The schema of the table after the commit as Avro JSON (``extraMetadata.schema``); None if
        not stored."""
        return self.extra.get("schema") or None
