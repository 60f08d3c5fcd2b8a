"""Archive: the oldest instants of the active timeline move to the archived timeline.

First their contents become durable in the archive. Then the files of the active timeline are
deleted: the oldest instant first, and its requested and inflight files before the completed one.
After a crash an instant may be on both timelines, but it is on one at least, and no archived
instant looks pending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from hoodoo.hookspecs.archived_timeline import Archivable, ArchivedTimeline
from hoodoo.kernel.events import action_events
from hoodoo.model.action import ACTIONS
from hoodoo.model.instant import Instant, State
from hoodoo.model.outcome import removed_figures
from hoodoo.timeline.ledger import locked
from hoodoo.timeline.names import completed_action
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Writes

from hoodoo_services.archive.plan import ArchivePlan, make_plan
from hoodoo_services.archive.settings import ArchiveSettings
from hoodoo_services.outcome import Archived

_CHUNK = 200  # instants that are archived at once: their contents are held in memory
_THREADS = 8  # requests to the store at the same time
_BEGUN = (State.REQUESTED, State.INFLIGHT)


def archive(
    snapshot: Snapshot,
    settings: ArchiveSettings,
    kept: ArchivedTimeline,
    cleaning: Callable[[Timeline], Instant | None],
    before: Callable[[], None] = lambda: None,
) -> Archived:
    """Archive the oldest instants if the timeline of ``snapshot`` has more writes than
    ``settings.most``. ``kept`` is the archived timeline. ``cleaning`` as for :func:`make_plan`;
    ``before`` is called before anything changes.

    Reads only the instants that it archives. Raises StorageError, and CommitConflictError if
    another process archives at the same time; nothing is lost then, and the next run continues."""
    plan: ArchivePlan = make_plan(snapshot, settings, cleaning)
    if not plan.instants:
        return Archived(held=plan.held)
    with action_events("archive", snapshot.config.name, snapshot.root) as events:
        before()
        with locked(snapshot):  # as Hudi does: two archivers would delete each other's files
            gone = _archive(snapshot, kept, plan)
        events.report(removed_figures(()), instants=len(gone))
    return Archived(tuple(gone), plan.held)


def _archive(snapshot: Snapshot, kept: ArchivedTimeline, plan: ArchivePlan) -> list[Instant]:
    gone: list[Instant] = []
    for start in range(0, len(plan.instants), _CHUNK):
        chunk = plan.instants[start : start + _CHUNK]
        bundles = _read(snapshot, chunk)
        if bundles:
            kept.add(snapshot.storage, snapshot.timeline, bundles)
            taken = _take(snapshot, bundles)
            gone += [b.instant for b in taken]
            if len(taken) < len(bundles):
                break
    kept.tidy(snapshot.storage, snapshot.config)
    return gone


# --- reading --------------------------------------------------------------------------------------
def _read(snapshot: Snapshot, chunk: Sequence[Instant]) -> list[Archivable]:
    """The contents of these instants, without instants that another archiver has deleted."""

    def read(instant: Instant) -> Archivable | None:
        files = []
        for step in _files(snapshot.timeline, instant):
            try:
                path = snapshot.path(step)
                content = snapshot.storage.get(path)
                if not step.is_completed:
                    content = Writes.without_bounds(content, path)
                files.append((step, content))
            except FileNotFoundError:
                if step.is_completed:
                    return None
        return Archivable(instant, tuple(files))

    with ThreadPoolExecutor(_THREADS) as pool:
        return [bundle for bundle in pool.map(read, chunk) if bundle is not None]


def _files(timeline: Timeline, instant: Instant) -> list[Instant]:
    """``instant`` in each state that has a file on the timeline, the completed state last."""
    services = (a.name for a in ACTIONS.values() if a.is_service)
    actions = [instant.action, *(a for a in services if completed_action(a) == instant.action != a)]
    found: dict[str, Instant] = {}
    for state in _BEGUN:
        for action in actions:
            step = Instant(instant.requested, action, state)
            if timeline.has_file(step):  # a layout may have one name for two actions
                found.setdefault(timeline.layout.file_name(step), step)
    return [*found.values(), instant]


# --- off the active timeline ----------------------------------------------------------------------
def _take(snapshot: Snapshot, bundles: list[Archivable]) -> list[Archivable]:
    """Delete the files of ``bundles``, and return the deleted ones. An instant that has got a
    savepoint stays, and all instants after it."""
    now = snapshot.reload().timeline
    if any(i.traits.undoes for i in now.pending()):
        return []
    saved = now.savepointed(pending=True)
    for number, bundle in enumerate(bundles):
        if bundle.instant.requested in saved:
            bundles = bundles[:number]
            break
    steps = [step for b in bundles for step in b.pending]
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(lambda step: snapshot.storage.delete(snapshot.path(step)), steps))
    # One after the other: a process that lists the timeline now must not see a gap in it.
    for bundle in bundles:
        snapshot.storage.delete(snapshot.path(bundle.instant))
    return _without_saved(snapshot, bundles)


def _without_saved(snapshot: Snapshot, bundles: list[Archivable]) -> list[Archivable]:
    """``bundles`` without the writes that have got a savepoint since: their files come back."""
    saved = snapshot.reload().timeline.savepointed(pending=True)
    for bundle in bundles:
        if bundle.instant.requested in saved:
            snapshot.storage.put_if_absent(
                snapshot.path(bundle.instant), bundle.of(State.COMPLETED)
            )
    return [b for b in bundles if b.instant.requested not in saved]
