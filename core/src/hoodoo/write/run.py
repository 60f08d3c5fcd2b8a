"""One write from start to end: request, work, reconcile, publish."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from attrs import evolve, frozen

from hoodoo.errors import (
    CommitConflictError,
    CommitUnknownError,
    CorruptTableError,
    HoodooError,
    StorageError,
)
from hoodoo.files.opening import NOT_THERE
from hoodoo.hookspecs.conflict import ConflictStrategy
from hoodoo.hookspecs.engine import Workspace
from hoodoo.kernel.events import ActionEvents, action_events, running
from hoodoo.log import get_logger
from hoodoo.model.commit import CommitMetadata, WriteStat
from hoodoo.model.instant import Instant, State
from hoodoo.model.schema.avro import avro_text
from hoodoo.model.schema.evolve import outgrown
from hoodoo.options.kinds import FLAG
from hoodoo.produce.key_changes import WriteResult
from hoodoo.produce.markers import MARKERS
from hoodoo.storage.api import Storage
from hoodoo.timeline import partitions, placement, properties, publish
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.heartbeat import Beating
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.publish import Result
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo.timeline.view import list_data
from hoodoo.write import batches
from hoodoo.write.changed import begin_joined
from hoodoo.write.clustered import refuse_clustered
from hoodoo.write.commit import Commit, profile, replaced_groups
from hoodoo.write.conflicts import CommitCheck
from hoodoo.write.operation import Replaces, WriteKind
from hoodoo.write.pipeline import Prepared, plan, prepare, replaced_partitions, write
from hoodoo.write.target import WriteTarget
from hoodoo.write.writer_queue import WriterQueue

C = TypeVar("C", Commit, "Commit | None")
Undo = Callable[[Instant], None]
Step = Callable[[], None]
_log = get_logger(__name__)
_WRITE = "write"  # as events have it


@frozen
class WriteRequest:
    """What a write is asked for. ``look`` answers the table as it is now, after healing; ``undo`` takes
    back an instant that has begun to write files; ``before_publish`` is the last thing to happen before
    the rows can be seen. ``repeats``: how often a write starts again that lost to another writer. ``table``: its name,
    for events."""

    storage: Storage
    kind: WriteKind
    look: Callable[[], WriteTarget]
    undo: Undo
    before_publish: Step
    conflicts: ConflictStrategy
    turns: WriterQueue
    repeats: int = 20
    batch: Batch | None = None
    table: str = ""


def run(order: WriteRequest, data: Any) -> Commit:
    """Write ``data``. The commit says that it is the order's batch; of a batch that is in the table
    already it has an empty instant.

    Raises the errors of bad input (the table is as it was), CommitConflictError (undone; repeated as
    often as the order says), or CommitUnknownError (nothing is undone: the timeline has to be read
    again first).
    """
    rows = _Rows(data)

    def attempt(target: WriteTarget, beats: Beating) -> Commit:
        if order.batch and batches.applied(target.storage, target.timeline).has(order.batch):
            kind = order.kind
            return Commit("", kind.action(target.logs is not None), kind.operation.value.lower())
        return _write(order, target, rows, beats)

    try:
        return _repeated(order, attempt, rows.can_repeat)
    finally:
        rows.discard()


def drop_partitions(
    order: WriteRequest, choose: Callable[[WriteTarget], Sequence[str] | None]
) -> Commit | None:
    """A replacecommit that leaves the file groups of whole partition paths behind and adds none.

    ``choose`` answers these paths for the table as an attempt sees it, or None where there is nothing to drop;
    then there is no commit. It is called again after each conflict: what another writer has put into a partition
    meanwhile is in what it sees. Raises as :func:`run`.
    """

    def attempt(target: WriteTarget, beats: Beating) -> Commit | None:
        paths = choose(target)
        if paths is None:
            return None
        replaced = replaced_groups(target.slices, paths)
        _give_way(order, target, (), replaced)
        instant = _request(target, order.kind, beats)
        metadata = CommitMetadata(order.kind.operation, (), replaced)
        with _taken_back(order, target, instant):
            begun = profile(order.kind.operation, (), {})
            instant = _inflight(target, instant, begun)
            return _publish(order, target, instant, metadata, target.schema, paths)

    return _repeated(order, attempt, lambda target: True)


Files = Callable[[Instant], tuple[WriteStat, ...]]


def commit_files(order: WriteRequest, work: Callable[[WriteTarget], Files | None]) -> Commit | None:
    """A commit of files whose rows are those of files before them. ``work`` answers what makes these files
    of an instant that is inflight, or None where nothing is left to do; then there is no commit.

    Raises as :func:`run`.
    """

    def attempt(target: WriteTarget, beats: Beating) -> Commit | None:
        make = work(target)
        if make is None:
            return None
        instant = _request(target, order.kind, beats)
        with _taken_back(order, target, instant):
            instant = _inflight(target, instant, profile(order.kind.operation, (), {}))
            stats = make(instant)
            _reconcile(target, instant, stats, direct=False)
            metadata = CommitMetadata(order.kind.operation, stats)
            return _publish(order, target, instant, metadata, target.schema, [])

    return _repeated(order, attempt, lambda target: True)


def _give_way(
    order: WriteRequest,
    target: WriteTarget,
    touched: Iterable[tuple[str, str]],
    replaced: Mapping[str, Iterable[str]],
) -> None:
    """PendingClusteringError where a clustering stands in the way. One that may be overtaken gives way when it
    is to be published, if it is Hoodoo's; another writer's would not, and is undone."""
    gone = {(path, file_id) for path, ids in replaced.items() for file_id in ids}
    for met in refuse_clustered(target, order.kind, gone.union(touched)):
        if met.is_foreign:
            # Completed meanwhile: the check before the publish tells.
            with suppress(CommitConflictError):
                order.undo(Instant(met.instant, met.action, State.REQUESTED))


@contextmanager
def _taken_back(order: WriteRequest, target: WriteTarget, instant: Instant) -> Iterator[None]:
    """What is done here is undone if it fails, unless nobody knows whether it did."""
    try:
        yield
    except CommitUnknownError:
        raise
    except Exception as error:
        _tidy(target, instant, lambda: order.undo(instant))
        if conflict := _behind(target, instant, error):
            raise conflict from error
        raise


class _Rows:
    """The rows of a write, prepared once for all its attempts, as far as that can be."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self._prepared: tuple[pa.Schema, Prepared] | None = None
        self._workspace: Workspace | None = None
        self._read = False

    def prepare(self, target: WriteTarget, kind: WriteKind, instant: Instant) -> Prepared:
        if self._prepared is not None and self._prepared[0] == target.schema:
            return self._prepared[1]
        self.discard()
        self._workspace = target.workspace(f"w{instant.requested}")
        self._read = True
        prepared = prepare(target, kind, self.data, self._workspace, instant.requested)
        if prepared.staged:
            self._prepared = (target.schema, prepared)
        return prepared

    def can_repeat(self, target: WriteTarget) -> bool:
        """Whether the rows are still there for another attempt."""
        kept = self._prepared is not None and self._prepared[0] == target.schema
        return kept or not (self._read and _is_read_once(self.data))

    def discard(self) -> None:
        workspace, self._workspace, self._prepared = self._workspace, None, None
        if workspace is not None:
            with suppress(StorageError):  # the next write's heal does it
                workspace.storage.delete_prefix(workspace.prefix)


