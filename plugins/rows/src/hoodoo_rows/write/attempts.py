"""Attempts: a write starts again after a conflict with another writer, until one attempt is
published."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from hoodoo.errors import CommitConflictError, StorageError
from hoodoo.hookspecs.engine import Workspace, uses_workspace
from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.storage.together import at_once, beside
from hoodoo.timeline.heartbeat import Beating

from hoodoo_rows.write.commit import Commit
from hoodoo_rows.write.pipeline import Prepared, prepare
from hoodoo_rows.write.request import WriteRequest
from hoodoo_rows.write.target import WriteTarget

C = TypeVar("C", Commit, "Commit | None")
WRITE = "write"  # the name of a write in events


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


class Attempts:
    """The table as each attempt sees it. They end with a publish, with bad input, or after the
    request's ``repeats``."""

    def __init__(
        self,
        request: WriteRequest,
        can_repeat: Callable[[WriteTarget], bool],
        beats: Beating,
        events: ActionEvents,
    ) -> None:
        self.request, self.can_repeat, self.beats, self.events = request, can_repeat, beats, events
        self._left, self._began = request.repeats, 0.0
        self.began: datetime | None = None
        far = at_once(request.storage) > 1 and request.likely is not None
        self._look = self._look_beating if far else request.look
        self._conflict: CommitConflictError | None = None

    def __iter__(self) -> Iterator[WriteTarget]:
        request, turns = self.request, self.request.turns
        if turns.is_wary:
            turns.take(request.storage)
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
            turns.take(request.storage)
            target = self._look()
            if not self.can_repeat(target):
                raise conflict
            self.events.step("repeated", after=str(conflict), left=self._left)
            self._left -= 1

    def _look_beating(self) -> WriteTarget:
        """Across a network the heartbeat of the likely instant goes with the look."""
        assert self.request.likely is not None
        self.began = datetime.now(timezone.utc)
        ahead = partial(self.beats.add_ahead, self.request.likely(self.began))
        with beside(self.request.storage, ahead):
            return self.request.look()

    @contextmanager
    def repeated(self) -> Iterator[None]:
        """The body is one attempt: after a conflict with other writers another one follows."""
        try:
            yield
        except CommitConflictError as conflict:
            self._conflict = conflict

    def done(self, commit: C) -> C:
        """Return an attempt's ``commit``: it was the last attempt."""
        self.request.turns.won()
        if commit is None or not commit.instant:
            self.events.skip()
        return commit


@contextmanager
def attempts(
    request: WriteRequest, can_repeat: Callable[[WriteTarget], bool] = lambda target: True
) -> Iterator[Attempts]:
    """The attempts of a write, with its events and its heartbeat around them."""
    with action_events(
        WRITE,
        request.table,
        request.storage.root,
        end="committed",
        operation=request.kind.operation.value,
    ) as events:
        try:
            with Beating(request.storage) as beats:
                yield Attempts(request, can_repeat, beats, events)
        finally:
            request.turns.give_back()
