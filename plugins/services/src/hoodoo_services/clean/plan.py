"""A clean on the timeline: the plan that names its files, and what came of it.

Both are Hudi's: ``HoodieCleanerPlan`` in the requested file, ``HoodieCleanMetadata`` in the
completed one, the inflight one empty; the same in all table versions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attrs import Factory, frozen
from hoodoo.errors import CorruptTableError
from hoodoo.model.instant import Instant, State
from hoodoo.storage.uri import local_path
from hoodoo.timeline import codec, removed
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.plans import texts
from hoodoo.timeline.removed import files_of_plan
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

CLEAN = "clean"
# In the extra metadata. Hudi's: the savepoints that the plan went round, separated by commas.
SAVEPOINTS = "savepointed_timestamps"
# Ours: which policy made the plan, the first write that the next clean has to look at where the
# policy does not go by writes.
MADE_BY = "hoodoo.clean.policy"
LOOK_FROM = "hoodoo.clean.look.from"
LEFT = "hoodoo.clean.left"  # how many files of the plan were kept after all
_VERSION = 2  # of plan and metadata: paths in place of names, both kinds of partition metadata


@frozen
class CleanPlan:
    """What a clean deletes: ``files`` are paths below the table root, ``partitions`` are those that
    end up empty. ``policy`` is Hudi's name. ``earliest``: all that this write and later ones made
    stays; None where the policy goes by groups. ``last_completed``: the newest write it knew."""

    policy: str
    files: tuple[str, ...]
    partitions: tuple[str, ...] = ()
    earliest: Instant | None = None
    last_completed: str = ""
    extra: Mapping[str, str] = Factory(dict)

    def encode(self, root: str) -> bytes:
        """The requested file; ``root`` is the absolute URI of the table."""
        where = f"file:{local_path(root)}" if root.startswith("file:") else root
        by_partition: dict[str, list[dict[str, object]]] = {}
        for path in self.files:
            info = {"filePath": f"{where}/{path}", "isBootstrapBaseFile": False}
            by_partition.setdefault(path.rpartition("/")[0], []).append(info)
        first = self.earliest
        record = {
            "earliestInstantToRetain": None
            if first is None
            else {
                "timestamp": first.requested,
                "action": first.action,
                "state": "COMPLETED",
            },
            "lastCompletedCommitTimestamp": self.last_completed,
            "policy": self.policy,
            "filesToBeDeletedPerPartition": {},
            "version": _VERSION,
            "filePathsToBeDeletedPerPartition": by_partition,
            "partitionsToBeDeleted": list(self.partitions),
            "extraMetadata": dict(self.extra),
        }
        return codec_avro.encode("HoodieCleanerPlan", record)

    def completed(
        self, requested: str, millis: int, kept: frozenset[str], emptied: Collection[str]
    ) -> bytes:
        """The completed file. ``kept``: files of the plan that were not deleted, because something
        has come to need them. ``emptied``: the partitions that are no more."""
        names: dict[str, list[str]] = {partition: [] for partition in emptied}
        for path in self.files:
            partition, _, name = path.rpartition("/")
            there = names.setdefault(partition, [])
            if path not in kept:
                there.append(name)
        record = {
            "startCleanTime": requested,
            "timeTakenInMillis": millis,
            "totalFilesDeleted": sum(len(found) for found in names.values()),
            "earliestCommitToRetain": "" if self.earliest is None else self.earliest.requested,
            "lastCompletedCommitTimestamp": self.last_completed,
            "partitionMetadata": {
                partition: {
                    "partitionPath": partition,
                    "policy": self.policy,
                    "deletePathPatterns": found,
                    "successDeleteFiles": found,
                    "failedDeleteFiles": [],
                    "isPartitionDeleted": partition in emptied,
                }
                for partition, found in names.items()
            },
            "version": _VERSION,
            "bootstrapPartitionMetadata": {},
            "extraMetadata": {**self.extra, **({LEFT: str(len(kept))} if kept else {})},
        }
        return codec_avro.encode("HoodieCleanMetadata", record)


@frozen
class Noted:
    """A completed clean, and what its file says."""

    instant: Instant
    said: Mapping[str, Any]


@frozen
class LastClean:
    """What the newest completed clean says of itself. ``earliest`` is empty where its policy went
    by groups; ``policies`` are those of its partitions, as Hudi calls them."""

    instant: Instant
    earliest: str
    last_completed: str
    policies: frozenset[str]
    extra: Mapping[str, str]


def pending_cleans(timeline: Timeline) -> tuple[Instant, ...]:
    return tuple(i for i in timeline.pending() if i.action == CLEAN)


def read_plan(snapshot: Snapshot, instant: Instant) -> CleanPlan:
    """The plan of a clean, from its requested file. Raises as
    :func:`hoodoo.timeline.removed.planned_files`."""
    requested = instant.at(State.REQUESTED)
    found = snapshot.contents(requested)
    where = f"{snapshot.root}/{snapshot.path(requested)}"
    return CleanPlan(
        str(found.get("policy") or ""),
        files_of_plan(found, where),
        _partitions(found, where),
        _earliest(found.get("earliestInstantToRetain")),
        str(found.get("lastCompletedCommitTimestamp") or ""),
        texts(found.get("extraMetadata")),
    )


def _partitions(said: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The partition paths that are to go where they are empty."""
    found = tuple(str(path).strip("/") for path in said.get("partitionsToBeDeleted") or ())
    for path in found:
        if ".." in path.split("/"):
            raise CorruptTableError(
                where,
                f"the plan of a clean names {path}, which is no path below the table.",
                "Delete this clean's requested and inflight file: a clean can always be planned "
                "again.",
            )
    return found


def planned_files(snapshot: Snapshot) -> frozenset[str]:
    """The files that pending cleans are about to delete, as paths below the table root. Who means
    to keep one of them has come too late."""
    found: set[str] = set()
    for instant in pending_cleans(snapshot.timeline):
        try:
            found.update(read_plan(snapshot, instant).files)
        except FileNotFoundError:  # somebody took it off the timeline
            continue
    return frozenset(found)


def last_clean(snapshot: Snapshot) -> LastClean | None:
    """The newest completed clean of the active timeline; one with an empty file counts as none."""
    noted = snapshot.timeline.noted.get(CLEAN)
    if not isinstance(noted, Noted) or noted.instant != removed.newest(snapshot.timeline):
        last = removed.last_clean(snapshot)
        if last is None:
            return None
        noted = Noted(*last)
    done, found = noted.instant, noted.said
    partitions = (found.get("partitionMetadata") or {}).values()
    return LastClean(
        done,
        str(found.get("earliestCommitToRetain") or ""),
        str(found.get("lastCompletedCommitTimestamp") or ""),
        frozenset(str(p.get("policy")) for p in partitions),
        texts(found.get("extraMetadata")),
    )


def note(timeline: Timeline, completed: Instant, content: bytes) -> None:
    """What a clean says of itself, from who has just completed it."""
    timeline.noted[CLEAN] = Noted(completed, codec.decode(content, timeline.path(completed)))


def _earliest(found: Mapping[str, Any] | None) -> Instant | None:
    return None if not found else Instant(str(found["timestamp"]), str(found["action"]))
