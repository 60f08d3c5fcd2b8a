"""Savepoints: completed writes whose files stay until somebody says otherwise.

A savepoint has the requested time of the write that it keeps, and names the files of the slices
which were the newest then: Hudi's ``HoodieSavepointMetadata``. Cleaning and archiving go round
both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import field, frozen
from hoodoo.model.brief import listed
from hoodoo.model.filegroup import FileSlice, path_of
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.snapshot import Snapshot

SAVEPOINT = "savepoint"


@frozen
class Savepoint:
    """A savepoint. ``instant`` is the requested time of the protected write, and of the savepoint
    itself.

    ``made`` is the time of the savepoint, in milliseconds since the epoch. ``files`` are paths
    relative to the table. ``user`` and ``comment`` are texts."""

    instant: str
    files: frozenset[str] = field(repr=listed)
    user: str = ""
    comment: str = ""
    made: int = 0


def savepoints(snapshot: Snapshot) -> tuple[Savepoint, ...]:
    """The completed savepoints, the oldest first. One file is read for each; one that is deleted
    meanwhile is not among them. Raises CorruptTableError naming a file that is no savepoint.
    """
    found = (_read(snapshot, i) for i in snapshot.completed() if i.action == SAVEPOINT)
    return tuple(savepoint for savepoint in found if savepoint is not None)


def kept_files(snapshot: Snapshot) -> frozenset[str]:
    """The files of all savepoints, as paths below the table root."""
    return frozenset().union(*(s.files for s in savepoints(snapshot)))


def encode(slices: Iterable[FileSlice], user: str, comment: str, made: int) -> bytes:
    """The completed file of a savepoint that keeps ``slices``."""
    names: dict[str, list[str]] = {}
    for slice_ in slices:
        files = [] if slice_.base_file is None else [slice_.base_file.name]
        files += [log.name for log in slice_.log_files]
        names.setdefault(slice_.partition_path, []).extend(files)
    record: Mapping[str, object] = {
        "savepointedBy": user,
        "savepointedAt": made,
        "comments": comment,
        "partitionMetadata": {
            partition: {"partitionPath": partition, "savepointDataFile": files}
            for partition, files in names.items()
        },
        "version": 1,
    }
    return codec_avro.encode("HoodieSavepointMetadata", record)


def _read(snapshot: Snapshot, instant: Instant) -> Savepoint | None:
    try:
        record = snapshot.contents(instant.at(State.COMPLETED, instant.completed))
    except FileNotFoundError:
        return None
    files = {
        path_of(partition, str(name).rpartition("/")[2])
        for partition, kept in (record.get("partitionMetadata") or {}).items()
        for name in kept.get("savepointDataFile") or ()
    }
    return Savepoint(
        instant.requested,
        frozenset(files),
        str(record.get("savepointedBy") or ""),
        str(record.get("comments") or ""),
        int(record.get("savepointedAt") or 0),
    )
