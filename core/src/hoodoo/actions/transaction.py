"""Transaction: the steps of every action from its plan to its end, whatever kind it is.

plan -> requested (a check sees the timeline right before) -> inflight -> work -> files that no stat
names are deleted -> one decision, with the participants -> completed -> tidy; or undone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import define, evolve, frozen

from hoodoo.errors import CommitConflictError, CommitUnknownError, HoodooError
from hoodoo.kernel.events import action_step
from hoodoo.log import get_logger
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.instant import Instant, State
from hoodoo.model.meta import without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.storage.api import Storage
from hoodoo.storage.together import discard, together
from hoodoo.timeline import publish
from hoodoo.timeline.ledger import settled
from hoodoo.timeline.markers import MARKERS, STAGED, created
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.plans import pending_clusterings, pending_compactions
from hoodoo.timeline.publish import Check, CoupledCommit, Following, Outcome, Result
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo.timeline.view import list_data

ATTEMPTS = 5
LOOK_AT_TIMELINE = "Look at table.timeline(): if another process completed it, all is done."
RUN_AGAIN = "Open the table again and run it again if it is still pending."
_log = get_logger(__name__)


# --- planning -------------------------------------------------------------------------------------
class StalePlanError(Exception):
    """The plan has to be rebuilt. Does not leave the package."""


@frozen
class Plan:
    """``content`` of the requested file. ``check`` gets the timeline right before the file is put,
    and raises StalePlanError if the plan is out of date. ``detail``: more fields for observers."""

    content: bytes
    check: Check
    detail: Mapping[str, Any]


def schedule(
    storage: Storage,
    config: TableConfig,
    action: str,
    make: Callable[[Timeline], Plan | Instant | None],
    fix: str = "Schedule it again when fewer writers are active.",
    first: Timeline | None = None,
    begin: bool = False,
    saw: Callable[[Timeline], None] = lambda timeline: None,
    named: Callable[[str], bool] | None = None,
) -> Instant | None:
    """Put a plan on the timeline; the pending instant. ``make`` makes it of the timeline as it is
    then, again where other writers changed the table; or answers an instant that is pending
    already, or None where there is nothing to do. ``first``: the timeline as it is now, where the
    caller has just read it. ``begin``: the plan is inflight at once; ``saw`` is called with the
    timeline that has it; ``named`` as for :func:`~hoodoo.timeline.publish.request`.

    Raises what the check of the plan raises; CommitConflictError where others come in faster than
    plans are made.
    """
    for attempt in range(ATTEMPTS):
        timeline = first if first is not None and not attempt else settled(storage, config)
        try:
            plan = make(timeline)
            if plan is None or isinstance(plan, Instant):
                return plan
            instant = publish.request(
                Snapshot(storage, timeline), action, plan.content, check=plan.check, named=named,
                known=timeline is first, begin=begin, saw=saw
            )  # fmt: skip
        except StalePlanError:
            continue
        action_step(
            action, "scheduled", config.name, storage.root, instant.requested, **plan.detail
        )
        return instant
    raise CommitConflictError(
        f"{storage.root}: {action}", f"other writers changed the table {ATTEMPTS} times.", fix
    )


# --- from the request to the end ------------------------------------------------------------------
@define
class Transaction:
    """One action that is on the timeline. Its steps are its methods, in their order. A planned
    action begins with the instant of its plan. ``snapshot``: as the action saw the table. ``what``:
    the action, in messages. ``retry``: what to do where it was not published; ``unknown``: where
    nobody knows. ``confirm`` says by CommitConflictError that the instant is another one's, too;
    before any file bears it."""

    snapshot: Snapshot
    instant: Instant
    what: str
    retry: str = LOOK_AT_TIMELINE
    unknown: str = RUN_AGAIN
    confirm: Callable[[], None] = lambda: None

    @property
    def storage(self) -> Storage:
        """The table's files."""
        return self.snapshot.storage

    @property
    def timeline(self) -> Timeline:
        """As the action saw it."""
        return self.snapshot.timeline

    @property
    def requested(self) -> str:
        """The requested time of the action: 17 digits, ``yyyyMMddHHmmssSSS``."""
        return self.instant.requested

    @classmethod
    def begin(
        cls,
        snapshot: Snapshot,
        action: str,
        plan: bytes = b"",
        *,
        what: str = "",
        named: Callable[[str], bool] | None = None,
        later: datetime | None = None,
        retry: str = LOOK_AT_TIMELINE,
        unknown: str = RUN_AGAIN,
    ) -> Transaction:
        """An action that is not planned before it is run: its request is on the timeline.
        ``later``: now; the caller confirms the request beside other work."""
        if later is not None and named is not None:
            found = publish.request_later(snapshot, action, plan, later, named)
            if found is not None:
                return cls(snapshot, found[0], what or action, retry, unknown, found[1])
        instant = publish.request(snapshot, action, plan, named=named)
        return cls(snapshot, instant, what or action, retry, unknown)

    def inflight(self, content: bytes = b"") -> Instant:
        """Inflight: from here on files may bear the instant. Harmless where an earlier run has
        begun it."""
        requested = self.instant.at(State.REQUESTED)
        self.instant = publish.inflight(self.snapshot, requested, content)
        return self.instant

    def remove_unnamed(self, named: Collection[str], paths: Collection[str] | None) -> None:
        """Base files of the instant that are not among those ``named`` are deleted from the
        partition ``paths`` (None: all): tasks that ran twice, an earlier run or another tool have
        left them, and readers that only list must never see one. None is where another process has
        completed the instant."""
        unnamed = self._unnamed(named, paths, BaseFile)
        # Looked at after the listing: if another one has completed it, these files may be its own.
        if unnamed and reload(self.storage, self.timeline).find(self.requested) is None:
            discard(self.storage, unnamed)

    def reconcile(self, named: Collection[str], paths: Collection[str]) -> None:
        """As :meth:`remove_unnamed`, for an action that nobody else can complete: log files go,
        too."""
        discard(self.storage, self._unnamed(named, paths, object))

    def reconcile_marked(self, named: Collection[str]) -> bool:
        """As :meth:`reconcile`, of a write whose tasks named their files themselves, after its door
        is closed: each of them has a marker. Whether there are others: a task that is late may yet
        put one of these, so the markers stay until the next write has looked."""
        unnamed = not_named(self.storage, self.requested, named)
        discard(self.storage, [*unnamed])
        return bool(unnamed)

    def _unnamed(
        self, named: Collection[str], paths: Collection[str] | None, kind: type
    ) -> list[str]:
        return [
            entry.path
            for entry in list_data(self.storage, paths)
            if (file := parse_path(entry.path, entry.size)) is not None
            and isinstance(file, kind)
            and file.instant == self.requested
            and entry.path not in named
        ]

    def complete(
        self,
        content: bytes | Callable[[Timeline], bytes],
        *,
        check: Check | None = None,
        beside: CoupledCommit | None = None,
        lost: Callable[[], bool] = lambda: False,
        ahead: Callable[[], object] = lambda: None,
        after: Iterable[Callable[[], object]] = (),
        known: bool = False,
        then: Callable[[Timeline, Instant], Following | None] | None = None,
    ) -> Outcome:
        """The decision, and its outcome. CommitConflictError where it was not published, unless
        ``lost``, which is called then, says that all is well: another process has completed it.
        CommitUnknownError where nobody knows: nothing of it may be deleted then. ``ahead`` and
        ``known`` as for :func:`~hoodoo.timeline.ledger.decided`; ``then`` as for
        :func:`~hoodoo.timeline.publish.complete`; ``after`` is called when it is published."""
        outcome = publish.complete(
            self.snapshot, self.instant, content, check=check, beside=beside,
            ahead=ahead, marks=False, known=known, then=then
        )  # fmt: skip
        name = f"{self.what} {self.requested}"
        if outcome.result is Result.UNKNOWN:
            raise CommitUnknownError(
                name, f"its outcome is unknown: {outcome.reason}.", self.unknown
            )
        if outcome.result is Result.CONFLICTED and not lost():
            raise CommitConflictError(name, f"was not published: {outcome.reason}.", self.retry)
        return evolve(outcome, followed=outcome.mark(*after))

    def tidy(self) -> None:
        """Take away markers and staged rows, once the end is settled (:func:`tidy`)."""
        tidy(self.storage, self.requested)

    @contextmanager
    def undone_on_error(self, undo: Callable[[Instant], object]) -> Iterator[None]:
        """What is done inside is undone if it fails, unless nobody knows whether it did. Failing to
        undo must not hide the error: the next writer undoes what is left."""
        try:
            yield
        except CommitUnknownError:
            raise
        except Exception:
            try:
                undo(self.instant)
            except HoodooError as error:
                _log.warning("left_to_next_write", table=self.timeline.config.name,
                             instant=self.requested, error=str(error))  # fmt: skip
            raise


