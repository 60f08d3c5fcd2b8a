"""A transaction: one attempt of a write. Its steps, in their order, are its methods.

``begin`` puts the request on the timeline; ``prepare`` reads the rows; ``use`` takes a plan, which
names every file; ``inflight`` begins the tasks, and ``wrote`` ends them; ``settle`` leaves no file
that the commit does not name; ``decide`` publishes. Until ``use`` has ended, an error withdraws the
request; after that, an error undoes the write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import Factory, define, evolve
from hoodoo.actions.rollback.files import take_own
from hoodoo.actions.rollback.run import found_now
from hoodoo.actions.transaction import Transaction, leftovers
from hoodoo.errors import CommitConflictError, StorageError
from hoodoo.hookspecs.engine import Workspace, uses_workspace
from hoodoo.kernel.events import ActionEvents, running
from hoodoo.model.action import named
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.instant import Instant, State
from hoodoo.model.schema.avro import avro_text
from hoodoo.options.kinds import FLAG
from hoodoo.participants.listing import shown
from hoodoo.participants.of_table import Participants
from hoodoo.storage.together import beside, looking, together
from hoodoo.timeline import partitions, properties, publish
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.heartbeat import Beating
from hoodoo.timeline.publish import Following
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_rows import placement
from hoodoo_rows.merge.rule import LATEST_SCHEMA, history_of
from hoodoo_rows.produce.key_changes import WriteResult
from hoodoo_rows.write import batches
from hoodoo_rows.write.commit import Commit, begin_joined, profile, replaced_groups
from hoodoo_rows.write.conflicts import CommitCheck, refuse_clustered, taken_files_conflict
from hoodoo_rows.write.evolve import outgrown
from hoodoo_rows.write.operation import Replaces
from hoodoo_rows.write.pipeline import (
    Planned,
    alone,
    markers_of,
    paths_needed,
    prepare,
)
from hoodoo_rows.write.request import WRITE, WriteRequest
from hoodoo_rows.write.tagging import Prepared
from hoodoo_rows.write.target import WriteTarget


class ArrivingRows:
    """The rows of a write, prepared once for all its attempts where that is possible."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self._prepared: tuple[pa.Schema, Prepared] | None = None
        self._workspace: Workspace | None = None
        self._used = True

    def __enter__(self) -> ArrivingRows:
        return self

    def __exit__(self, *error: object) -> None:
        self._discard()

    def prepared(self, target: WriteTarget, request: WriteRequest, instant: str) -> Prepared:
        """The rows for ``target``: those of the attempt before, if its schema was the same. Raises
        the errors of bad input."""
        if self._prepared is not None and self._prepared[0] == target.schema:
            return self._prepared[1]
        self._discard()
        self._workspace = target.workspace(f"w{instant}")
        self._used = uses_workspace(target.engine)
        prepared = prepare(target, request.kind, self.data, self._workspace, instant)
        if prepared.staged and prepared.changes is None:
            self._prepared = (target.schema, prepared)
        return prepared

    def replace(self, data: Any) -> None:
        """Other rows from now on, unless these are the same object."""
        if data is not self.data:
            self._discard()
            self.data = data

    def can_repeat(self, target: WriteTarget) -> bool:
        """Whether the rows are still there for another attempt."""
        staged = self._prepared is not None and self._prepared[0] == target.schema
        return staged or self._workspace is None or not _is_read_once(self.data)

    def _discard(self) -> None:
        workspace, self._workspace, self._prepared = self._workspace, None, None
        if workspace is not None and self._used:
            with suppress(StorageError):  # the next write's recovery does it
                workspace.storage.delete_prefix(workspace.prefix)


def _is_read_once(data: Any) -> bool:
    """Whether ``data`` may be a stream, which has no rows left when it has been read. Data with a
    length is there as a whole; a Spark DataFrame and a scan are evaluated again."""
    if hasattr(data, "__next__") or isinstance(data, pa.RecordBatchReader):
        return True
    anew = type(data).__module__.split(".")[0] in ("pyspark", "hoodoo")
    return hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__len__") and not anew


class NothingToDoError(Exception):
    """No row changes: the request is withdrawn. Does not leave the package."""


