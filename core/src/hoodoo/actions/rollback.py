"""Rollback: a failed instant leaves no file behind and is taken off the timeline.

Order, so that a crash at any point is finished by the next writer (and by Spark Hudi): plan
requested -> inflight -> data files -> the failed instant's inflight, then its requested file -> data
files that came meanwhile -> completed -> markers. A file that is gone already counts as deleted.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from attrs import evolve, frozen

from hoodoo.actions.failed_logs import Group, failed_logs, touched_groups
from hoodoo.errors import CommitConflictError, CommitUnknownError, CorruptTableError, StorageError
from hoodoo.files.log_writer import LogWriter
from hoodoo.hookspecs.observer import Event
from hoodoo.kernel.events import notify
from hoodoo.model.filegroup import BaseFile, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.storage.uri import local_path
from hoodoo.timeline import codec_avro, publish
from hoodoo.timeline.names import ACTIONS, parse_path
from hoodoo.timeline.publish import Result
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo.timeline.view import list_data
from hoodoo.write.scratch import scratch_file
from hoodoo.write.target import MARKERS, STAGED

_INSTANT = re.compile(r"\d{17}|\d{14}")


@frozen
class RolledBack:
    """``instant`` was undone by ``rollback``; ``files`` were deleted, relative to the table."""

    instant: str
    rollback: str
    files: tuple[str, ...]


def rollback(storage: Storage, timeline: Timeline, instant: Instant) -> RolledBack:
    """Undo a pending ``instant``. Raises CommitUnknownError if the end of it is not known, and
    CommitConflictError (nothing is deleted) if it turns out to be completed."""
    files = _files_of(storage, timeline, instant.requested)
    groups = _groups(storage, timeline, instant)
    left = failed_logs(storage, groups, instant.requested)
    requests = [
        _ask(file, instant.requested, [_absolute(storage, file.path)])
        for file in (*files, *left.whole)
    ]
    requests += [_ask(log, log.instant, [], {log.name: log.size}) for log in left.shared]
    plan = {
        "instantToRollback": {"commitTime": instant.requested, "action": instant.action},
        "RollbackRequests": requests,
        "version": 1,
    }
    mine = publish.request(storage, timeline, "rollback", codec_avro.encode_rollback_plan(plan))
    # Looked at after the request, which stops its writer from completing it: no file of a committed
    # instant is ever deleted.
    if reload(storage, timeline).find(instant.requested) is not None:
        storage.delete(timeline.path(mine))
        raise CommitConflictError(
            f"{storage.root}: instant {instant.requested}", "is completed: it can't be rolled back.",
            "Look at table.timeline(); to go back behind a completed instant, restore.",
        )  # fmt: skip
    return _execute(storage, timeline, mine, instant.requested, instant.action, plan)


def resume(storage: Storage, timeline: Timeline, mine: Instant) -> RolledBack:
    plan = timeline.contents(storage, mine.at(State.REQUESTED))
    target = plan.get("instantToRollback") or {}
    requested, action = str(target.get("commitTime")), str(target.get("action"))
    if not _INSTANT.fullmatch(requested) or action not in ACTIONS:
        raise CorruptTableError(
            f"{storage.root}/{timeline.path(mine.at(State.REQUESTED))}",
            f"a rollback whose plan names no instant (but {requested}, {action}).",
            "Delete this rollback's files by hand; the next write rolls back what is pending.",
        )  # fmt: skip
    if timeline.find(requested) is not None:
        raise CommitConflictError(
            f"{storage.root}/{timeline.path(mine.at(State.REQUESTED))}",
            f"a rollback that was begun names instant {requested}, which is completed.",
            "If it was meant, finish it with the tool that began it; else delete the pending rollback.",
        )  # fmt: skip
    return _execute(storage, timeline, mine, requested, action, plan)


def _execute(
    storage: Storage, timeline: Timeline, mine: Instant, requested: str, action: str,
    plan: dict[str, Any],
) -> RolledBack:  # fmt: skip
    mine = publish.inflight(storage, timeline, mine)
    # The files as they are now: a task that outlived its driver may have added some to the plan's.
    files = _files_of(storage, timeline, requested)
    asks = plan.get("RollbackRequests") or []
    groups = _groups(storage, timeline, Instant(requested, action, State.INFLIGHT))
    if timeline.layout == 1:
        groups |= {(str(a.get("partitionPath") or ""), str(a.get("fileId"))) for a in asks}
    left = failed_logs(storage, groups, requested)
    planned = [_relative(storage, path) for ask in asks
               for path in ask.get("filesToBeDeleted") or []]  # fmt: skip
    named = {p for p in planned if p is not None and _is_of(p, requested)}
    paths = sorted({file.path for file in (*files, *left.whole)} | named)
    for path in paths:
        storage.delete(path)
    taken_back = [_take_back(storage, log, mine.requested, requested) for log in left.shared]
    for state in (State.INFLIGHT, State.REQUESTED):
        storage.delete(timeline.path(Instant(requested, action, state)))
    # What a task put while the above went on. From here on no task leaves a file: it looks at the
    # inflight file after it has put its own (hoodoo.write.pending).
    late = [file.path for file in _files_of(storage, timeline, requested)]
    if timeline.layout == 1:
        late += [log.path for log in failed_logs(storage, groups, requested).whole]
    for path in late:
        storage.delete(path)
    paths = sorted({*paths, *late})
    content = codec_avro.encode_rollback(
        _metadata(storage, mine, requested, action, paths, taken_back)
    )
    outcome = publish.complete(storage, timeline, mine, content)
    if outcome.result is Result.UNKNOWN:
        raise CommitUnknownError(
            f"rollback {mine.requested}", f"its end is unknown: {outcome.reason}.",
            "Open the table again: the next write finishes the rollback.",
        )  # fmt: skip
    with suppress(StorageError):  # it is undone; leftovers are the next sweep's
        storage.delete_prefix(f"{MARKERS}/{requested}")
        storage.delete_prefix(f"{STAGED}{requested}")
    notify(Event("rollback.done", timeline.config.name, mine.requested,
                 {"instant": requested, "files": len(paths)}))  # fmt: skip
    return RolledBack(requested, mine.requested, tuple(paths))


def _metadata(
    storage: Storage,
    mine: Instant,
    requested: str,
    action: str,
    paths: list[str],
    taken_back: list[LogFile],
) -> dict[str, Any]:
    partitions: dict[str, list[str]] = {}
    for path in paths:
        partitions.setdefault(path.rpartition("/")[0], []).append(_absolute(storage, path))
    blocks: dict[str, dict[str, int]] = {}
    for log in taken_back:
        partitions.setdefault(log.partition_path, [])
        blocks.setdefault(log.partition_path, {})[_absolute(storage, log.path)] = log.size
    return {
        "startRollbackTime": mine.requested,
        "timeTakenInMillis": 0,
        "totalFilesDeleted": len(paths),
        "commitsRollback": [requested],
        "partitionMetadata": {
            partition: {
                "partitionPath": partition,
                "successDeleteFiles": files,
                "failedDeleteFiles": [],
                "rollbackLogFiles": blocks.get(partition, {}),
                "logFilesFromFailedCommit": {},
            }
            for partition, files in partitions.items()
        },
        "version": 1,
        "instantsRollback": [{"commitTime": requested, "action": action}],
    }


def _ask(
    file: BaseFile | LogFile, base: str, files: list[str], blocks: dict[str, int] | None = None
) -> dict[str, Any]:
    return {
        "partitionPath": file.partition_path,
        "fileId": file.file_id,
        "latestBaseInstant": base,
        "filesToBeDeleted": files,
        "logBlocksToBeDeleted": blocks or {},
    }


def _take_back(storage: Storage, log: LogFile, mine: str, target: str) -> LogFile:
    """Add a rollback block behind ``log``, in a log file of its own."""
    made = evolve(log, version=log.version + 1, write_token=f"0-0-{int(mine[8:])}")
    with scratch_file(storage) as local:
        writer = LogWriter(local)
        writer.rollback_block(mine, target)
        made = evolve(made, size=writer.close())
        storage.put_file_if_absent(made.path, local)
    return made


def _groups(storage: Storage, timeline: Timeline, instant: Instant) -> frozenset[Group]:
    """Where log files of ``instant`` may be that don't say so; from version 8 on all do."""
    return touched_groups(storage, timeline, instant) if timeline.layout == 1 else frozenset()


def _files_of(storage: Storage, timeline: Timeline, instant: str) -> list[BaseFile | LogFile]:
    return [file for file in _listed(storage, timeline) if file.instant == instant]


def _listed(storage: Storage, timeline: Timeline) -> list[BaseFile | LogFile]:
    """The files whose names say which instant wrote them: in version 6 a log file's name doesn't."""
    parsed = (parse_path(entry.path, entry.size) for entry in list_data(storage))
    logs = timeline.layout > 1
    return [f for f in parsed if isinstance(f, BaseFile) or (logs and isinstance(f, LogFile))]


def _absolute(storage: Storage, path: str) -> str:
    return (
        f"{local_path(storage.root) if storage.root.startswith('file:') else storage.root}/{path}"
    )


def _is_of(path: str | None, instant: str) -> bool:
    """Whether a path that a plan names is a file of ``instant``, by its own name."""
    file = parse_path(path) if path is not None else None
    return file is not None and file.instant == instant


def _relative(storage: Storage, path: str) -> str | None:
    """``path`` of a plan, relative to the table; None if it lies elsewhere (the table was moved)."""
    for root in (storage.root, _absolute(storage, "").rstrip("/")):
        if path.startswith(f"{root}/"):
            return path[len(root) + 1 :]
    return None