def _is_read_once(data: Any) -> bool:
    """Whether ``data`` may be a stream, which has no rows left when it has been read. What has a length
    is there as a whole; a Spark DataFrame and a scan are evaluated anew."""
    if hasattr(data, "__next__") or isinstance(data, pa.RecordBatchReader):
        return True
    anew = type(data).__module__.split(".")[0] in ("pyspark", "hoodoo")
    return hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__len__") and not anew


def _repeated(
    order: WriteRequest,
    attempt: Callable[[WriteTarget, Beating], C],
    can_repeat: Callable[[WriteTarget], bool],
) -> C:
    """Attempts until one is published, or bad input or the order's patience ends it."""
    operation = order.kind.operation.value
    with action_events(
        _WRITE, order.table, order.storage.root, end="committed", operation=operation
    ) as events:
        commit = _attempts(order, attempt, can_repeat, events)
        if commit is None or not commit.instant:
            events.skip()
        return commit


def _attempts(
    order: WriteRequest,
    attempt: Callable[[WriteTarget, Beating], C],
    can_repeat: Callable[[WriteTarget], bool],
    events: ActionEvents,
) -> C:
    turns = order.turns
    try:
        with Beating(order.storage) as beats:
            if turns.is_wary:
                turns.take(order.storage)
            target = order.look()
            target.engine.check(target.plugins)
            for left in range(order.repeats, -1, -1):
                began = time.monotonic()
                try:
                    commit = attempt(target, beats)
                except CommitConflictError as conflict:
                    turns.lost(time.monotonic() - began)
                    if not left:
                        raise
                    turns.take(order.storage)
                    target = order.look()
                    if not can_repeat(target):
                        raise
                    events.step("repeated", after=str(conflict), left=left)
                else:
                    turns.won()
                    return commit
    finally:
        turns.give_back()
    raise AssertionError("not reached")


def _write(order: WriteRequest, target: WriteTarget, rows: _Rows, beats: Beating) -> Commit:
    kind = order.kind
    instant = _request(target, kind, beats)
    try:
        prepared = rows.prepare(target, kind, instant)
        if len(
            grown := outgrown(target.schema, prepared.schema)
        ):  # in each attempt: rows may have come
            target.refuse_inexact(grown)
        planned = plan(target, prepared, instant.requested)
        replaced_paths = replaced_partitions(prepared)
        replaced = {}
        if kind.replaces is not Replaces.NOTHING:
            replaced = replaced_groups(target.slices, replaced_paths)
        touched = {(s.partition_path, s.file_id) for s in planned.slots}
        _give_way(order, target, touched, replaced)
    except Exception as error:
        # No file bears this instant yet: taking the request back leaves the table as it was.
        _tidy(target, instant, lambda: target.storage.delete(target.timeline.path(instant)))
        if conflict := _behind(target, instant, error):
            raise conflict from error
        raise
    events = _events(target)
    if events is not None:
        events.step("planned", file_groups=len(planned.slots), tasks=planned.parts)
    with _taken_back(order, target, instant):
        begun = profile(kind.operation, planned.slots, prepared.arriving.puts)
        instant = _inflight(target, instant, begun)
        written = write(target, prepared, planned, instant)
        _reconcile(target, instant, written.stats, direct=not prepared.staged)
        if planned.misplaced and FLAG.stored(target.config.get(placement.FOLLOWS) or ""):
            # Readers must know before they see such a row.
            properties.update(target.storage, target.config, {placement.FOLLOWS: "false"})
        metadata = CommitMetadata(kind.operation, written.stats, replaced)
        return _publish(
            order,
            target,
            instant,
            metadata,
            prepared.schema,
            replaced_paths,
            written,
            planned.misplaced,
        )


