"""One write from start to end: request, work, reconcile, publish."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timezone
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from attrs import Factory, evolve, frozen
from hoodoo.actions.life import Life, leftovers, request
from hoodoo.actions.rollback.files import take_own
from hoodoo.actions.rollback.run import found_now
from hoodoo.actions.writer_queue import WriterQueue
from hoodoo.errors import CommitConflictError, CommitUnknownError, CorruptTableError, StorageError
from hoodoo.hookspecs.conflict import ConflictStrategy, Group
from hoodoo.hookspecs.engine import Workspace, uses_workspace
from hoodoo.kernel.events import ActionEvents, action_events, running
from hoodoo.log import get_logger
from hoodoo.model.commit import CommitMetadata, WriteStat
from hoodoo.model.instant import Instant, State
from hoodoo.model.schema.avro import avro_text
from hoodoo.options.kinds import FLAG
from hoodoo.participants.listing import KnownFiles, shown
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import NOT_THERE, Storage
from hoodoo.storage.together import at_once, beside, looking, together
from hoodoo.timeline import partitions, placement, properties, publish
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.heartbeat import Beating
from hoodoo.timeline.publish import Following
from hoodoo.timeline.timeline import Timeline, reload

from hoodoo_rows.produce.key_changes import WriteResult
from hoodoo_rows.write import batches
from hoodoo_rows.write.commit import Commit, begin_joined, profile, replaced_groups
from hoodoo_rows.write.conflicts import CommitCheck, refuse_clustered
from hoodoo_rows.write.evolve import outgrown
from hoodoo_rows.write.operation import Replaces, WriteKind
from hoodoo_rows.write.pipeline import (
    Planned,
    Prepared,
    alone,
    markers_of,
    paths_needed,
    plan,
    prepare,
    replaced_partitions,
    write,
)
from hoodoo_rows.write.target import WriteTarget

Follow = Callable[[Timeline, KnownFiles], Following | None]
C = TypeVar("C", Commit, "Commit | None")
Undo = Callable[[Instant], None]
Step = Callable[[], None]
_log = get_logger(__name__)
_WRITE = "write"  # as events have it


@frozen
class WriteRequest:
    """What a write is asked for. ``look`` returns the current table after recovery; ``undo`` takes
    back an instant that has begun to write files; ``before_publish`` is the last thing to happen
    before the rows can be seen. ``repeats``: how often a write starts again that lost to another
    writer. ``table``: its name, for events. ``likely``: the next instant, as far as is known;
    ``saw`` is called with the timeline that has the commit. ``follow`` says of the timeline and the
    files that will be what is decided with it; ``late`` is called where tasks may yet put files
    after the commit."""

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
    likely: Callable[[datetime], str] | None = None
    saw: Callable[[Timeline], None] = lambda timeline: None
    follow: Follow = lambda timeline, files: None
    late: Callable[[], None] = lambda: None


def run(order: WriteRequest, data: Any) -> Commit:
    """Write ``data``. The commit says that it is the order's batch; of a batch that is in the table
    already it has an empty instant.

    Raises the errors of bad input (the table is as it was), CommitConflictError (undone; repeated as
    often as the order says), or CommitUnknownError (nothing is undone: the timeline has to be read
    again first).
    """
    kind = order.kind
    with _Rows(data) as rows, _attempts(order, rows.can_repeat) as attempts:
        for target in attempts:
            with attempts.repeated():
                action = kind.action(target.logs is not None)
                nothing = Commit("", action, kind.operation.value.lower())
                if (one := order.batch) and batches.applied(
                    target.storage, target.timeline, one
                ).has(one):
                    return attempts.done(nothing)
                ask = partial(_request, target, kind, attempts.beats, attempts.began)
                with ExitStack() as begun:  # a look at what the plan asks, beside the request
                    with beside(target.storage, ask) as asked:
                        begun.enter_context(looking(target.storage, "plan"))
                    life, look = asked[0], begun.pop_all()
                # No file bears this instant yet: taking the request back leaves the table as it was.
                try:
                    with (
                        _taken_files_conflict(life),
                        life.undone_on_error(partial(_take_back, life)),
                        beside(target.storage, partial(_confirm, order, life)),
                        look,
                    ):
                        prepared = rows.prepared_for(target, life.requested)
                        if prepared is None:
                            made = prepare(target, kind, data, rows.workspace, life.requested)
                            prepared = rows.keep(target, made)
                        unchanged = prepared.changes is not None and not prepared.arriving.total
                        if unchanged and order.batch is None:  # a batch is noted
                            raise _NothingToDoError
                        grown = outgrown(target.schema, prepared.schema)
                        if len(grown):  # in each attempt: rows may have come
                            target.policy.refuse_inexact(grown)
                        target = target.within(paths_needed(target, prepared))
                        planned = plan(target, prepared, life.requested)
                        replaced = _replaced(order, target, prepared, planned)
                        if at_once(target.storage) > 1:  # while the request is confirmed
                            _begin(target, life, prepared, planned)
                except _NothingToDoError:
                    return attempts.done(nothing)
                groups, tasks = len(planned.slots), planned.parts
                attempts.events.step("planned", file_groups=groups, tasks=tasks)
                undo = partial(_undo, order, target, planned)
                with _taken_files_conflict(life), life.undone_on_error(undo):
                    if life.instant.state is State.REQUESTED:
                        _begin(target, life, prepared, planned)
                    written = write(target, prepared, planned, life.instant)
                    if prepared.changes is not None:
                        prepared.changes.check(written.stats)
                    if planned.misplaced:
                        _note_misplaced(target)
                    late = _settle(order, target, life, written.stats, written.direct)
                    metadata = CommitMetadata(kind.operation, written.stats, replaced)
                    paths, schema = replaced_partitions(prepared), prepared.schema
                    commit = _publish(
                        order, target, life, metadata, schema, paths, attempts.beats, written,
                        planned.misplaced, not prepared.staged or uses_workspace(target.engine),
                        prepared.changes.read if prepared.changes is not None else frozenset(), late,
                    )  # fmt: skip
                    return attempts.done(commit)
    raise AssertionError("not reached")


def _undo(
    order: WriteRequest, target: WriteTarget, planned: Planned | None, instant: Instant
) -> None:
    """Undo the write, and what another one that took it for dead has not seen, as it came after that one had looked."""
    storage, timeline = target.storage, target.timeline
    found = found_now(storage, timeline, instant)
    is_mine = found is None or not found.is_completed
    if is_mine and planned is not None and alone(target):
        take_own(storage, timeline, instant.requested, planned.groups)
    try:
        order.undo(instant)
    except CommitConflictError:
        if is_mine:
            participants = Participants.of_table(timeline.config)
            participants.undone(storage, timeline.config, instant.requested)
        raise


class _NothingToDoError(Exception):
    """No row is to be changed: the request is taken back. Does not leave this module."""


def _replaced(
    order: WriteRequest, target: WriteTarget, prepared: Prepared, planned: Planned
) -> dict[str, tuple[str, ...]]:
    """The file groups that the write replaces. Raises where a clustering of what it changes stands in its way."""
    replaced = {}
    if order.kind.replaces is not Replaces.NOTHING:
        replaced = replaced_groups(target.slices, replaced_partitions(prepared))
    _give_way(order, target, planned.groups, replaced)
    return replaced


def _note_misplaced(target: WriteTarget) -> None:
    """Rows lie where their columns do not say: readers must know before they see such a row."""
    if FLAG.stored(target.config.get(placement.FOLLOWS) or ""):
        properties.update(target.storage, target.config, {placement.FOLLOWS: "false"})


def drop_partitions(
    order: WriteRequest, choose: Callable[[WriteTarget], Sequence[str] | None]
) -> Commit | None:
    """A replacecommit that leaves the file groups of whole partition paths behind and adds none.

    ``choose`` answers these paths for the table as an attempt sees it, or None where there is nothing to drop;
    then there is no commit. It is called again after each conflict: what another writer has put into a partition
    meanwhile is in what it sees. Raises as :func:`run`.
    """

    def work(target: WriteTarget) -> _Work | None:
        paths = choose(target)
        if paths is None:
            return None
        replaced = replaced_groups(target.slices, paths)
        _give_way(order, target, (), replaced)
        return _Work(lambda instant: (), replaced, tuple(paths))

    return _commit(order, work)


Files = Callable[[Instant], tuple[WriteStat, ...]]


def commit_files(order: WriteRequest, work: Callable[[WriteTarget], Files | None]) -> Commit | None:
    """A commit of files whose rows are those of files before them. ``work`` answers what makes these files
    of an instant that is inflight, or None where nothing is left to do; then there is no commit.

    Raises as :func:`run`.
    """

    def made(target: WriteTarget) -> _Work | None:
        files = work(target)
        return None if files is None else _Work(files)

    return _commit(order, made)


@frozen
class _Work:
    """A commit that is not of rows. ``files`` makes its files; ``replaced``: the groups that it leaves behind, all
    those of ``paths``."""

    files: Files
    replaced: Mapping[str, tuple[str, ...]] = Factory(dict)
    paths: tuple[str, ...] = ()


def _commit(order: WriteRequest, make: Callable[[WriteTarget], _Work | None]) -> Commit | None:
    with _attempts(order, lambda target: True) as attempts:
        for target in attempts:
            with attempts.repeated():
                work = make(target)
                if work is None:
                    return attempts.done(None)
                life = _request(target, order.kind, attempts.beats)
                undo = partial(_undo, order, target, None)
                with _taken_files_conflict(life), life.undone_on_error(undo):
                    life.begin(_inflight(target, profile(order.kind.operation, (), {})))
                    stats = work.files(life.instant)
                    _settle(order, target, life, stats or None, direct=False)
                    metadata = CommitMetadata(order.kind.operation, stats, dict(work.replaced))
                    return attempts.done(
                        _publish(
                            order, target, life, metadata, target.schema, work.paths, attempts.beats
                        )
                    )
    raise AssertionError("not reached")


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


class _Rows:
    """The rows of a write, prepared once for all its attempts, as far as that can be."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self._prepared: tuple[pa.Schema, Prepared] | None = None
        self._workspace: Workspace | None = None
        self._used = True

    def __enter__(self) -> _Rows:
        return self

    def __exit__(self, *error: object) -> None:
        self._discard()

    @property
    def workspace(self) -> Workspace:
        assert self._workspace is not None
        return self._workspace

    def prepared_for(self, target: WriteTarget, instant: str) -> Prepared | None:
        """What an attempt before has prepared, if it is right for ``target``; None: it has to be done (again)."""
        if self._prepared is not None and self._prepared[0] == target.schema:
            return self._prepared[1]
        self._discard()
        self._workspace = target.workspace(f"w{instant}")
        self._used = uses_workspace(target.engine)
        return None

    def keep(self, target: WriteTarget, prepared: Prepared) -> Prepared:
        if prepared.staged and prepared.changes is None:
            self._prepared = (target.schema, prepared)
        return prepared

    def can_repeat(self, target: WriteTarget) -> bool:
        """Whether the rows are still there for another attempt."""
        kept = self._prepared is not None and self._prepared[0] == target.schema
        return kept or self._workspace is None or not _is_read_once(self.data)

    def _discard(self) -> None:
        workspace, self._workspace, self._prepared = self._workspace, None, None
        if workspace is not None and self._used:
            with suppress(StorageError):  # the next write's recovery does it
                workspace.storage.delete_prefix(workspace.prefix)


