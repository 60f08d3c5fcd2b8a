"""Archive: the beginning of the active timeline becomes the end of the archived one.

Order: contents into the archive, durable and named there -> the files of the active timeline, of every
instant its requested and inflight file before the completed one, the oldest first. So a crash leaves
instants that both timelines tell of, but none that neither does, and none that looks pending.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from attrs import frozen
from hoodoo.kernel.events import action_events
from hoodoo.model.action import ACTIONS
from hoodoo.model.instant import Instant, State
from hoodoo.model.outcome import Archived, removed_figures
from hoodoo.storage.api import Storage
from hoodoo.timeline import codec
from hoodoo.timeline.archive import entries as archived_entries
from hoodoo.timeline.archive import levels as history_levels
from hoodoo.timeline.archive import log_files as archived_log
from hoodoo.timeline.archive import writer as history_write
from hoodoo.timeline.archive.writer import HistoryRow
from hoodoo.timeline.names import completed_action
from hoodoo.timeline.savepoints import savepointed
from hoodoo.timeline.timeline import Timeline, reload

from hoodoo_services.archive.plan import ArchivePlan, make_plan
from hoodoo_services.archive.settings import ArchiveSettings

_CHUNK = 200  # instants that are archived at once: their contents are held in memory
_THREADS = 8
_STATES = (State.REQUESTED, State.INFLIGHT, State.COMPLETED)


@frozen
class _Bundle:
    """A completed instant with all its files: state and what it says, in the order of states."""

    instant: Instant
    files: tuple[tuple[Instant, bytes], ...]

    def of(self, state: State) -> bytes:
        return next((data for step, data in self.files if step.state is state), b"")

    @property
    def pending(self) -> tuple[Instant, ...]:
        return tuple(step for step, _ in self.files if not step.is_completed)


def archive(
    storage: Storage,
    timeline: Timeline,
    settings: ArchiveSettings,
    cleaning: Callable[[Timeline], Instant | None],
    before: Callable[[], None] = lambda: None,
) -> Archived:
    """Archive what may be, if there are more writes than ``settings.most`` on ``timeline``, which is as it
    is now. ``cleaning`` as for :func:`make_plan`; ``before`` is called before anything changes.

    Costs nothing where there is nothing to do; else it reads what it archives. Raises
    CommitConflictError where others archive at the same time, StorageError; either way nothing is lost
    and the next run goes on.
    """
    plan: ArchivePlan = make_plan(storage, timeline, settings, cleaning)
    if not plan.instants:
        return Archived(held=plan.held)
    with action_events("archive", timeline.config.name, storage.root) as events:
        before()
        gone = _archive(storage, timeline, settings, plan)
        events.report(removed_figures(()), instants=len(gone))
    return Archived(tuple(gone), plan.held)


def _archive(
    storage: Storage, timeline: Timeline, settings: ArchiveSettings, plan: ArchivePlan
) -> list[Instant]:
    gone: list[Instant] = []
    for start in range(0, len(plan.instants), _CHUNK):
        chunk = plan.instants[start : start + _CHUNK]
        bundles = _read(storage, timeline, chunk)
        if bundles:
            _keep(storage, timeline, settings, bundles)
            taken = _take(storage, timeline, bundles)
            gone += [b.instant for b in taken]
            if len(taken) < len(bundles):
                break
    if timeline.layout.has_history:
        history_levels.tidy(storage, timeline.config, settings.levels)
    return gone


# --- reading ----------------------------------------------------------------------------------------
def _read(storage: Storage, timeline: Timeline, chunk: Sequence[Instant]) -> list[_Bundle]:
    """What the files of these instants say; without those that another archiver has taken."""

    def read(instant: Instant) -> _Bundle | None:
        files = []
        for step in _files(timeline, instant):
            try:
                files.append((step, storage.get(timeline.path(step))))
            except FileNotFoundError:
                if step.is_completed:
                    return None
        return _Bundle(instant, tuple(files))

    with ThreadPoolExecutor(_THREADS) as pool:
        return [bundle for bundle in pool.map(read, chunk) if bundle is not None]


def _files(timeline: Timeline, instant: Instant) -> list[Instant]:
    """The instant in all the states that it has a file of."""
    services = (a.name for a in ACTIONS.values() if a.is_service)
    actions = [instant.action, *(a for a in services if completed_action(a) == instant.action != a)]
    found: dict[str, Instant] = {}
    for state in _STATES[:2]:
        for action in actions:
            step = Instant(instant.requested, action, state)
            if timeline.has_file(step):  # a layout may have one name for two actions
                found.setdefault(timeline.layout.file_name(step), step)
    return [*found.values(), instant]


# --- into the archive -------------------------------------------------------------------------------
def _keep(
    storage: Storage, timeline: Timeline, settings: ArchiveSettings, bundles: Sequence[_Bundle]
) -> None:
    if timeline.layout.has_history:
        history_write.add(storage, timeline.config, [_row(b) for b in bundles])
        return
    # A run that was cut short has put them, at the end.
    newest = archived_log.read(storage, timeline.config, newest=True)
    known = {(read.requested, read.action) for read in newest}
    moved = timeline.layout.put_times(storage, timeline.config)
    records = [
        record
        for b in bundles
        if (b.instant.requested, b.instant.action) not in known
        for record in _entries(storage, timeline, b, moved)
    ]
    if records:
        archived_log.append(storage, timeline.config, records, settings.batch)


def _row(bundle: _Bundle) -> HistoryRow:
    """Which file is the plan: as ``MetadataConversionUtils.createLSMTimelineInstant`` has it."""
    pending = bundle.pending[0].action if bundle.pending else bundle.instant.action
    plan = b""
    if pending in ("clean", "compaction", "logcompaction"):
        plan = bundle.of(State.REQUESTED)
    elif pending in ("replacecommit", "clustering"):
        plan = bundle.of(State.INFLIGHT) or bundle.of(State.REQUESTED)
    instant = bundle.instant
    return HistoryRow(
        instant.requested, instant.completed, instant.action, bundle.of(State.COMPLETED), plan
    )


def _entries(
    storage: Storage, timeline: Timeline, bundle: _Bundle, moved: Mapping[str, str]
) -> list[dict[str, Any]]:
    found = []
    for step, data in bundle.files:
        if step.action == "clean" and step.state is State.INFLIGHT:
            data = data or bundle.of(State.REQUESTED)
        path = timeline.path(step)
        contents = codec.decode(data, f"{storage.root}/{path}")
        at = moved.get(path, step.requested)
        found.append(
            archived_entries.entry(step.requested, step.action, step.state.value, at, contents)
        )
    return found


# --- off the active timeline ------------------------------------------------------------------------
def _take(storage: Storage, timeline: Timeline, bundles: list[_Bundle]) -> list[_Bundle]:
    """Delete the files; those whose instants are gone then. What has come to be needed meanwhile stays,
    and all after it."""
    now = reload(storage, timeline)
    if any(i.traits.undoes for i in now.pending()):
        return []
    saved = savepointed(now, pending=True)
    for number, bundle in enumerate(bundles):
        if bundle.instant.requested in saved:
            bundles = bundles[:number]
            break
    steps = [step for b in bundles for step in b.pending]
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(lambda step: storage.delete(timeline.path(step)), steps))
    # One after the other: who lists the timeline meanwhile must not see a hole in it.
    for bundle in bundles:
        storage.delete(timeline.path(bundle.instant))
    return _without_saved(storage, timeline, bundles)


def _without_saved(storage: Storage, timeline: Timeline, bundles: list[_Bundle]) -> list[_Bundle]:
    """A savepoint that was made while its write left: the write comes back."""
    saved = savepointed(reload(storage, timeline), pending=True)
    for bundle in bundles:
        if bundle.instant.requested in saved:
            storage.put_if_absent(timeline.path(bundle.instant), bundle.of(State.COMPLETED))
    return [b for b in bundles if b.instant.requested not in saved]
