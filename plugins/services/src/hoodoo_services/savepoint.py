"""Savepoint: a completed write is kept, with the files that were the newest then, until it is
deleted. Nothing is copied: cleaning and archiving go round it."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from attrs import evolve, frozen
from hoodoo.actions.rollback.failed_logs import writers
from hoodoo.actions.rollback.validation import data_files, refuse_missing
from hoodoo.errors import CommitConflictError, CommitUnknownError, ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.events import action_events
from hoodoo.kernel.log_files import log_files
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.timeline.decision import Decision
from hoodoo.timeline.heartbeat import Beating
from hoodoo.timeline.instants import next_instant, order_key
from hoodoo.timeline.ledger import decide, settled
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import from_files

from hoodoo_services.savepoints import SAVEPOINT, encode, kept_files

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

TAG = "hoodoo.tag."  # with the name of a state behind it (hoodoo-copies)


@frozen
class SavepointAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once, never planned."""

    @classmethod
    def from_settings(cls, settings: Settings) -> SavepointAction:
        return cls()

    def run(
        self, table: TableHandle, instant: str | None = None, comment: str = "", user: str = ""
    ) -> str:
        table.check_writable()
        return create(table.storage, table.config, instant, comment, user)

    def kept_files(self, storage: Storage, timeline: Timeline) -> frozenset[str]:
        """The files of all savepoints, as paths below the table root."""
        return kept_files(Snapshot(storage, timeline))

    def delete(self, table: TableHandle, instant: str) -> None:
        """Delete the savepoint of ``instant``, with the tags that name it: else ``as_of`` would
        lead to a state whose files a clean may delete."""
        table.check_writable()
        table.refresh()

        def names(now: TableConfig) -> dict[str, str | None]:
            every = now.properties.items()
            return {key: None for key, at in every if key.startswith(TAG) and at == instant}

        if names(table.config) and instant in table.timeline().savepointed(pending=True):
            table.change_properties(names)
        delete(table.storage, table.config, instant)


def create(
    storage: Storage, config: TableConfig, instant: str | None, comment: str, user: str
) -> str:
    """Keep the completed write ``instant``, by default the newest; its instant.

    One that is kept already stays as it is. Costs a listing of the table. Raises ConfigError if
    there is no such write, or some of its files have been cleaned; CommitConflictError if it is
    about to be undone, or a pending clean takes files of it; CommitUnknownError if the store did
    not say."""
    timeline = settled(storage, config)
    requested = _chosen(Snapshot(storage, timeline), instant)
    if requested in timeline.savepointed():
        return requested
    pending = Instant(requested, SAVEPOINT, State.INFLIGHT)
    # While it lasts nobody takes the pending one away as that of a dead process.
    with (
        action_events(SAVEPOINT, config.name, storage.root, requested, user=user, comment=comment),
        Beating(storage) as beats,
    ):
        beats.add(requested)
        _create(Snapshot(storage, timeline), pending, comment, user)
    return requested


def _create(snapshot: Snapshot, pending: Instant, comment: str, user: str) -> None:
    requested, zone = pending.requested, snapshot.config.timezone
    begun = snapshot.storage.put_if_absent(snapshot.path(pending), b"")

    def make(fresh: Timeline) -> Decision:
        if requested in fresh.savepointed():
            return Decision()
        _refuse_undone(snapshot.at(fresh), _chosen(snapshot.at(fresh), requested))
        after = [i for i in fresh.writes() if order_key(i.requested) > order_key(requested)]
        files = data_files(snapshot.storage)
        refuse_missing(snapshot.at(fresh), after, files, f"instant {requested}")
        slices = from_files(snapshot.at(fresh), files, requested).slices
        if fresh.layout.log_names_slice and (after or any(i.is_write for i in fresh.pending())):
            slices = tuple(_without_later(snapshot.at(fresh), s, requested) for s in slices)
        now = datetime.now(timezone.utc)
        content = encode(slices, user, comment, int(now.timestamp() * 1000))
        completed = None
        if fresh.layout.names_completion:
            completed = next_instant(now, fresh.last_instant_time(), zone)
        done = pending.at(State.COMPLETED, completed)
        return Decision(fresh.path(done), content, (fresh.path(pending),))

    try:
        _decision, done = decide(snapshot, make)
    except (ConfigError, CommitConflictError):
        if begun:
            snapshot.storage.delete(snapshot.path(pending))
        raise
    if not done:
        raise CommitUnknownError(
            f"savepoint {requested}",
            "the store failed when it was put.",
            "Call table.savepoints() to see whether it is there.",
        )


def delete(storage: Storage, config: TableConfig, instant: str) -> None:
    """Keep the write ``instant`` no longer. Raises ConfigError if it is not kept, and
    CommitConflictError while the table is being restored to it."""
    timeline = settled(storage, config)
    if instant not in timeline.savepointed(pending=True):
        known = ", ".join(sorted(timeline.savepointed())) or "none"
        raise ConfigError(f"savepoint {instant}", f"is not in this table, which has {known}.")
    for restore in timeline.pending():
        if restore.traits.rewinds:
            raise CommitConflictError(
                f"savepoint {instant}",
                f"restore {restore.requested} is in progress.",
                f'Finish it first: table.run_restore("{restore.requested}").',
            )
    with action_events(SAVEPOINT, config.name, storage.root, instant, end="deleted"):
        # The completed file first: what is pending keeps nothing.
        for kept in timeline.instants:
            if kept.action == SAVEPOINT and kept.requested == instant and kept.is_completed:
                storage.delete(timeline.path(kept))
        storage.delete(timeline.path(Instant(instant, SAVEPOINT, State.INFLIGHT)))


def _chosen(snapshot: Snapshot, instant: str | None) -> str:
    writes = snapshot.writes()
    if instant is None and writes:
        return writes[-1].requested
    if instant is None or snapshot.find(instant) is None:
        raise ConfigError(
            f"{snapshot.root}: instant {instant or '(the newest)'}",
            "is no completed write of the active timeline.",
            "table.timeline().writes() lists what can be kept.",
        )
    return instant


def _without_later(snapshot: Snapshot, slice_: FileSlice, requested: str) -> FileSlice:
    """Version 6: the name of a log file does not say who wrote it. One that holds nothing but
    blocks of writes under way, or of such as came after ``requested``, goes when these fail or are
    undone, and the savepoint would miss it."""
    kept = []
    for log in slice_.log_files:
        found = writers(snapshot.storage, log, log_files(snapshot.config))
        if found is None:
            continue
        known = {i for i in found if order_key(i) <= order_key(requested)}
        if not found or any(snapshot.timeline.contains_or_before_start(i) for i in known):
            kept.append(log)
    return evolve(slice_, log_files=tuple(kept))


def _refuse_undone(snapshot: Snapshot, requested: str) -> None:
    for other in snapshot.pending():
        if not other.traits.undoes:
            continue
        try:
            plan = snapshot.contents(other.at(State.REQUESTED))
        except FileNotFoundError:
            continue
        gone = [plan.get("instantToRollback") or {}, *(plan.get("instantsToRollback") or ())]
        if requested in {info.get("commitTime") for info in gone}:
            raise CommitConflictError(
                f"{snapshot.root}: instant {requested}",
                f"{other} is about to undo it.",
                "Keep another one.",
            )