def _is_read_once(data: Any) -> bool:
    """Whether ``data`` may be a stream, which has no rows left when it has been read. What has a length
    is there as a whole; a Spark DataFrame and a scan are evaluated again."""
    if hasattr(data, "__next__") or isinstance(data, pa.RecordBatchReader):
        return True
    anew = type(data).__module__.split(".")[0] in ("pyspark", "hoodoo")
    return hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__len__") and not anew


class _Attempts:
    """The table as each attempt sees it, until one is published, or bad input or the order's patience ends it."""

    def __init__(
        self,
        order: WriteRequest,
        can_repeat: Callable[[WriteTarget], bool],
        beats: Beating,
        events: ActionEvents,
    ) -> None:
        self.order, self.can_repeat, self.beats, self.events = order, can_repeat, beats, events
        self._left, self._began = order.repeats, 0.0
        self.began: datetime | None = None
        far = at_once(order.storage) > 1 and order.likely is not None
        self._look = self._look_beating if far else order.look
        self._conflict: CommitConflictError | None = None

    def __iter__(self) -> Iterator[WriteTarget]:
        order, turns = self.order, self.order.turns
        if turns.is_wary:
            turns.take(order.storage)
        target = self._look()
        target.engine.check(target.plugins.refs)
        while True:
            self._began = time.monotonic()
            yield target
            conflict = self._conflict
            assert conflict is not None  # else the attempt has returned
            turns.lost(time.monotonic() - self._began)
            if not self._left:
                raise conflict
            turns.take(order.storage)
            target = self._look()
            if not self.can_repeat(target):
                raise conflict
            self.events.step("repeated", after=str(conflict), left=self._left)
            self._left -= 1

    def _look_beating(self) -> WriteTarget:
        """Across a network the heartbeat of the likely instant goes with the look."""
        assert self.order.likely is not None
        self.began = datetime.now(timezone.utc)
        ahead = partial(self.beats.add_ahead, self.order.likely(self.began))
        with beside(self.order.storage, ahead):
            return self.order.look()

    @contextmanager
    def repeated(self) -> Iterator[None]:
        """What is done inside is one attempt: another one follows where other writers changed the table."""
        try:
            yield
        except CommitConflictError as conflict:
            self._conflict = conflict

    def done(self, commit: C) -> C:
        """An attempt's ``commit``: there is no other one."""
        self.order.turns.won()
        if commit is None or not commit.instant:
            self.events.skip()
        return commit


