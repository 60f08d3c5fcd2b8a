"""Recovery: what a writer does before it writes: finish what others began to undo, undo what died,
sweep."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress

from attrs import frozen

from hoodoo.actions.rollback.failed_logs import left_behind
from hoodoo.actions.rollback.run import resume, rollback
from hoodoo.actions.rollback.validation import taken_back
from hoodoo.actions.transaction import not_named
from hoodoo.errors import CommitConflictError, HoodooError, PluginError, StorageError
from hoodoo.hookspecs.action import Recovers
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.events import action_events
from hoodoo.kernel.log_files import log_files
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import make
from hoodoo.model.action import named
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.model.outcome import RolledBack
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.together import discard
from hoodoo.timeline.fence import INDEXING, target_of
from hoodoo.timeline.heartbeat import FOLDER, Liveness, store_time
from hoodoo.timeline.ledger import settled
from hoodoo.timeline.markers import MARKERS
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.plans import PLANNER, is_clustering, pending_clusterings, planned_logs
from hoodoo.timeline.publish import withdraw
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.task_fence import fence_of
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import list_data

# What an instant may leave below MARKERS: its folder of markers, its door, and its staged rows,
# which outlive it where the write is repeated.
_LEFT = re.compile(rf"{re.escape(MARKERS)}/(?:hoodoo-w?)?(\d{{17}}|\d{{14}})")
# Seconds from the marker of a file on, in which a task that has lost may yet put the file.
LATE = 3600


@frozen
class Recovered:
    """``done``: the instants that were undone. ``timeline`` is that of now; None where something
    was pending, which may have ended since. ``waits``: tasks of a completed write may yet put
    files, so the next write looks again."""

    done: tuple[RolledBack, ...]
    timeline: Timeline | None
    waits: bool = False


def recover(
    storage: Storage, config: TableConfig, spare: Collection[str] = (), as_before: bool = False
) -> Recovered:
    """Prepare a table for a writer: carry out decisions, finish restores and rollbacks that were
    begun, roll back writes of dead writers, delete stray files.

    Pending table services stay: their plans are run, not undone. Only a clustering that Hoodoo
    began and whose process died is undone, unless ``spare`` names it: it blocks writers, and can be
    planned again at any time. Costs a few small reads and listings when there is nothing to do.
    Raises CommitConflictError while a restore runs. ``as_before``: the caller has done this before,
    and the timeline is the same. Then files of dead writers stay until another writer calls this.
    """
    if as_before:
        seen = settled(storage, config)
        if not seen.pending():
            sweep_undone(Snapshot(storage, seen), recent=True)
            return Recovered((), seen)
    seen, marked, swept = settled(storage, config), storage.list(MARKERS), Liveness(storage)
    calm = None if seen.pending() else seen
    snapshot, living = without_planless(Snapshot(storage, seen)), Liveness(storage)
    done: list[RolledBack] = []
    for action in _recovering(snapshot):
        done += _finished(snapshot, living, action)
    if done:
        snapshot, living = snapshot.reload(), Liveness(storage)
    undoing: set[str] = set()
    for mine in (i for i in snapshot.pending() if i.traits.undoes_one):
        if living.is_alive(mine.requested):
            undoing.add(target := target_of(snapshot, mine) or "")
            if snapshot.find(target) is not None:  # what is read now would be built on it
                raise CommitConflictError(
                    f"{storage.root}: {mine}", f"it will undo {target}, the newest write.",
                    "Repeat this call when the rollback has ended.",
                )  # fmt: skip
        else:
            with suppress(CommitConflictError):  # another process has ended it
                done += filter(None, [resume(snapshot, mine)])
    if done:
        snapshot, living = snapshot.reload(), Liveness(storage)
    # Newest first, as each instant may build on the one before.
    for instant in reversed(snapshot.pending()):
        if not instant.traits.is_undone or instant.requested in undoing:
            continue
        if living.is_alive(instant.requested) or is_clustering(snapshot, instant):
            continue
        with suppress(CommitConflictError):  # it was completed, or another one undoes it
            done.append(rollback(snapshot, instant))
        snapshot = snapshot.reload()
    if abandoned := _abandoned(snapshot, config, spare):
        done += abandoned
        snapshot = snapshot.reload()
    for building in snapshot.pending():
        if building.action == INDEXING and not living.is_alive(building.requested):
            withdraw(snapshot, building)
    living = Liveness(storage)  # listed after what is pending, before which heartbeats are there
    for saved in snapshot.pending():
        # It keeps nothing yet (or nothing any more), and nobody is at it.
        if saved.traits.keeps and not living.is_alive(saved.requested):
            storage.delete(snapshot.path(saved))
    waits = _sweep(snapshot, marked, swept)
    return Recovered(tuple(done), calm, waits)


def without_planless(snapshot: Snapshot) -> Snapshot:
    """``snapshot`` without actions that are inflight and have no plan: who began these had slept,
    while another process ended them. Nobody could finish them. Their files are deleted."""
    if lost := _planless(snapshot.timeline):
        # A listing may lack one of two files that came while it lasted; not so the next one.
        lost &= _planless(snapshot.reload().timeline)
        discard(snapshot.storage, [snapshot.path(i) for i in lost])
        snapshot = snapshot.reload()
    return snapshot


def _planless(timeline: Timeline) -> set[Instant]:
    heeded = (i for i in timeline.pending() if i.traits.is_heeded)
    return {i for i in heeded if not timeline.has_file(i.at(State.REQUESTED))}


def _finished(
    snapshot: Snapshot, living: Liveness, found: tuple[str, Recovers]
) -> tuple[RolledBack, ...]:
    name, action = found
    done: tuple[RolledBack, ...] = ()
    conflict: CommitConflictError | None = None
    with action_events(name, snapshot.config.name, snapshot.root, quiet=True) as events:
        try:
            done = action.recover(snapshot.storage, snapshot.timeline, living)
        except CommitConflictError as error:  # somebody is at it: it has not failed
            conflict = error
        if not done:
            events.skip()
    if conflict is not None:
        raise conflict
    return done


def _recovering(snapshot: Snapshot) -> list[tuple[str, Recovers]]:
    """The actions that finish what is pending of their kind before anybody writes."""
    found = []
    for name in sorted({i.action for i in snapshot.pending()}):
        offer = kernel().find("action", name)
        if offer is not None:
            action = make(offer, Settings(snapshot.config))
            found += [(name, action)] if isinstance(action, Recovers) else []
        elif named(name).rewinds:  # nobody may write before it is finished
            raise PluginError(
                f"{snapshot.root}: {name}", "is pending, and no installed plugin can finish it.",
                "Install the distribution hoodoo-services.",
            )  # fmt: skip
    return found


def _abandoned(snapshot: Snapshot, config: TableConfig, spare: Collection[str]) -> list[RolledBack]:
    done: list[RolledBack] = []
    living = Liveness(snapshot.storage)
    for plan in pending_clusterings(snapshot):
        instant = plan.instant
        begun = instant.state is State.INFLIGHT and PLANNER in plan.extra
        # Without Hoodoo's fence another tool runs it, which has no heartbeat.
        is_own = begun and fence_of(instant.requested, config).was_opened(snapshot.storage)
        if is_own and instant.requested not in spare and not living.is_alive(instant.requested):
            with suppress(CommitConflictError):  # it was completed, or another one undoes it
                done.append(rollback(snapshot, instant))
    return done


def sweep_undone(snapshot: Snapshot, recent: bool = False) -> None:
    """Delete what tasks of undone instants put after these were undone. Lists the table if there
    may be some. ``recent``: only of what was undone since the newest write was requested; archiving
    looks once more at all."""
    undone = taken_back(snapshot, recent)
    discard(snapshot.storage, _left_behind(snapshot, undone) if undone else ())
    if undone:
        Participants.of_table(snapshot.config).sweep(snapshot.storage, undone)


def _sweep(snapshot: Snapshot, marked: Collection[Entry], living: Liveness) -> bool:
    """What is left of writers that died: markers and staged rows of instants that are not pending,
    files of tasks that finished after the rollback, and the store's own old temporaries. Lists the
    table only if there has been a rollback. Whether files of a completed write may come yet."""
    waits = False
    left = [(e, m[1]) for e in marked if (m := _LEFT.fullmatch(e.path))]
    if left:  # looked at after the listing: a writer is on the timeline before it leaves anything
        fresh, living = snapshot.reload(), Liveness(snapshot.storage)
        pending = {i.requested for i in fresh.pending()}
        # A clustering that is planned and was not begun has left nothing that it needs.
        pending -= {
            plan.instant.requested
            for plan in pending_clusterings(fresh)
            if plan.instant.state is State.REQUESTED
        }
        for entry, instant in left:
            if instant not in pending and not living.is_alive(instant):
                if entry.name == instant and _sweep_late(fresh, instant):
                    waits = True  # its markers say which files may come yet
                else:
                    snapshot.storage.delete_prefix(entry.path)
    with suppress(StorageError):  # they say nothing any more
        living.sweep()
    sweep_undone(snapshot, recent=True)
    sweep = getattr(snapshot.storage, "sweep", None)
    if sweep is not None:
        with suppress(StorageError):  # it only saves room
            sweep()
    return waits


def _sweep_late(snapshot: Snapshot, requested: str) -> bool:
    """Delete base files of the completed instant ``requested`` that no stat names: tasks have put
    them after the publish, and have died before they could delete them. A commit that says nothing
    of files proves nothing. Whether such a file may come yet: a task puts it right after its
    marker, but may be slow."""
    instant = snapshot.find(requested)
    if instant is None or not (marked := not_named(snapshot.storage, requested, ())):
        return False
    with suppress(HoodooError, FileNotFoundError):  # it may be archived meanwhile, or damaged
        named = {p for stat in snapshot.metadata(instant).stats for p in stat.paths}
        late = {path: put for path, put in marked.items() if named and path not in named}
        discard(snapshot.storage, [*late])
        return bool(late) and store_time(snapshot.storage, FOLDER) - max(late.values()) < LATE
    return False


def _left_behind(snapshot: Snapshot, undone: set[str]) -> list[str]:
    """Data files of the instants ``undone``, which tasks put after the rollback."""
    files = [
        f for e in list_data(snapshot.storage) if (f := parse_path(e.path, e.size)) is not None
    ]
    if not snapshot.layout.log_names_slice:
        return [file.path for file in files if file.instant in undone]
    found = [f.path for f in files if isinstance(f, BaseFile) and f.instant in undone]
    logs = left_behind(
        snapshot.storage,
        (f for f in files if isinstance(f, LogFile)),
        undone,
        log_files(snapshot.config),
    )
    if not logs:
        return found
    # A compaction that was planned meanwhile names them (they change no row), and would miss them.
    planned = planned_logs(snapshot)
    return [*found, *(log.path for log in logs if log.path not in planned)]
