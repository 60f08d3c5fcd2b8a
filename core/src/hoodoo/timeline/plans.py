"""Plans of services: which file slices become new files.

Writers, readers and recovery respect the plans of plugins that are not installed, so this module
reads their common form, which is Hudi's. Traits of actions say which instants have plans. The
action's plugin reads the rest of a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import Factory, frozen

from hoodoo.errors import CorruptTableError
from hoodoo.model.action import ACTIONS
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile, path_of
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.codec.bounded import reading
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

Groups = dict[tuple[str, str], str]  # (path, file id) -> instant of the pending plan with it
Metrics = Sequence[Mapping[str, float]]
Sources = Mapping[str, str] | None
# Name of the service that a pending replacecommit may be.
_REPLACING = next(a.name for a in ACTIONS.values() if a.is_service and a.replaces)
# Keys in the extra metadata of a plan: Hoodoo made it; the strategy that chose its slices.
PLANNER = "hoodoo.clustering.plan"
STRATEGY = "hoodoo.compaction.strategy"
_VERSION = 2  # paths are names of files in their partition; before, they were absolute


@frozen
class Plan:
    """``slices``: the file slices that become other files, of size 0, as a plan has no sizes.
    ``strategy``: class or name of the strategy that runs the plan; ``params``: its parameters."""

    instant: Instant
    slices: tuple[FileSlice, ...]
    strategy: str = ""
    params: Mapping[str, str] = Factory(dict)
    extra: Mapping[str, str] = Factory(dict)

    @property
    def file_groups(self) -> frozenset[tuple[str, str]]:
        """(partition path, file id) of all its slices."""
        return frozenset((s.partition_path, s.file_id) for s in self.slices)


# --- plans whose files begin a new slice of their file groups: compactions ------------------------
def pending_compactions(timeline: Timeline) -> tuple[Instant, ...]:
    """Pending plans whose files begin a new slice of their groups, by requested time."""
    return tuple(i for i in timeline.pending() if i.traits.begins_slices)


def compactions(timeline: Timeline) -> tuple[Instant, ...]:
    """Completed compactions of a merge-on-read table: its plain commits."""
    return tuple(i for i in timeline.writes() if i.traits.is_plain)


def is_compaction(write: Instant, config: TableConfig) -> bool:
    """Whether the completed ``write`` is a compaction: a plain commit of a merge-on-read table."""
    return write.traits.is_plain and config.table_type == "MERGE_ON_READ"


def read_plan(snapshot: Snapshot, instant: Instant) -> Plan:
    """The plan of a compaction, pending or completed, from its requested file. Raises
    CorruptTableError, which names the file, and InstantGoneError."""
    own = (a.name for a in ACTIONS.values() if a.begins_slices and a.completes_as == instant.action)
    instant = Instant(instant.requested, next(own, instant.action), instant.state)
    requested = instant.at(State.REQUESTED)
    where = f"{snapshot.root}/{snapshot.path(requested)}"
    found = snapshot.contents(requested)
    extra = texts(found.get("extraMetadata"))
    strategy = extra.pop(STRATEGY, "")
    slices = planned_slices(found.get("operations"), where, instant.action)
    return Plan(instant, slices, strategy, extra=extra)


def pending_groups(snapshot: Snapshot) -> Groups:
    """The file groups of pending compactions."""
    plans = (read_plan(snapshot, i) for i in pending_compactions(snapshot.timeline))
    return {group: plan.instant.requested for plan in plans for group in plan.file_groups}


def planned_logs(snapshot: Snapshot) -> frozenset[str]:
    """The log files that pending compactions are about to read."""
    plans = (read_plan(snapshot, i) for i in pending_compactions(snapshot.timeline))
    return frozenset(log.path for plan in plans for s in plan.slices for log in s.log_files)


def encode_compaction(
    slices: Sequence[FileSlice],
    strategy: str = "",
    metrics: Metrics = (),
    sources: Sources = None,
    more: Any = None,
) -> bytes:
    """The requested file of a compaction. ``strategy`` names what chose the slices; ``metrics``: of
    each of them, by Hudi's names; ``sources``: path of a base file -> URI of its columns (a
    bootstrap); ``more``: fields that replace these, for the plan of another action."""
    named = sources or {}
    record = {
        "operations": [
            {
                "baseInstantTime": slice_.instant,
                "deltaFilePaths": [log.name for log in slice_.log_files],
                "dataFilePath": slice_.base_file.name if slice_.base_file is not None else None,
                "fileId": slice_.file_id,
                "partitionPath": slice_.partition_path,
                "metrics": dict(found),
                "bootstrapFilePath": slice_.base_file and named.get(slice_.base_file.path),
            }
            for slice_, found in zip(slices, metrics or [{}] * len(slices), strict=True)
        ],
        "extraMetadata": {STRATEGY: strategy},
        "version": _VERSION,
        # Spark Hudi loads this as a class, and leaves it null itself.
        "strategy": None,
        "preserveHoodieMetadata": False,
        "missingSchedulePartitions": [],
    }
    return codec_avro.encode("HoodieCompactionPlan", {**record, **(more or {})})


# --- plans whose files replace file groups: clusterings -------------------------------------------
def pending_clusterings(snapshot: Snapshot) -> tuple[Plan, ...]:
    """Those that are planned and not completed, the oldest first."""
    found = (clustering_plan(snapshot, i) for i in snapshot.pending())
    return tuple(plan for plan in found if plan is not None)


def clustered_groups(snapshot: Snapshot) -> Groups:
    """The file groups of pending clusterings."""
    plans = pending_clusterings(snapshot)
    return {group: plan.instant.requested for plan in plans for group in plan.file_groups}


def is_clustering(snapshot: Snapshot, instant: Instant) -> bool:
    """Whether the pending ``instant`` is a clustering."""
    traits = instant.traits
    return (traits.is_service and traits.replaces) or (
        clustering_record(snapshot, instant) is not None
    )


def clustering_record(snapshot: Snapshot, instant: Instant) -> Mapping[str, Any] | None:
    """The clustering plan in the requested file of ``instant``; None if it has none, or if the
    instant was archived or undone since the timeline was loaded."""
    traits, may_be_a_write = instant.traits, snapshot.layout.plans_as_writes
    if not traits.replaces or not (traits.is_service or may_be_a_write):
        return None
    try:
        content = snapshot.contents(instant.at(State.REQUESTED))
    except FileNotFoundError:
        return None
    found: Mapping[str, Any] | None = content.get("clusteringPlan")
    return found


def clustering_plan(snapshot: Snapshot, instant: Instant) -> Plan | None:
    """The plan of the clustering ``instant``; None as for :func:`clustering_record`."""
    found = clustering_record(snapshot, instant)
    if found is None:
        return None
    where = f"{snapshot.root}/{snapshot.path(instant.at(State.REQUESTED))}"
    slices = (
        slice_
        for group in found.get("inputGroups") or ()
        for slice_ in planned_slices(group.get("slices"), where, _REPLACING)
    )
    strategy = found.get("strategy") or {}
    return Plan(
        instant,
        tuple(slices),
        str(strategy.get("strategyClassName") or ""),
        texts(strategy.get("strategyParams")),
        texts(found.get("extraMetadata")),
    )


# --- what both have in them -----------------------------------------------------------------------
def planned_slices(
    raws: Iterable[Mapping[str, Any]] | None, where: str, service: str
) -> tuple[FileSlice, ...]:
    """The slices in the plan of a ``service``. CorruptTableError names the plan (``where``)."""
    with reading(where, f"no plan of a {service}"):
        return tuple(_slice(raw, where, service) for raw in raws or ())


def _slice(raw: Mapping[str, Any], where: str, service: str) -> FileSlice:
    partition = str(raw.get("partitionPath") or "")
    named = [raw.get("dataFilePath") or None, *(raw.get("deltaFilePaths") or ())]
    files = list(_files(partition, named, where, service))
    base = files[0] if named[0] and isinstance(files[0], BaseFile) else None
    logs = sorted((f for f in files if isinstance(f, LogFile)), key=reading_order)
    # The plan of a clustering has no baseInstantTime.
    begin = next((f.instant for f in (base, *logs) if f is not None), "")
    instant = str(raw["baseInstantTime"]) if "baseInstantTime" in raw else begin
    return FileSlice(partition, str(raw.get("fileId")), instant, base, tuple(logs))


def _files(
    partition: str, named: Iterable[str | None], where: str, service: str
) -> Iterator[BaseFile | LogFile]:
    """From names and absolute paths."""
    for path in named:
        if path is None:
            continue
        found = parse_path(path_of(partition, str(path).rpartition("/")[2]))
        if found is None:
            raise CorruptTableError(
                where, f"the plan of a {service} names {path}, which is not a file of a table.",
                f"Cancel it (table.rollback): a {service} can always be planned again.",
            )  # fmt: skip
        yield found


def reading_order(log: LogFile) -> tuple[str, int, str]:
    """Sort key: completion order, version, write token (Hudi's specification, log format)."""
    return (order_key(log.instant), log.version, log.write_token)


def texts(raw: Mapping[str, str | None] | None) -> dict[str, str]:
    """A map of JSON or Avro as texts, without keys whose value is null."""
    return {str(key): str(value) for key, value in (raw or {}).items() if value is not None}
