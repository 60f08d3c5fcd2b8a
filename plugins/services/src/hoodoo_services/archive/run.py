"""Archive: the beginning of the active timeline becomes the end of the archived one.

Order: contents into the archive, durable and named there -> the files of the active timeline, of
every instant its requested and inflight file before the completed one, the oldest first. So a crash
leaves instants that both timelines tell of, but none that neither does, and none that looks
pending."""

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
_THREADS = 8
_BEGUN = (State.REQUESTED, State.INFLIGHT)


def archive(
    snapshot: Snapshot,
    settings: ArchiveSettings,
    kept: ArchivedTimeline,
    cleaning: Callable[[Timeline], Instant | None],
    before: Callable[[], None] = lambda: None,
) -> Archived:
    """Archive what may be, if the timeline of ``snapshot`` has more writes than ``settings.most``.
    ``kept`` is the archived timeline. ``cleaning`` as for :func:`make_plan`;
    ``before`` is called before anything changes.

    Costs nothing where there is nothing to do; else it reads what it archives. Raises
    CommitConflictError where others archive at the same time, StorageError; either way nothing is
    lost and the next run goes on."""
    plan: ArchivePlan = make_plan(snapshot, settings, cleaning)
    if not plan.instants:
        return Archived(held=plan.held)
    with action_events("archive", snapshot.config.name, snapshot.root) as events:
        before()
        with locked(snapshot):  # as Hudi does: two archivers would take files from under each other
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
    """What the files of these instants say; without those that another archiver has taken."""

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
    """The instant in all the states that it has a file of."""
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
    """Delete the files; those whose instants are gone then. What has come to be needed meanwhile
    stays, and all after it."""
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
    # One after the other: who lists the timeline meanwhile must not see a hole in it.
    for bundle in bundles:
        snapshot.storage.delete(snapshot.path(bundle.instant))
    return _without_saved(snapshot, bundles)


def _without_saved(snapshot: Snapshot, bundles: list[Archivable]) -> list[Archivable]:
    """A savepoint that was made while its write left: the write comes back."""
    saved = snapshot.reload().timeline.savepointed(pending=True)
    for bundle in bundles:
        if bundle.instant.requested in saved:
            snapshot.storage.put_if_absent(
                snapshot.path(bundle.instant), bundle.of(State.COMPLETED)
            )
    return [b for b in bundles if b.instant.requested not in saved]