def _behind(target: WriteTarget, instant: Instant, error: Exception) -> CommitConflictError | None:
    """The conflict that ``error`` comes from, if one: a file that the write had seen was cleaned, or
    taken away with an instant that was undone or a metadata table that is made anew, while it was at work."""
    missing = isinstance(error, FileNotFoundError | CorruptTableError) or any(
        text in str(error)
        for text in ("FileNotFoundError", NOT_THERE)  # from a task elsewhere
    )
    if not missing:
        return None
    fresh = reload(target.storage, target.timeline)
    same = {i for i in fresh.completed() if i != instant} == set(target.timeline.completed())
    listed = properties.load(target.storage).metadata_partitions
    if same and listed == target.timeline.config.metadata_partitions:
        return None
    return CommitConflictError(
        f"instant {instant.requested}",
        f"a file that this write had seen was taken away by a later instant ({error}).",
        "Repeat the write.",
    )


def _request(target: WriteTarget, kind: WriteKind, beats: Beating) -> Instant:
    action = kind.action(target.logs is not None)
    plan_bytes = codec_avro.encode_requested_replace() if action == "replacecommit" else b""
    instant = publish.request(target.storage, target.timeline, action, plan_bytes, named=beats.add)
    events = _events(target)
    if events is not None:
        events.report(instant=instant.requested)
        events.step("requested")
    return instant


def _inflight(target: WriteTarget, instant: Instant, begun: CommitMetadata) -> Instant:
    content = target.timeline.layout.encode_inflight(begun)
    return publish.inflight(target.storage, target.timeline, instant, content)


def _reconcile(
    target: WriteTarget, instant: Instant, stats: tuple[WriteStat, ...], direct: bool
) -> None:
    """Files of this instant that no stat names are deleted: readers that only list must never see one."""
    touched = sorted({stat.partition_path for stat in stats})
    for path in touched:
        partitions.ensure(target.storage, path, instant.requested)
    named = {path for stat in stats for path in stat.paths}
    # A direct write learns its partition paths from the rows: another attempt may have seen others.
    for entry in list_data(target.storage, None if direct else touched):
        file = parse_path(entry.path, entry.size)
        if file is not None and file.instant == instant.requested and entry.path not in named:
            target.storage.delete(entry.path)


def _publish(
    order: WriteRequest,
    target: WriteTarget,
    instant: Instant,
    metadata: CommitMetadata,
    schema: pa.Schema,
    replaced: Sequence[str] | None,
    written: WriteResult | None = None,
    misplaced: bool = False,
) -> Commit:
    """The end of an attempt. ``misplaced``: rows lie where their columns do not say. Raises CommitConflictError
    (not published, not undone yet)."""
    order.before_publish()
    result = written or WriteResult(metadata.stats)
    beside = begin_joined(target, instant, metadata, result)
    text = avro_text(schema, target.config.name)

    def content(fresh: Timeline) -> bytes:
        """With ``extraMetadata``: the schema, which batches are in the table, and where its rows lie."""
        told = batches.extra_metadata(target.storage, fresh, instant, order.batch)
        if not misplaced:
            told = {**told, **placement.noted(target.storage, fresh, instant)}
        if target.joined is not None:
            told = {**told, **target.joined.noted}
        whole = evolve(metadata, extra={"schema": text, **told})
        return target.timeline.layout.encode_commit(whole, instant.action)

    check = CommitCheck(
        target, order.kind, instant, metadata, replaced, order.batch, order.conflicts, schema
    )
    outcome = publish.complete(
        target.storage, target.timeline, instant, content, check=check, beside=beside
    )
    if outcome.result is Result.CONFLICTED:
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
    events = _events(target)
    if events is not None:
        events.report(metadata.figures)
    return commit


def _tidy(target: WriteTarget, instant: Instant, action: Callable[[], object]) -> None:
    """Clean up once the outcome is settled. Failing here changes nothing of it, and must not hide it:
    the next write's heal does what is left over."""
    try:
        action()
    except HoodooError as error:
        _log.warning("left_to_next_write", table=target.config.name, instant=instant.requested,
                     error=str(error))  # fmt: skip


def _events(target: WriteTarget) -> ActionEvents | None:
    return running(_WRITE, target.storage.root)
