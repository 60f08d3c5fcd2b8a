"""Commit metadata <-> the plain record that JSON and Avro share (HoodieCommitMetadata, format 2.3).

A field that the model does not interpret, or whose stored value is not what the model would write
(a null count, another ``totalWriteBytes``), is kept in ``WriteStat.extra`` and written back as it
was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, Final

from attrs import evolve, frozen

from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.timeline.codec.bounded import reading

JSON: Final = "json"  # table version 6
AVRO: Final = "avro"  # table versions 8 and 9

_NO_RUNTIME = {"totalScanTime": 0, "totalUpsertTime": 0, "totalCreateTime": 0}
_AVRO_ONLY = {
    "totalLogFiles": None,
    "logVersion": None,
    "logOffset": None,
    "baseFile": None,
    "logFiles": None,
    "totalLogReadTimeMs": 0,
    "numUpdates": 0,
}


def to_record(metadata: CommitMetadata, form: str) -> dict[str, Any]:
    """The record of ``metadata`` without ``partitionToReplaceFileIds``; ``form`` is JSON or AVRO.

    A stat without path is an entry of an inflight workload profile: its path and partition path are
    null, as Hudi writes them.
    """
    partitions: dict[str, list[WriteStat]] = {}
    for stat in metadata.stats:
        partitions.setdefault(stat.partition_path, []).append(stat)
    made: Any = _Records if form == AVRO else lambda *of: [*_Records(*of)]  # JSON takes lists
    record: dict[str, Any] = {
        "partitionToWriteStats": {path: made(stats, form) for path, stats in partitions.items()},
        "compacted": metadata.compacted,
        "extraMetadata": dict(metadata.extra),
    }
    if form == AVRO:
        record["version"] = None  # what Hudi writes, although the schema's default is 1
    record["operationType"] = metadata.operation.value
    return record


@frozen
class _Records(Sequence[dict[str, Any]]):
    """The records of ``stats``, each made when it is written: one takes some 1,000 bytes."""

    stats: Sequence[WriteStat]
    form: str

    def __len__(self) -> int:
        return len(self.stats)

    def __getitem__(self, at: Any) -> Any:
        return _stat_record(self.stats[at], self.form)


def from_record(record: Mapping[str, Any], form: str, where: str) -> CommitMetadata:
    """The inverse of :func:`to_record`; absent fields take the model's defaults.

    Raises :class:`~hoodoo.errors.CorruptTableError` naming ``where`` for fields of a wrong type.
    """
    with reading(where, "not commit metadata"):
        stats: Any = record.get("partitionToWriteStats")
        if not hasattr(stats, "within"):  # those of a large commit are decoded later
            stats = write_stats(stats or {}, form, where)
        replaced = {
            partition: tuple(file_ids or ())
            for partition, file_ids in (record.get("partitionToReplaceFileIds") or {}).items()
        }
        extra = {k: v for k, v in (record.get("extraMetadata") or {}).items() if v is not None}
        "".join((*extra.values(), *(i for ids in replaced.values() for i in ids)))
        # A newer Hudi may know operations that we don't: what they did is in the stats all the
        # same.
        name = record.get("operationType")
        operation = Operation(name) if name in Operation.__members__ else Operation.UNKNOWN
        return CommitMetadata(operation, stats, replaced, extra, bool(record.get("compacted")))


def write_stats(
    raw: Mapping[str, Sequence[Mapping[str, Any]] | None], form: str, where: str
) -> tuple[WriteStat, ...]:
    """The write stats of a record by partition path. Raises
    :class:`~hoodoo.errors.CorruptTableError`."""
    with reading(where, "not commit metadata"):
        return tuple(_stat(path, one, form) for path, stats in raw.items() for one in stats or ())


def _stat_record(stat: WriteStat, form: str) -> dict[str, Any]:
    done = bool(stat.path)
    record: dict[str, Any] = {
        "fileId": stat.file_id,
        "path": stat.path if done else None,
        "cdcStats": None,
        "prevCommit": stat.prev_commit,
        "numWrites": stat.num_writes,
        "numDeletes": stat.num_deletes,
        "numUpdateWrites": stat.num_updates,
        "numInserts": stat.num_inserts,
        "totalWriteBytes": stat.file_size,
        "totalWriteErrors": stat.total_write_errors,
        "tempPath": None,
        "partitionPath": stat.partition_path if done else None,
        "totalLogRecords": 0,
        "totalLogFilesCompacted": 0,
        "totalLogSizeCompacted": 0,
        "totalUpdatedRecordsCompacted": 0,
        "totalLogBlocks": 0,
        "totalCorruptLogBlock": 0,
        "totalRollbackBlocks": 0,
        "fileSizeInBytes": stat.file_size,
        "minEventTime": stat.min_event_time,
        "maxEventTime": stat.max_event_time,
        "runtimeStats": dict(_NO_RUNTIME) if done else None,
    }
    if form == AVRO:
        record.update(_AVRO_ONLY)
    if form == AVRO or stat.prev_base_file is not None:
        record["prevBaseFile"] = stat.prev_base_file
    if stat.log_version is not None:
        record["logVersion"] = stat.log_version
        record["logOffset"] = 0
        record["baseFile"] = stat.base_file
        record["logFiles"] = list(stat.log_files)
    record.update(stat.extra)
    return record


def _stat(partition: str, raw: Mapping[str, Any], form: str) -> WriteStat:
    get = raw.get
    stat = WriteStat(
        partition_path=partition,
        file_id=get("fileId") or "",
        path=get("path") or "",
        prev_commit=get("prevCommit") or "null",
        prev_base_file=get("prevBaseFile"),
        num_writes=index(get("numWrites") or 0),
        num_inserts=index(get("numInserts") or 0),
        num_updates=index(get("numUpdateWrites") or 0),
        num_deletes=index(get("numDeletes") or 0),
        total_write_errors=index(get("totalWriteErrors") or 0),
        file_size=index(get("fileSizeInBytes") or 0),
        min_event_time=get("minEventTime"),
        max_event_time=get("maxEventTime"),
        base_file=get("baseFile") if get("logVersion") is not None else None,
        log_version=None if get("logVersion") is None else index(get("logVersion") or 0),
        log_files=tuple(get("logFiles") or ()) if get("logVersion") is not None else (),
    )
    # A TypeError for one that is no text: JSON may have anything.
    files = (stat.prev_base_file or "", stat.base_file or "", *stat.log_files)
    "".join((stat.file_id, stat.path, stat.prev_commit, *files))
    plain = _stat_record(stat, form)
    missing = object()
    extra = {k: v for k, v in raw.items() if plain.get(k, missing) != v}
    return evolve(stat, extra=extra) if extra else stat
