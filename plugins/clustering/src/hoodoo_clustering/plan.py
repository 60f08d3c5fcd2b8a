"""The plan of a clustering: which file slices are rewritten together, and how (RFC-19; features
page 2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, frozen
from hoodoo.errors import CorruptTableError
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.plans import clustering_record, planned_slices, texts
from hoodoo.timeline.snapshot import Snapshot

CLUSTERING = "clustering"
# In the extra metadata: which file slices the plan left out, in sentences.
LEFT_OUT = "hoodoo.clustering.left.out"
_VERSION = 1


@frozen
class PlannedGroup:
    """``outputs``: how many file groups it is to become. ``metrics``: numbers, under Hudi's names
    and Hoodoo's own; ``extra``: what is no number."""

    slices: tuple[FileSlice, ...]
    outputs: int = 1
    metrics: Mapping[str, float] = Factory(dict)
    extra: Mapping[str, str] = Factory(dict)

    @property
    def partition_path(self) -> str:
        return self.slices[0].partition_path if self.slices else ""


@frozen
class ClusteringPlan:
    """``strategy``: class or name of what runs it; ``params``: all that it goes by. ``missing``:
    partition paths that changed and that the plan left out, for the next one."""

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

    def encode(self, root: str, sources: Mapping[str, str] | None = None) -> bytes:
        """``root``: the URI of the table; Hudi's paths in plans are absolute. ``sources``: URIs of
        the files that base files, by their path, need besides (a bootstrap)."""
        record = {
            "operationType": "CLUSTER",
            "clusteringPlan": {
                "inputGroups": [_group_record(group, root, sources or {}) for group in self.groups],
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
        return codec_avro.encode("HoodieRequestedReplaceMetadata", record)


def read_clustering(snapshot: Snapshot, instant: Instant) -> ClusteringPlan:
    """The plan of ``instant``, from its requested file. CorruptTableError naming the file where
    there is none."""
    found = _plan_of(snapshot, instant)
    if found is None:
        where = f"{snapshot.root}/{snapshot.path(instant.at(State.REQUESTED))}"
        raise CorruptTableError(
            where,
            "holds no plan of a clustering.",
            "Cancel it (table.rollback): a clustering can always be planned again.",
        )
    return found


def pending_clusterings(snapshot: Snapshot) -> tuple[tuple[Instant, ClusteringPlan], ...]:
    """Those that are planned and not completed, the oldest first."""
    found = ((i, _plan_of(snapshot, i)) for i in snapshot.pending())
    return tuple((instant, plan) for instant, plan in found if plan is not None)


def _plan_of(snapshot: Snapshot, instant: Instant) -> ClusteringPlan | None:
    found = clustering_record(snapshot, instant)
    if found is None:
        return None
    where = f"{snapshot.root}/{snapshot.path(instant.at(State.REQUESTED))}"
    strategy = found.get("strategy") or {}
    return ClusteringPlan(
        tuple(_group(raw, where) for raw in found.get("inputGroups") or ()),
        str(strategy.get("strategyClassName") or ""),
        texts(strategy.get("strategyParams")),
        texts(found.get("extraMetadata")),
        tuple(found.get("missingSchedulePartitions") or ()),
        found.get("preserveHoodieMetadata") is not False,
    )


def _group_record(group: PlannedGroup, root: str, sources: Mapping[str, str]) -> dict[str, Any]:
    return {
        "slices": [_slice_record(slice_, root, sources) for slice_ in group.slices],
        "metrics": dict(group.metrics),
        "numOutputFileGroups": group.outputs,
        "extraMetadata": dict(group.extra) or None,
        "version": _VERSION,
    }


def _slice_record(slice_: FileSlice, root: str, sources: Mapping[str, str]) -> dict[str, Any]:
    base = slice_.base_file
    return {
        "dataFilePath": "" if base is None else f"{root}/{base.path}",
        "deltaFilePaths": [f"{root}/{log.path}" for log in slice_.log_files],
        "fileId": slice_.file_id,
        "partitionPath": slice_.partition_path,
        "bootstrapFilePath": "" if base is None else sources.get(base.path, ""),
        "version": _VERSION,
    }


def _group(raw: Mapping[str, Any], where: str) -> PlannedGroup:
    return PlannedGroup(
        planned_slices(raw.get("slices"), where, CLUSTERING),
        int(raw.get("numOutputFileGroups") or 1),
        dict(raw.get("metrics") or {}),
        texts(raw.get("extraMetadata")),
    )