@contextmanager
def _attempts(
    order: WriteRequest, can_repeat: Callable[[WriteTarget], bool]
) -> Iterator[_Attempts]:
    operation = order.kind.operation.value
    with action_events(
        _WRITE, order.table, order.storage.root, end="committed", operation=operation
    ) as events:
        try:
            with Beating(order.storage) as beats:
                yield _Attempts(order, can_repeat, beats, events)
        finally:
            order.turns.give_back()


def _take_back(life: Life, instant: Instant) -> None:
    if at_once(life.storage) > 1:  # it may have begun
        publish.withdraw(life.storage, life.timeline, instant)
    else:
        life.storage.delete(life.timeline.path(instant))


@contextmanager
def _taken_files_conflict(life: Life) -> Iterator[None]:
    """CommitConflictError where what is done inside failed because a file that it had seen was cleaned, or taken
    away with an instant that was undone (its own, too) or a metadata table that is rebuilt, while it was at work."""
    try:
        yield
    except CommitUnknownError:
        raise
    except Exception as error:
        texts = ("FileNotFoundError", NOT_THERE)  # from a task elsewhere
        missing = isinstance(error, FileNotFoundError | CorruptTableError)
        if not (missing or any(text in str(error) for text in texts)):
            raise
        fresh = reload(life.storage, life.timeline)
        done = {i for i in fresh.completed() if i != life.instant}
        listed = properties.load(life.storage).metadata_partitions
        seen = life.timeline
        same = done == set(seen.completed()) and listed == seen.config.metadata_partitions
        # Its own instant does not count: on an error its files have been deleted by now.
        if same and not any(i.traits.undoes for i in fresh.pending()):
            raise
        raise CommitConflictError(
            f"instant {life.requested}",
            f"a file that this write had seen was taken away by a later instant ({error}).",
            "Repeat the write.",
        ) from error


