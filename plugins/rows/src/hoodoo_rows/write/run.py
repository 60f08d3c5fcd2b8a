"""Writes from start to end: attempts, each of which is a transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from hoodoo.errors import CommitConflictError
from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.model.commit import WriteStat
from hoodoo.model.instant import Instant
from hoodoo.storage.together import beside
from hoodoo.timeline.heartbeat import Beating

from hoodoo_rows.produce.key_changes import WriteResult
from hoodoo_rows.write import batches
from hoodoo_rows.write.commit import Commit, replaced_groups
from hoodoo_rows.write.pipeline import plan
from hoodoo_rows.write.pipeline import write as write_files
from hoodoo_rows.write.request import WRITE, WriteRequest
from hoodoo_rows.write.target import WriteTarget
from hoodoo_rows.write.transaction import (
    ArrivingRows,
    NothingToDoError,
    WriteTransaction,
    give_way,
)

if TYPE_CHECKING:
    from hoodoo_rows.write.ready import ReadyWrite

C = TypeVar("C", Commit, "Commit | None")
Files = Callable[[Instant], tuple[WriteStat, ...]]
Rewrites = Callable[[Instant], WriteResult]
# A transaction that has begun, and what makes its files once it is inflight.
Prepared = tuple[WriteTransaction, Rewrites]


def run(request: WriteRequest, data: Any) -> Commit:
    """Write ``data``. The commit notes the request's batch; for a batch that is in the table
    already, the commit has an empty instant.

    Raises the errors of bad input (the table is as it was), CommitConflictError (undone; repeated
    as often as the request says), or CommitUnknownError (nothing is undone: the timeline has to be
    read again first)."""
    kind, batch = request.kind, request.batch
    with ArrivingRows(data) as rows, attempts(request, rows) as each:
        for target in each:
            with each.repeated():
                action = kind.action(target.logs is not None)
                nothing = Commit("", action, kind.operation.value.lower())
                if batch and batches.applied(target.snapshot, batch).has(batch):
                    return each.done(nothing)
                write = WriteTransaction.begin(request, target, each.beats, each.began, plans=True)
                try:
                    with write.withdrawn_on_error():
                        prepared = write.prepare(rows)
                        planned = plan(write.target, prepared, write.transaction.requested)
                        write.use(planned, prepared)
                except NothingToDoError:
                    return each.done(nothing)
                each.events.step("planned", file_groups=len(planned.slots), tasks=planned.parts)
                with write.undone_on_error():
                    instant = write.inflight()
                    write.wrote(write_files(write.target, prepared, planned, instant))
                    write.settle()
                    return each.done(write.decide())
    assert each.elsewhere is not None  # else the last attempt has returned
    return each.elsewhere


def drop_partitions(
    request: WriteRequest, choose: Callable[[WriteTarget], Sequence[str] | None]
) -> Commit | None:
    """A replacecommit that removes the file groups of whole partition paths and adds none.

    ``choose`` returns these paths for the table as an attempt sees it, or None if there is nothing
    to drop; then there is no commit. It is called again after each conflict: its table has what
    another writer has put into a partition meanwhile. Raises as :func:`run`."""

    def work(target: WriteTarget, beats: Beating) -> Prepared | None:
        paths = choose(target)
        if paths is None:
            return None
        replaced = replaced_groups(target.settled, paths)
        return _replacing(request, target, beats, replaced, paths), lambda instant: WriteResult(())

    return _repeated(request, work)


def commit_files(
    request: WriteRequest, work: Callable[[WriteTarget], Files | None], new: bool = False
) -> Commit | None:
    """A commit of files whose rows are those of files before them, or ``new`` to the table.
    ``work`` returns a function that makes these files for an instant that is inflight, or None if
    nothing is left to do; then there is no commit.

    Raises as :func:`run`.
    """

    def prepared(target: WriteTarget, beats: Beating) -> Prepared | None:
        files = work(target)
        if files is None:
            return None
        write = WriteTransaction.begin(request, target, beats)
        return write, lambda instant: WriteResult(files(instant), direct=new)

    return _repeated(request, prepared)


def replace_files(
    request: WriteRequest,
    work: Callable[[WriteTarget], tuple[Mapping[str, tuple[str, ...]], Rewrites] | None],
) -> Commit | None:
    """A replacecommit of files with the rows of those that leave the table. ``work`` returns the
    file groups that leave, by partition path, and a function that makes the new files for an
    instant that is inflight, or None if nothing is left to do; then there is no commit.

    Raises as :func:`run`.
    """

    def prepared(target: WriteTarget, beats: Beating) -> Prepared | None:
        made = work(target)
        if made is None:
            return None
        replaced, files = made
        return _replacing(request, target, beats, replaced, None), files

    return _repeated(request, prepared)


def commit_schema(
    request: WriteRequest, change: Callable[[WriteTarget], tuple[pa.Schema, Callable[[str], Any]]]
) -> Commit:
    """A commit without files that gives the table another schema, with columns of other names.
    ``change`` returns it, and what makes the history of schemas that ends with it, given the
    commit's instant; it is asked again after each conflict.

    Raises as :func:`run`.
    """

    def prepared(target: WriteTarget, beats: Beating) -> Prepared:
        schema, history = change(target)
        write = WriteTransaction.begin(request, target, beats)
        write.schema, write.history = schema, history
        return write, lambda instant: WriteResult(())

    commit = _repeated(request, prepared)
    assert commit is not None
    return commit


def _repeated(
    request: WriteRequest, prepare: Callable[[WriteTarget, Beating], Prepared | None]
) -> Commit | None:
    """The commit of the attempt that no other writer is in the way of; None as soon as ``prepare``
    finds nothing to do."""
    with attempts(request) as each:
        for target in each:
            with each.repeated():
                prepared = prepare(target, each.beats)
                if prepared is None:
                    return each.done(None)
                write, files = prepared
                with write.undone_on_error():
                    write.wrote(files(write.inflight()))
                    write.settle()
                    return each.done(write.decide())
    raise AssertionError("not reached")


def _replacing(
    request: WriteRequest,
    target: WriteTarget,
    beats: Beating,
    replaced: Mapping[str, tuple[str, ...]],
    paths: Sequence[str] | None,
) -> WriteTransaction:
    """A transaction that removes the file groups ``replaced``: those of whole partition ``paths``
    if these are given."""
    give_way(request, target, (), replaced)
    write = WriteTransaction.begin(request, target, beats)
    write.replaced, write.replaced_paths = replaced, paths
    return write


# --- attempts -------------------------------------------------------------------------------------
class Attempts:
    """The table as each attempt sees it. They end with a publish, with bad input, or after the
    request's ``repeats``."""

    def __init__(
        self,
        request: WriteRequest,
        rows: ArrivingRows | None,
        beats: Beating,
        events: ActionEvents,
    ) -> None:
        self.request, self.rows, self.beats, self.events = request, rows, beats, events
        self._left, self._began = request.repeats, 0.0
        self.began: datetime | None = None
        self._conflict: CommitConflictError | None = None
        self._ready: ReadyWrite | None = None
        self.elsewhere: Commit | None = None  # of another write, which had these rows, too

    def __iter__(self) -> Iterator[WriteTarget]:
        request, turns = self.request, self.request.turns
        if turns.is_wary and not self._has_turn():
            return
        with self._beating():
            target = request.look()
        self._stand()
        target.engine.check(target.plugins.refs)
        while True:
            self._began = time.monotonic()
            yield target
            if (conflict := self._conflict) is not None:  # else it was with rows of others
                turns.lost(time.monotonic() - self._began)
                if not self._left:
                    raise conflict
                if not self._has_turn():
                    return
            with self._beating():
                target = request.look()
            self._stand()
            if conflict is None:
                continue
            if self.rows is not None and not self.rows.can_repeat(target):
                raise conflict
            self.events.step("repeated", after=str(conflict), left=self._left)
            self._left -= 1

    def _has_turn(self) -> bool:
        """Wait for the turn; False if another write of this process has written these rows."""
        request, began = self.request, time.monotonic()
        self._ready = self._ready or request.ready()
        commit = None if self._ready is None else self._ready.wait()
        if commit is not None:
            request.turns.lost(time.monotonic() - began)  # another writer was there
            self.elsewhere = commit
            self.events.report(instant=commit.instant)
            return False
        request.turns.take(request.storage)
        if self._ready is not None and self.rows is not None:
            together = self._ready.with_others()
            if together is not None:
                self.rows.replace(together)
        return True

    def end(self, error: BaseException | None) -> None:
        """No attempt follows; others that wait with this write go on."""
        if self._ready is not None:
            self._ready.end(error)

    def _stand(self) -> None:
        """After a look: rows of others go, where they may not be with these as the table is."""
        if self._ready is not None and self.rows is not None and not self._ready.stands():
            self.rows.replace(self._ready.rows)

    def _beating(self) -> AbstractContextManager[object]:
        """Inside, a look: the heartbeat of the likely instant may go with it."""
        return beside(self.request.storage, ahead=[self._beat] if self.request.likely else [])

    def _beat(self) -> None:
        assert self.request.likely is not None
        self.began = datetime.now(timezone.utc)
        self.beats.add_ahead(self.request.likely(self.began))

    @contextmanager
    def repeated(self) -> Iterator[None]:
        """The body is one attempt: after a conflict with other writers another one follows, and
        after an error that may be of rows of others."""
        self._conflict = None
        try:
            yield
        except CommitConflictError as conflict:
            self._conflict = conflict
        except Exception as error:
            if self._ready is None or self.rows is None or not self._ready.failed(error):
                raise
            self.rows.replace(self._ready.rows)

    def done(self, commit: C) -> C:
        """Return an attempt's ``commit``: it was the last attempt."""
        if self._ready is not None and commit is not None and self._ready.written(commit):
            self.request.turns.lost(time.monotonic() - self._began)  # other writers were there
        self.request.turns.won()
        if commit is None or not commit.instant:
            self.events.skip()
        return commit


@contextmanager
def attempts(request: WriteRequest, rows: ArrivingRows | None = None) -> Iterator[Attempts]:
    """The attempts of a write, with its events and its heartbeat around them."""
    with action_events(
        WRITE,
        request.table,
        request.storage.root,
        end="committed",
        operation=request.kind.operation.value,
    ) as events:
        each, error = None, None
        try:
            with Beating(request.storage) as beats:
                each = Attempts(request, rows, beats, events)
                yield each
        except BaseException as exc:
            error = exc
            raise
        finally:
            try:
                request.turns.give_back()
            finally:
                if each is not None:
                    each.end(error)
