"""The plan of a compaction: which file slices become a base file (format page 2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, frozen

from hoodoo.errors import CorruptTableError
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.plans.files import planned_file, reading_order
from hoodoo.timeline.timeline import Timeline

COMPACTION = "compaction"
STRATEGY = "hoodoo.compaction.strategy"  # in the extra metadata
# Paths in the plan are names of files in their partition; before, they were absolute.
_VERSION = 2


@frozen
class CompactionPlan:
    """``strategy`` names what chose the slices; empty in plans of other writers. ``metrics``: of each
    slice, under Hudi's names."""

    slices: tuple[FileSlice, ...]
    strategy: str = ""
    metrics: tuple[Mapping[str, float], ...] = ()
    extra: Mapping[str, str] = Factory(dict)

    def encode(self) -> bytes:
        metrics = self.metrics or tuple({} for _ in self.slices)
        record = {
            "operations": [
                _operation(slice_, m) for slice_, m in zip(self.slices, metrics, strict=True)
            ],
            "extraMetadata": {**self.extra, STRATEGY: self.strategy},
            "version": _VERSION,
            # Spark Hudi loads this as a class, and leaves it null itself.
            "strategy": None,
            "preserveHoodieMetadata": False,
            "missingSchedulePartitions": [],
        }
        return codec_avro.encode("HoodieCompactionPlan", record)


def read_plan(storage: Storage, timeline: Timeline, instant: Instant) -> CompactionPlan:
    """The plan of a ``compaction``, from its requested file. CorruptTableError naming the file."""
    requested = instant.at(State.REQUESTED)
    where = f"{storage.root}/{timeline.path(requested)}"
    try:
        found = timeline.contents(storage, requested)
    except FileNotFoundError as error:
        raise CorruptTableError(
            where, "the plan of a compaction is not there.",
            "Delete the other files of this instant: a compaction can always be planned anew.",
        ) from error  # fmt: skip
    operations = found.get("operations") or []
    extra = {k: v for k, v in (found.get("extraMetadata") or {}).items() if v is not None}
    return CompactionPlan(
        tuple(_slice(operation, where) for operation in operations),
        str(extra.pop(STRATEGY, "")),
        tuple(dict(operation.get("metrics") or {}) for operation in operations),
        extra,
    )


def pending_compactions(timeline: Timeline) -> tuple[Instant, ...]:
    return tuple(i for i in timeline.pending() if i.action == COMPACTION)


def pending_groups(storage: Storage, timeline: Timeline) -> dict[tuple[str, str], str]:
    """(partition path, file id) -> the instant of the compaction that is pending for the group."""
    found: dict[tuple[str, str], str] = {}
    for instant in pending_compactions(timeline):
        for slice_ in read_plan(storage, timeline, instant).slices:
            found[slice_.partition_path, slice_.file_id] = instant.requested
    return found


def _operation(slice_: FileSlice, metrics: Mapping[str, float]) -> dict[str, Any]:
    base = slice_.base_file
    return {
        "baseInstantTime": slice_.instant,
        "deltaFilePaths": [log.name for log in slice_.log_files],
        "dataFilePath": base.name if base is not None else None,
        "fileId": slice_.file_id,
        "partitionPath": slice_.partition_path,
        "metrics": dict(metrics),
        "bootstrapFilePath": None,
    }


def _slice(operation: Mapping[str, Any], where: str) -> FileSlice:
    partition = str(operation.get("partitionPath") or "")
    base = operation.get("dataFilePath")
    logs = [
        planned_file(partition, str(path), where, COMPACTION)
        for path in operation.get("deltaFilePaths") or ()
    ]
    found = planned_file(partition, str(base), where, COMPACTION) if base else None
    return FileSlice(
        partition,
        str(operation.get("fileId")),
        str(operation.get("baseInstantTime")),
        found if isinstance(found, BaseFile) else None,
        tuple(sorted((f for f in logs if isinstance(f, LogFile)), key=reading_order)),
    )