@define
class WriteTransaction:
    """One attempt of the write ``request`` on the table as ``target`` shows it. ``transaction``:
    its instant. ``prepared`` and ``planned`` are None in a commit of files that others make.
    ``replaced``: the file groups that leave the table, all those of ``replaced_paths`` (None: of
    all paths). ``late``: tasks may still put files after the commit. ``history``: what makes the
    history of schemas that ends with ``schema``, if columns get other names."""

    request: WriteRequest
    target: WriteTarget
    transaction: Transaction
    beats: Beating
    schema: pa.Schema
    look: ExitStack = Factory(ExitStack)
    prepared: Prepared | None = None
    planned: Planned | None = None
    written: WriteResult = WriteResult(())
    replaced: Mapping[str, tuple[str, ...]] = Factory(dict)
    replaced_paths: Sequence[str] | None = ()
    late: bool = False
    history: Callable[[str], Any] | None = None
    _metadata: CommitMetadata | None = None

    # --- begin ------------------------------------------------------------------------------------
    @classmethod
    def begin(
        cls,
        request: WriteRequest,
        target: WriteTarget,
        beats: Beating,
        later: datetime | None = None,
        plans: bool = False,
    ) -> WriteTransaction:
        """The request is on the timeline. With ``later``, the time now, it is confirmed beside the
        preparation. ``plans``: what a plan will read of the table is asked for beside the request.
        """
        action = request.kind.action(target.logs is not None)
        content = b""
        if named(action).replaces:
            content = codec_avro.encode("HoodieRequestedReplaceMetadata", {})
        first = partial(request.ask, target) if request.ask else None
        ask = partial(
            first or partial(Transaction.begin, target.snapshot),
            action,
            content,
            what="instant",
            named=beats.add,
            retry="Repeat the write.",
            unknown="Open the table and look at table.timeline() before writing the same rows "
            "again.",
            later=later,
        )
        with ExitStack() as begun:
            if plans:
                with beside(target.storage, ask) as asked:
                    begun.enter_context(looking(target.storage, "plan"))
                transaction: Transaction = asked[0]
            else:
                transaction = ask()
            look = begun.pop_all()
        events = _events(target)
        if events is not None:
            events.report(instant=transaction.requested)
            events.step("requested")
        return cls(request, target, transaction, beats, target.schema, look)

    @contextmanager
    def withdrawn_on_error(self) -> Iterator[None]:
        """No file bears the instant yet: without its request the table is as it was."""
        with (
            self._taken(),
            self.transaction.undone_on_error(self._withdraw),
            beside(
                self.target.storage,
                self.transaction.confirm,
                ahead=[self.request.before_publish],
            ),
            self.look,
        ):
            yield

    def _withdraw(self, instant: Instant) -> None:
        storage, timeline = self.transaction.storage, self.transaction.timeline
        if self.target.asks_ahead:  # it may have begun
            publish.withdraw(Snapshot(storage, timeline), instant)
        else:
            storage.delete(timeline.path(instant))

    # --- prepare and plan -------------------------------------------------------------------------
    def prepare(self, rows: ArrivingRows) -> Prepared:
        """Keys and schema of the rows. Raises the errors of bad input, and NothingToDoError."""
        prepared = rows.prepared(self.target, self.request, self.transaction.requested)
        unchanged = prepared.changes is not None and not prepared.arriving.total
        if unchanged and self.request.batch is None:  # a batch is noted
            raise NothingToDoError
        grown = outgrown(self.target.schema, prepared.schema)
        if len(grown):  # in each attempt: rows may have come
            self.target.policy.refuse_inexact(grown)
        self.target = self.target.within(paths_needed(self.target, prepared))
        self.prepared, self.schema = prepared, prepared.schema
        return prepared

    def use(self, planned: Planned, prepared: Prepared) -> None:
        """``planned`` names every file. Raises if a pending clustering of these files forbids
        it."""
        self.planned, self.replaced_paths = planned, prepared.replaced
        if self.request.kind.replaces is not Replaces.NOTHING:
            self.replaced = replaced_groups(self.target.settled, self.replaced_paths)
        give_way(self.request, self.target, planned.groups, self.replaced)
        if self.target.asks_ahead:  # while the request is confirmed
            self.inflight()

    # --- work -------------------------------------------------------------------------------------
    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """The write is undone if the body fails."""
        with self._taken(), self.transaction.undone_on_error(self._undo):
            yield

    def _taken(self) -> AbstractContextManager[None]:
        transaction = self.transaction
        obj = f"instant {transaction.requested}"
        return taken_files_conflict(
            transaction.snapshot, obj, own=transaction.instant, any_commit=True
        )

    def inflight(self) -> Instant:
        """From here on, files may bear the instant."""
        if self.transaction.instant.state is State.REQUESTED:
            puts = self.prepared.arriving.puts if self.prepared is not None else {}
            kind = self.request.kind if self.prepared is None else self.prepared.kind
            slots = self.planned.slots if self.planned is not None else ()
            begun = profile(kind.operation, slots, puts)
            self.transaction.inflight(self.target.timeline.layout.encode_inflight(begun))
        return self.transaction.instant

    def wrote(self, written: WriteResult) -> None:
        """The files of ``written`` are there, and durable."""
        self.written = written
        if self.prepared is not None and self.prepared.changes is not None:
            self.prepared.changes.check(written.stats)
        if self.planned is not None and self.planned.misplaced:
            self._note_misplaced()

    def _note_misplaced(self) -> None:
        """Rows lie where their columns do not say: readers must know before they see such a row."""
        target = self.target
        if FLAG.stored(target.config.get(placement.FOLLOWS) or ""):
            properties.update(target.storage, target.config, {placement.FOLLOWS: "false"})

    # --- settle -----------------------------------------------------------------------------------
    def settle(self) -> None:
        """Before the publish: files and properties are as the commit will say."""
        if self.planned is not None or self.written.stats:
            self.late = self._reconcile()
        self.request.before_publish()

    def _reconcile(self) -> bool:
        target, transaction, stats = self.target, self.transaction, self.written.stats
        touched = sorted({stat.partition_path for stat in stats})
        # A writer that takes such a file group away meanwhile, and the partition with it, stands in
        # this write's way.
        groups = {(s.partition_path, s.file_id) for s in target.slices}
        known = {s.partition_path for s in stats if (s.partition_path, s.file_id) in groups}
        # hudi-rs marks no root, and its tables say no schema.
        new = [p for p in touched if p not in known or not (p or target.config.create_schema)]
        ensure = partial(partitions.ensure, target.storage, instant=transaction.requested)
        together(target.storage, *(partial(ensure, path) for path in new))
        if not self.written.direct and alone(target):
            return False  # of each file there is one, and its stat
        named = {path for stat in stats for path in stat.paths}
        if self.written.direct:  # each attempt of a task names its files
            return transaction.reconcile_marked(named)
        transaction.reconcile(named, touched)
        return False

    # --- decide -----------------------------------------------------------------------------------
    def decide(self) -> Commit:
        """Publish, with what participants make of it. Raises CommitConflictError (not published,
        not undone yet) or CommitUnknownError (nothing may be deleted)."""
        target, transaction, request = self.target, self.transaction, self.request
        metadata = CommitMetadata(request.kind.operation, self.written.stats, dict(self.replaced))
        with looking(target.storage, "join"):
            joined = begin_joined(target, transaction.instant, metadata, self.written, self.schema)
        changes = None if self.prepared is None else self.prepared.changes
        check = CommitCheck(
            target,
            request.kind,
            transaction.instant,
            metadata,
            self.replaced_paths,
            request.batch,
            request.conflicts,
            self.schema,
            frozenset() if changes is None else changes.read,
            ahead=target.config if target.calm else None,
        )
        noted = {"schema": avro_text(self.schema, target.config.name), **self._note_names()}
        outcome = transaction.complete(
            partial(self._content, metadata, noted),
            check=check,
            beside=joined,
            ahead=check.look_ahead,
            after=self._after(),
            known=target.calm,
            then=self._following(metadata, joined is None) if target.calm else None,
        )
        if self._metadata is not None:
            target.timeline.note(outcome.instant, self._metadata)
        if self.late:
            request.late()
        if outcome.seen is not None and target.asks_ahead:
            request.saw(outcome.seen.followed_by(outcome.instant, *outcome.followed))
        events = _events(target)
        if events is not None:
            events.report(metadata.figures)
        done, completed = transaction.instant, outcome.instant.completed
        return Commit.of(done.requested, done.action, metadata.operation, metadata.stats, completed)

    def _note_names(self) -> dict[str, str]:
        """What the commit says of the names of columns, if older files have other ones. The history
        is stored beside it."""
        storage, requested = self.target.storage, self.transaction.requested
        history = self.history(requested) if self.history else history_of(self.target.file_format)
        if history is None:
            return {}
        history = history.grown(self.schema, requested)
        history.save(storage, requested)
        return {LATEST_SCHEMA: history.latest}

    def _content(
        self, metadata: CommitMetadata, noted: Mapping[str, str], fresh: Timeline
    ) -> bytes:
        """With ``extraMetadata``: the schema, which batches are in the table, and where its rows
        lie."""
        target, instant = self.target, self.transaction.instant
        extra = batches.extra_metadata(Snapshot(target.storage, fresh), instant, self.request.batch)
        if self.planned is None or not self.planned.misplaced:
            extra = {**extra, **placement.noted(Snapshot(target.storage, fresh), instant)}
        if target.joined is not None:
            extra = {**extra, **target.joined.noted}
        self._metadata = evolve(metadata, extra={**noted, **extra})
        return target.timeline.layout.encode_commit(self._metadata, instant.action)

    def _following(
        self, metadata: CommitMetadata, alone: bool
    ) -> Callable[[Timeline, Instant], Following | None]:
        """Decides what follows the commit, of the timeline and the files as they will be."""
        timeline = self.target.timeline
        known = shown(timeline)

        def then(seen: Timeline, done: Instant) -> Following | None:
            came = {i.requested for i in set(seen.instants).difference(timeline.instants)}
            if known is None or self._metadata is None or came != {done.requested}:
                return None
            timeline.note(done, self._metadata)
            own = tuple(path for stat in metadata.stats for path in stat.paths)
            following = self.request.follow(seen, evolve(known, own=own))
            return following and evolve(following, whole=alone)

        return then

    def _after(self) -> list[Callable[[], object]]:
        """What is removed once the commit is published: markers, staged rows, the heartbeat."""
        target, requested = self.target, self.transaction.requested
        staged = True
        if self.prepared is not None:  # something may be in its workspace
            staged = not self.prepared.staged or uses_workspace(target.engine)
        if not staged and alone(target):
            markers = markers_of(target, requested, self.written.stats)
            return [partial(self.beats.end, markers)]
        return [
            *leftovers(self.transaction.storage, requested, staged, not self.late),
            self.beats.end,
        ]

    # --- undo -------------------------------------------------------------------------------------
    def _undo(self, instant: Instant) -> None:
        """Undo the write; and, if another writer took it for dead, what that one has not seen."""
        storage, timeline = self.target.storage, self.target.timeline
        now = found_now(Snapshot(storage, timeline), instant)
        is_own = now is None or not now.is_completed
        if is_own and self.planned is not None and alone(self.target):
            take_own(Snapshot(storage, timeline), instant.requested, self.planned.groups)
        try:
            self.request.undo(instant)
        except CommitConflictError:
            if is_own:
                participants = Participants.of_table(timeline.config)
                participants.undone(storage, timeline.config, instant.requested)
            raise


def give_way(
    request: WriteRequest,
    target: WriteTarget,
    touched: Iterable[tuple[str, str]],
    replaced: Mapping[str, Iterable[str]],
) -> None:
    """Raises PendingClusteringError if a clustering stands in the way. One that gives way does so
    when this write is published, if it is Hoodoo's; another writer's would not, and is undone."""
    gone = {(path, file_id) for path, ids in replaced.items() for file_id in ids}
    for other in refuse_clustered(target, request.kind, gone.union(touched)):
        if other.is_foreign:
            # Completed meanwhile: the check before the publish finds it.
            with suppress(CommitConflictError):
                request.undo(Instant(other.instant, other.action, State.REQUESTED))


def _events(target: WriteTarget) -> ActionEvents | None:
    return running(WRITE, target.storage.root)