def tidy(storage: Storage, requested: str) -> None:
    """Take away markers and staged rows of an instant whose end is settled; leftovers are the next
    sweep's."""
    together(storage, *leftovers(storage, requested))


def leftovers(
    storage: Storage, requested: str, staged: bool = True, markers: bool = True
) -> list[Callable[[], object]]:
    """What takes away ``markers`` and ``staged`` rows, to be called when the end is settled."""
    left = [f"{STAGED}{requested}"] * staged + [f"{MARKERS}/{requested}"] * markers
    return [partial(_delete, storage, prefix) for prefix in left]


def not_named(storage: Storage, requested: str, named: Collection[str]) -> dict[str, float]:
    """Base files, not ``named``, that tasks of ``requested`` put or will put; when marked."""
    markers = storage.list(f"{MARKERS}/{requested}", recursive=True)
    marked = ((created(entry.path, requested), entry.modified) for entry in markers)
    others = {path: modified for path, modified in marked if path and path not in named}
    files = (parse_path(path) for path in others)
    found = [f.path for f in files if isinstance(f, BaseFile) and f.instant == requested]
    return {path: others[path] for path in found}


def _delete(storage: Storage, prefix: str) -> None:
    with suppress(HoodooError):
        storage.delete_prefix(prefix)


def schema_then(snapshot: Snapshot, requested: str, schema: pa.Schema) -> pa.Schema:
    """The table's own schema when the action ``requested`` was planned, ``schema`` if nobody said
    one until then: who reads as of it must be able to read its files, and what it rewrites is as
    old."""
    text = snapshot.timeline.latest_schema_text(snapshot.storage, requested)
    return schema if text is None else without_meta(arrow_schema(text))