def _request(
    target: WriteTarget, kind: WriteKind, beats: Beating, later: datetime | None = None
) -> Life:
    action = kind.action(target.logs is not None)
    plan_bytes = (
        codec_avro.encode("HoodieRequestedReplaceMetadata", {})
        if action == "replacecommit"
        else b""
    )
    life = request(
        target.storage, target.timeline, action, plan_bytes, what="instant", named=beats.add,
        retry="Repeat the write.",
        unknown="Open the table and look at table.timeline() before writing the same rows again.",
        later=later,
    )  # fmt: skip
    events = _events(target)
    if events is not None:
        events.report(instant=life.requested)
        events.step("requested")
    return life


def _confirm(order: WriteRequest, life: Life) -> None:
    """Across a network what goes before the first publish goes here already: nobody waits for it."""
    early = (order.before_publish,) if at_once(life.storage) > 1 else ()
    together(life.storage, life.confirm, *early)


def _begin(target: WriteTarget, life: Life, prepared: Prepared, planned: Planned) -> None:
    puts = prepared.arriving.puts
    life.begin(_inflight(target, profile(prepared.kind.operation, planned.slots, puts)))


def _inflight(target: WriteTarget, begun: CommitMetadata) -> bytes:
    return target.timeline.layout.encode_inflight(begun)


