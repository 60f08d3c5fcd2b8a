"""The plan of a clustering: which file slices are rewritten together, and how (RFC-19; features page 2.1)."""

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

CLUSTERING = "clustering"
# In the extra metadata: what grouped the slices, and which plan of Hoodoo it is.
PLANNER = "hoodoo.clustering.plan"
# There, too: which file slices the plan left out, in sentences.
LEFT_OUT = "hoodoo.clustering.left.out"
_VERSION = 1


@frozen
class PlannedGroup:
    """``outputs``: how many file groups it is to become. ``metrics``: numbers, under Hudi's names and
    Hoodoo's own; ``extra``: what is no number."""

    slices: tuple[FileSlice, ...]
    outputs: int = 1
    metrics: Mapping[str, float] = Factory(dict)
    extra: Mapping[str, str] = Factory(dict)

    @property
    def partition_path(self) -> str:
        return self.slices[0].partition_path if self.slices else ""


@frozen
class ClusteringPlan:
    """``strategy``: class or name of what runs it; ``params``: all that it goes by. ``missing``: partition
    paths that changed and that the plan left out, for the next one."""

    groups: tuple[PlannedGroup, ...]
    strategy: str = ""
    params: Mapping[str, str] = Factory(dict)
    extra: Mapping[str, str] = Factory(dict)
    missing: tuple[str, ...] = ()
    keeps_meta: bool = True

    @property
    def file_groups(self) -> frozenset[tuple[str, str]]:
        """(partition path, file id) of all its slices."""
        return frozenset(
            (s.partition_path, s.file_id) for group in self.groups for s in group.slices
        )

    def encode(self, root: str) -> bytes:
        """``root``: the URI of the table; Hudi's paths in plans are absolute."""
        record = {
            "operationType": "CLUSTER",
            "clusteringPlan": {
                "inputGroups": [_group_record(group, root) for group in self.groups],
                "strategy": {
                    "strategyClassName": self.strategy,
                    "strategyParams": dict(self.params),
                    "version": _VERSION,
                },
                "extraMetadata": dict(self.extra),
                "version": _VERSION,
                "preserveHoodieMetadata": self.keeps_meta,
                "missingSchedulePartitions": list(self.missing),
            },
            "extraMetadata": {},
            "version": _VERSION,
        }
        return codec_avro.encode_requested_replace(record)


def read_clustering(storage: Storage, timeline: Timeline, instant: Instant) -> ClusteringPlan:
    """The plan of ``instant``, from its requested file. CorruptTableError naming the file where there is none."""
    found = _plan_of(storage, timeline, instant)
    if found is None:
        where = f"{storage.root}/{timeline.path(instant.at(State.REQUESTED))}"
        raise CorruptTableError(
            where, "holds no plan of a clustering.",
            "Cancel it (table.rollback): a clustering can always be planned anew.",
        )  # fmt: skip
    return found


def pending_clusterings(
    storage: Storage, timeline: Timeline
) -> tuple[tuple[Instant, ClusteringPlan], ...]:
    """Those that are planned and not completed, the oldest first."""
    action = timeline.layout.pending_action(CLUSTERING)
    found = []
    for instant in timeline.pending():
        if instant.action == action:
            plan = _plan_of(storage, timeline, instant)
            if plan is not None:
                found.append((instant, plan))
    return tuple(found)


def clustered_groups(storage: Storage, timeline: Timeline) -> dict[tuple[str, str], str]:
    """(partition path, file id) -> the instant of the clustering that is pending for the group."""
    return {
        group: instant.requested
        for instant, plan in pending_clusterings(storage, timeline)
        for group in plan.file_groups
    }


def is_clustering(storage: Storage, timeline: Timeline, instant: Instant) -> bool:
    """Whether the pending ``instant`` is a clustering."""
    if instant.action == CLUSTERING or instant.action != timeline.layout.pending_action(CLUSTERING):
        return instant.action == CLUSTERING
    return _plan_of(storage, timeline, instant) is not None


def _plan_of(storage: Storage, timeline: Timeline, instant: Instant) -> ClusteringPlan | None:
    requested = instant.at(State.REQUESTED)
    try:
        found = timeline.contents(storage, requested).get("clusteringPlan")
    except FileNotFoundError:  # completed and archived, or undone, since the timeline was loaded
        return None
    if found is None:
        return None
    where = f"{storage.root}/{timeline.path(requested)}"
    strategy = found.get("strategy") or {}
    return ClusteringPlan(
        tuple(_group(raw, where) for raw in found.get("inputGroups") or ()),
        str(strategy.get("strategyClassName") or ""),
        _texts(strategy.get("strategyParams")),
        _texts(found.get("extraMetadata")),
        tuple(found.get("missingSchedulePartitions") or ()),
        found.get("preserveHoodieMetadata") is not False,
    )


def _texts(raw: Mapping[str, str | None] | None) -> dict[str, str]:
    return {key: value for key, value in (raw or {}).items() if value is not None}


def _group_record(group: PlannedGroup, root: str) -> dict[str, Any]:
    return {
        "slices": [_slice_record(slice_, root) for slice_ in group.slices],
        "metrics": dict(group.metrics),
        "numOutputFileGroups": group.outputs,
        "extraMetadata": dict(group.extra) or None,
        "version": _VERSION,
    }


def _slice_record(slice_: FileSlice, root: str) -> dict[str, Any]:
    base = slice_.base_file
    return {
        "dataFilePath": "" if base is None else f"{root}/{base.path}",
        "deltaFilePaths": [f"{root}/{log.path}" for log in slice_.log_files],
        "fileId": slice_.file_id,
        "partitionPath": slice_.partition_path,
        "bootstrapFilePath": "",
        "version": _VERSION,
    }


def _group(raw: Mapping[str, Any], where: str) -> PlannedGroup:
    return PlannedGroup(
        tuple(_slice(one, where) for one in raw.get("slices") or ()),
        int(raw.get("numOutputFileGroups") or 1),
        dict(raw.get("metrics") or {}),
        _texts(raw.get("extraMetadata")),
    )


def _slice(raw: Mapping[str, Any], where: str) -> FileSlice:
    """Sizes are not in a plan."""
    partition = str(raw.get("partitionPath") or "")
    base = raw.get("dataFilePath")
    found = planned_file(partition, str(base), where, CLUSTERING) if base else None
    logs = [
        planned_file(partition, str(path), where, CLUSTERING)
        for path in raw.get("deltaFilePaths") or ()
    ]
    row_logs = sorted((log for log in logs if isinstance(log, LogFile)), key=reading_order)
    instant = found.instant if found is not None else row_logs[0].instant if row_logs else ""
    return FileSlice(
        partition,
        str(raw.get("fileId")),
        instant,
        found if isinstance(found, BaseFile) else None,
        tuple(row_logs),
    )
