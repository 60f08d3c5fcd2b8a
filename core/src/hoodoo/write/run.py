"""One write from start to end: request, work, reconcile, publish."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pyarrow as pa

from hoodoo.errors import CommitConflictError, CommitUnknownError, HoodooError
from hoodoo.hookspecs.observer import Event
from hoodoo.kernel.events import notify
from hoodoo.log import get_logger
from hoodoo.model.commit import CommitMetadata, WriteStat
from hoodoo.model.instant import Instant
from hoodoo.model.schema_avro import avro_text
from hoodoo.timeline import batches, codec, codec_avro, partitions, publish
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.publish import Result
from hoodoo.timeline.timeline import reload
from hoodoo.timeline.view import list_data
from hoodoo.write.commit import Commit, profile, replaced_groups
from hoodoo.write.operation import Replaces, WriteKind
from hoodoo.write.overtaken import refuse_under_compaction
from hoodoo.write.pipeline import plan, prepare, replaced_partitions, write
from hoodoo.write.target import MARKERS, WriteTarget

Undo = Callable[[Instant], None]
Step = Callable[[], None]
_log = get_logger(__name__)


def run(
    target: WriteTarget,
    kind: WriteKind,
    data: Any,
    undo: Undo,
    before_publish: Step,
    batch: Batch | None = None,
) -> Commit:
    """Write ``data``. ``undo`` takes back an instant that has begun to write files;
    ``before_publish`` is the last thing to happen before the rows can be seen; the commit says that
    it is ``batch``.

    Raises the errors of bad input (the table is as it was), CommitConflictError (undone), or
    CommitUnknownError (nothing is undone: the timeline has to be read again first).
    """
    target.engine.check(target.plugins)
    instant = _request(target, kind)
    _tell(target, "write.started", instant, operation=kind.operation.value)
    workspace = target.workspace(instant.requested)
    try:
        prepared = prepare(target, kind, data, workspace)
        planned = plan(target, prepared, instant.requested)
    except Exception:
        # No file bears this instant yet: taking the request back leaves the table as it was.
        _tidy(target, instant, lambda: target.storage.delete_prefix(workspace.prefix))
        _tidy(target, instant, lambda: target.storage.delete(target.timeline.path(instant)))
        raise
    _tell(target, "write.planned", instant, file_groups=len(planned.slots), tasks=planned.parts)
    try:
        begun = profile(kind.operation, planned.slots, prepared.arriving.puts)
        instant = _inflight(target, instant, begun)
        stats = write(target, prepared, planned, instant)
        _reconcile(target, instant, stats, direct=not prepared.staged)
        replaced = {}
        if kind.replaces is not Replaces.NOTHING:
            replaced = replaced_groups(target.slices, replaced_partitions(prepared))
        extra = _extra(target, instant, prepared.schema, batch)
        _refuse_overtaken(target, instant, stats)
        before_publish()
    except Exception:
        _tidy(target, instant, lambda: undo(instant))
        raise
    metadata = CommitMetadata(kind.operation, stats, replaced, extra)
    return _publish(target, instant, metadata, undo)


def drop_partitions(
    target: WriteTarget,
    kind: WriteKind,
    paths: Iterable[str],
    undo: Undo,
    before_publish: Step,
) -> Commit:
    """A replacecommit that leaves the file groups of the partition ``paths`` behind and adds none."""
    instant = _request(target, kind)
    _tell(target, "write.started", instant, operation=kind.operation.value)
    try:
        instant = _inflight(target, instant, profile(kind.operation, (), {}))
        _refuse_overtaken(target, instant, ())
        before_publish()
    except Exception:
        _tidy(target, instant, lambda: undo(instant))
        raise
    extra = _extra(target, instant, target.schema, None)
    replaced = replaced_groups(target.slices, paths)
    return _publish(target, instant, CommitMetadata(kind.operation, (), replaced, extra), undo)


def _request(target: WriteTarget, kind: WriteKind) -> Instant:
    action = kind.action(target.logs is not None)
    plan_bytes = codec_avro.encode_requested_replace() if action == "replacecommit" else b""
    return publish.request(target.storage, target.timeline, action, plan_bytes)


def _extra(
    target: WriteTarget, instant: Instant, schema: pa.Schema, batch: Batch | None
) -> dict[str, str]:
    """``extraMetadata``: the schema, and which batches are in the table."""
    told = batches.extra_metadata(target.storage, target.timeline, instant, batch)
    return {"schema": avro_text(schema, target.config.name), **told}


def _inflight(target: WriteTarget, instant: Instant, begun: CommitMetadata) -> Instant:
    content = codec.encode_inflight(begun, target.config.layout_version)
    return publish.inflight(target.storage, target.timeline, instant, content)


def _reconcile(
    target: WriteTarget, instant: Instant, stats: tuple[WriteStat, ...], direct: bool
) -> None:
    """Readers that only list must never see a stray: files of this instant that no stat names go."""
    touched = sorted({stat.partition_path for stat in stats})
    for path in touched:
        partitions.ensure(target.storage, path, instant.requested)
    named = {stat.path for stat in stats}
    # A direct write learns its partition paths from the rows: another attempt may have seen others.
    for entry in list_data(target.storage, None if direct else touched):
        file = parse_path(entry.path, entry.size)
        if file is not None and file.instant == instant.requested and entry.path not in named:
            target.storage.delete(entry.path)


def _refuse_overtaken(target: WriteTarget, instant: Instant, stats: tuple[WriteStat, ...]) -> None:
    """Nobody may have published since this write read the table: its files would undo theirs."""
    known = {i.requested for i in target.timeline.writes()}
    fresh = reload(target.storage, target.timeline)
    for other in fresh.writes():
        if other.requested not in known and not _is_compaction(target, other):
            raise CommitConflictError(
                f"instant {instant.requested}",
                f"another writer published {other} after this write had read the table.",
                "Repeat the write.",
            )
    if target.logs is not None:
        refuse_under_compaction(target.storage, target.timeline, fresh, instant, stats)


def _is_compaction(target: WriteTarget, commit: Instant) -> bool:
    """Compactions go on beside writers: they change no row, and log files that complete after their
    plan belong to the base files that they make."""
    return target.logs is not None and commit.action == "commit"


def _publish(target: WriteTarget, instant: Instant, metadata: CommitMetadata, undo: Undo) -> Commit:
    content = codec.encode_commit(metadata, instant.action, target.config.layout_version)
    outcome = publish.complete(target.storage, target.timeline, instant, content)
    if outcome.result is Result.CONFLICTED:
        _tidy(target, instant, lambda: undo(instant))
        raise CommitConflictError(
            f"instant {instant.requested}", f"was not published: {outcome.reason}.",
            "Repeat the write.",
        )  # fmt: skip
    if outcome.result is Result.UNKNOWN:
        raise CommitUnknownError(
            f"instant {instant.requested}",
            f"it is unknown whether the commit was published: {outcome.reason}.",
            "Open the table and look at table.timeline() before writing the same rows again.",
        )
    for left in (target.workspace(instant.requested).prefix, f"{MARKERS}/{instant.requested}"):
        _tidy(target, instant, partial(target.storage.delete_prefix, left))
    commit = Commit.of(
        instant.requested, instant.action, metadata.operation, metadata.stats,
        outcome.instant.completed,
    )  # fmt: skip
    _tell(target, "write.committed", instant, inserted=commit.inserted, updated=commit.updated,
          deleted=commit.deleted, files=len(commit.files))  # fmt: skip
    return commit


def _tidy(target: WriteTarget, instant: Instant, action: Callable[[], object]) -> None:
    """Clean up once the outcome is settled. Failing here changes nothing of it, and must not hide it:
    the next write's heal does what is left over."""
    try:
        action()
    except HoodooError as error:
        _log.warning("left_to_next_write", table=target.config.name, instant=instant.requested,
                     error=str(error))  # fmt: skip


def _tell(target: WriteTarget, kind: str, instant: Instant, **detail: Any) -> None:
    notify(Event(kind, target.config.name, instant.requested, detail))