def _settle(
    order: WriteRequest,
    target: WriteTarget,
    life: Life,
    stats: tuple[WriteStat, ...] | None,
    direct: bool,
) -> bool:
    """What has to be true before the publish: files (``stats``, None: there are none) and properties are as the
    commit will say. Whether tasks that are late may yet put files."""
    look = (lambda: False) if stats is None else partial(_reconcile, target, life, stats, direct)
    return bool(together(target.storage, look, order.before_publish)[0])


def _reconcile(target: WriteTarget, life: Life, stats: tuple[WriteStat, ...], direct: bool) -> bool:
    touched = sorted({stat.partition_path for stat in stats})
    # Who takes such a file group away meanwhile, and the partition with it, stands in this write's way.
    groups = {(s.partition_path, s.file_id) for s in target.slices}
    known = {s.partition_path for s in stats if (s.partition_path, s.file_id) in groups}
    # hudi-rs marks no root, and its tables say no schema.
    new = [p for p in touched if p not in known or not (p or target.config.create_schema)]
    ensure = partial(partitions.ensure, target.storage, instant=life.requested)
    together(target.storage, *(partial(ensure, path) for path in new))
    if not direct and alone(target):
        return False  # of each file there is one, and its stat
    named = {path for stat in stats for path in stat.paths}
    if direct:  # each attempt of a task names its files
        return life.reconcile_marked(named)
    life.reconcile(named, touched)
    return False


def _publish(
    order: WriteRequest, target: WriteTarget, life: Life, metadata: CommitMetadata,
    schema: pa.Schema, replaced: Sequence[str] | None, beats: Beating,
    written: WriteResult | None = None, misplaced: bool = False, staged: bool = True,
    read: frozenset[Group] = frozenset(), late: bool = False,
) -> Commit:  # fmt: skip
    """The end of an attempt. ``misplaced``: rows lie where their columns do not say; ``staged``:
    there may be something in its workspace; ``read``: the file groups that it uses; ``late``: tasks
    may yet put files, which the next writer deletes. Raises CommitConflictError (not published, not
    undone yet)."""
    instant, result = life.instant, written or WriteResult(metadata.stats)
    with looking(target.storage, "join"):
        joined = begin_joined(target, instant, metadata, result, schema)
    text = avro_text(schema, target.config.name)
    noted: list[CommitMetadata] = []

    def content(fresh: Timeline) -> bytes:
        """With ``extraMetadata``: the schema, which batches are in the table, and where its rows lie."""
        extra = batches.extra_metadata(target.storage, fresh, instant, order.batch)
        if not misplaced:
            extra = {**extra, **placement.noted(target.storage, fresh, instant)}
        if target.joined is not None:
            extra = {**extra, **target.joined.noted}
        whole = evolve(metadata, extra={"schema": text, **extra})
        noted.append(whole)
        return target.timeline.layout.encode_commit(whole, instant.action)

    known = shown(target.timeline)

    def then(seen: Timeline, done: Instant) -> Following | None:
        came = set(seen.instants).difference(target.timeline.instants)
        if known is None or {i.requested for i in came} != {done.requested}:
            return None
        target.timeline.note(done, noted[-1])
        own = tuple(path for stat in metadata.stats for path in stat.paths)
        found = order.follow(seen, evolve(known, own=own))
        return found and evolve(found, whole=joined is None)

    check = CommitCheck(
        target, order.kind, instant, metadata, replaced, order.batch, order.conflicts, schema, read,
        ahead=target.config if target.calm else None,
    )  # fmt: skip
    left, end = leftovers(life.storage, life.requested, staged, not late), beats.end
    if not staged and alone(target):
        left, end = [], partial(beats.end, markers_of(target, life.requested, metadata.stats))
    outcome = life.complete(
        content, check=check, beside=joined, ahead=check.look_ahead, after=(*left, end),
        known=target.calm, then=then if target.calm else None,
    )  # fmt: skip
    if noted:
        target.timeline.note(outcome.instant, noted[-1])
    if late:
        order.late()
    if outcome.seen is not None and at_once(target.storage) > 1:
        order.saw(outcome.seen.followed_by(outcome.instant, *outcome.followed))
    commit = Commit.of(
        instant.requested, instant.action, metadata.operation, metadata.stats,
        outcome.instant.completed,
    )  # fmt: skip
    events = _events(target)
    if events is not None:
        events.report(metadata.figures)
    return commit


def _events(target: WriteTarget) -> ActionEvents | None:
    return running(_WRITE, target.storage.root)
