"""Writes from start to end: attempts, each of which is a transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hoodoo.model.commit import WriteStat
from hoodoo.model.instant import Instant

from hoodoo_rows.write import batches
from hoodoo_rows.write.attempts import ArrivingRows, attempts
from hoodoo_rows.write.commit import Commit, replaced_groups
from hoodoo_rows.write.request import WriteRequest
from hoodoo_rows.write.target import WriteTarget
from hoodoo_rows.write.transaction import NothingToDoError, Transaction, give_way

Files = Callable[[Instant], tuple[WriteStat, ...]]


def run(request: WriteRequest, data: Any) -> Commit:
    """Write ``data``. The commit notes the request's batch; for a batch that is in the table
    already, the commit has an empty instant.

    Raises the errors of bad input (the table is as it was), CommitConflictError (undone; repeated
    as often as the request says), or CommitUnknownError (nothing is undone: the timeline has to be
    read again first)."""
    kind, batch = request.kind, request.batch
    with ArrivingRows(data) as rows, attempts(request, rows.can_repeat) as each:
        for target in each:
            with each.repeated():
                action = kind.action(target.logs is not None)
                nothing = Commit("", action, kind.operation.value.lower())
                if batch and batches.applied(target.storage, target.timeline, batch).has(batch):
                    return each.done(nothing)
                write = Transaction.begin_looking(request, target, each.beats, each.began)
                try:
                    with write.withdrawn_on_error():
                        prepared = write.prepare(rows)
                        planned = write.plan(prepared)
                except NothingToDoError:
                    return each.done(nothing)
                each.events.step("planned", file_groups=len(planned.slots), tasks=planned.parts)
                with write.undone_on_error():
                    write.work(prepared, planned)
                    write.settle()
                    return each.done(write.decide())
    raise AssertionError("not reached")


def drop_partitions(
    request: WriteRequest, choose: Callable[[WriteTarget], Sequence[str] | None]
) -> Commit | None:
    """A replacecommit that removes the file groups of whole partition paths and adds none.

    ``choose`` returns these paths for the table as an attempt sees it, or None if there is nothing
    to drop; then there is no commit. It is called again after each conflict: its table has what
    another writer has put into a partition meanwhile. Raises as :func:`run`."""
    with attempts(request) as each:
        for target in each:
            with each.repeated():
                paths = choose(target)
                if paths is None:
                    return each.done(None)
                replaced = replaced_groups(target.slices, paths)
                give_way(request, target, (), replaced)
                write = Transaction.begin(request, target, each.beats)
                write.replaced, write.replaced_paths = replaced, paths
                return each.done(_committed(write, lambda instant: ()))
    raise AssertionError("not reached")


def commit_files(
    request: WriteRequest, work: Callable[[WriteTarget], Files | None]
) -> Commit | None:
    """A commit of files whose rows are those of files before them. ``work`` returns a function that
    makes these files for an instant that is inflight, or None if nothing is left to do; then there
    is no commit.

    Raises as :func:`run`.
    """
    with attempts(request) as each:
        for target in each:
            with each.repeated():
                files = work(target)
                if files is None:
                    return each.done(None)
                return each.done(_committed(Transaction.begin(request, target, each.beats), files))
    raise AssertionError("not reached")


def _committed(write: Transaction, files: Files) -> Commit:
    with write.undone_on_error():
        write.work_with(files)
        write.settle()
        return write.decide()
