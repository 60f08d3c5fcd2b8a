"""Heal: what a writer does before it writes: finish what others began to undo, undo what died, sweep."""

from __future__ import annotations

import re
from contextlib import suppress

from hoodoo.actions.failed_logs import left_behind
from hoodoo.actions.rollback import RolledBack, resume, rollback
from hoodoo.errors import StorageError
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, LogFile
from hoodoo.model.instant import ROLLBACK_ACTIONS, Instant, State
from hoodoo.storage.api import Storage
from hoodoo.timeline.compaction_plan import pending_compactions, read_plan
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.timeline import Timeline, load, reload
from hoodoo.timeline.view import list_data
from hoodoo.write.target import MARKERS

# What an instant may leave below MARKERS: its folder of markers, and its staged rows.
_LEFT = re.compile(rf"{re.escape(MARKERS)}/(?:hoodoo-)?(\d{{17}}|\d{{14}})")


def heal(storage: Storage, config: TableConfig) -> tuple[RolledBack, ...]:
    """What a writer does first: finish begun rollbacks, roll back failed writes, sweep strays.

    Single-writer rule (Hudi's EAGER policy): a pending write has failed. Pending table services are
    left alone: their plans are run, not undone. Costs one listing when there is nothing to do.
    """
    timeline = load(storage, config)
    done = [resume(storage, timeline, i) for i in timeline.pending() if i.action == "rollback"]
    if done:
        timeline = reload(storage, timeline)
    # Newest first, as each instant may build on the one before.
    for instant in reversed(timeline.pending()):
        if instant.action in ROLLBACK_ACTIONS and not _is_clustering(storage, timeline, instant):
            done.append(rollback(storage, timeline, instant))
            timeline = reload(storage, timeline)
    _sweep(storage, timeline)
    return tuple(done)


def _sweep(storage: Storage, timeline: Timeline) -> None:
    """What is left of writers that died: markers and staged rows of instants that are not pending,
    files of tasks that finished after the rollback, and the store's own old temporaries. Lists the
    table only if there has been a rollback."""
    left = [(e, m[1]) for e in storage.list(MARKERS) if (m := _LEFT.fullmatch(e.path))]
    if left:  # looked at after the listing: a writer is on the timeline before it leaves anything
        pending = {i.requested for i in reload(storage, timeline).pending()}
        for entry, instant in left:
            if instant not in pending:
                storage.delete_prefix(entry.path)
    undone = _undone(storage, timeline)
    if undone:
        for path in _left_behind(storage, timeline, undone):
            storage.delete(path)
    sweep = getattr(storage, "sweep", None)
    if sweep is not None:
        with suppress(StorageError):  # it only saves room
            sweep()


def _left_behind(storage: Storage, timeline: Timeline, undone: set[str]) -> list[str]:
    """Data files of the instants ``undone``, which tasks put after the rollback."""
    files = [f for e in list_data(storage) if (f := parse_path(e.path, e.size)) is not None]
    if timeline.layout > 1:
        return [file.path for file in files if file.instant in undone]
    found = [f.path for f in files if isinstance(f, BaseFile) and f.instant in undone]
    logs = left_behind(storage, (f for f in files if isinstance(f, LogFile)), undone)
    if not logs:
        return found
    # A compaction that was planned meanwhile names them (they change no row), and would miss them.
    planned = {
        log.path
        for compaction in pending_compactions(timeline)
        for slice_ in read_plan(storage, timeline, compaction).slices
        for log in slice_.log_files
    }
    return [*found, *(log.path for log in logs if log.path not in planned)]


def _undone(storage: Storage, timeline: Timeline) -> set[str]:
    """Instants that a completed rollback names and that are not on the timeline (again)."""
    found: set[str] = set()
    for instant in timeline.completed():
        if instant.action == "rollback":
            found.update(timeline.contents(storage, instant).get("commitsRollback") or ())
    return found - {i.requested for i in timeline.instants if i.action != "rollback"}


def _is_clustering(storage: Storage, timeline: Timeline, instant: Instant) -> bool:
    """Layout 1 files a pending clustering, which is a plan to be run, as a replacecommit."""
    if timeline.layout > 1 or instant.action != "replacecommit":
        return False
    try:
        plan = timeline.contents(storage, instant.at(State.REQUESTED))
    except FileNotFoundError:
        return False
    return plan.get("clusteringPlan") is not None