def refuse_stale_plan(
    storage: Storage, before: Timeline, now: Timeline, groups: Collection[tuple[str, str]]
) -> None:
    """StalePlanError if a write of ``groups`` (partition path, file id) has completed between the
    two, something was undone, or a service has been planned, perhaps of the same."""
    known = {i.requested for i in (*before.writes(), *_planned(Snapshot(storage, before)))}
    if any(i.requested not in known for i in _planned(Snapshot(storage, now))):
        raise StalePlanError
    for other in now.writes():
        if other.requested not in known:
            told = now.metadata(storage, other)
            touched = told.replaced_groups | {(s.partition_path, s.file_id) for s in told.stats}
            if not touched.isdisjoint(groups):
                raise StalePlanError
    ended = {*now.completed()} - {*before.completed()}
    if {*before.writes()} - {*now.writes()} or any(i.traits.undoes for i in ended):
        raise StalePlanError  # something was undone, or archived


def refuse_undoing(snapshot: Snapshot, what: str) -> None:
    """CommitConflictError while a restore or a rollback is in progress."""
    for other in snapshot.pending():
        if other.traits.undoes:
            raise CommitConflictError(
                f"{snapshot.root}: {what}",
                f"{other} is in progress, and may delete what a {what} planned now would read.",
                "Schedule it when that has ended; if its process died, table.rollback() finishes "
                "it.",
            )


def _planned(snapshot: Snapshot) -> list[Instant]:
    clusterings = (plan.instant for plan in pending_clusterings(snapshot))
    return [*pending_compactions(snapshot.timeline), *clusterings]
