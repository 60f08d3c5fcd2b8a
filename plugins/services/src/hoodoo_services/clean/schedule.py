"""Clean: plan which files nobody needs any more, and put the plan on the timeline.

The plan is made of one look at the table. Should a savepoint, a rollback, a restore or another
service come between the look and the request, it is rebuilt; from then on they have to go round
what it names. :mod:`hoodoo_services.clean.run` deletes, and nothing that no plan names is ever
deleted."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone

from attrs import frozen
from hoodoo.actions import transaction
from hoodoo.actions.transaction import Plan, StalePlanError
from hoodoo.model.instant import Instant
from hoodoo.participants.listing import KnownFiles
from hoodoo.storage.api import Entry, Storage
from hoodoo.timeline import fence
from hoodoo.timeline.instants import next_instant, order_key, to_datetime
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.removed import READABLE
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import FileSystemView, from_files, list_data

from hoodoo_services.clean.plan import (
    CLEAN,
    LOOK_FROM,
    MADE_BY,
    SAVEPOINTS,
    CleanPlan,
    LastClean,
    last_clean,
    planned_files,
)
from hoodoo_services.clean.retained import Hold, files_of, heeded, hold, is_beside
from hoodoo_services.clean.scope import BY_WRITES, scope
from hoodoo_services.clean.settings import CleanSettings
from hoodoo_services.hookspecs.cleaning import Aged, CleaningPolicy, History


@frozen
class Cleaning:
    """How to clean. ``made_by`` tells the policy, with its settings, from another one."""

    policy: CleaningPolicy
    made_by: str
    settings: CleanSettings


def signature(name: str, policy: CleaningPolicy) -> str:
    """Tells a policy, with its settings, from others that would leave something else behind."""
    return name if name in BY_WRITES.values() else f"{name} {policy!r}"


def due(snapshot: Snapshot, every: int) -> bool:
    """Whether ``every`` writes (0: never, 1: always) have completed since the last clean."""
    if every < 2:
        return every == 1
    last = last_clean(snapshot)
    after = order_key(last.last_completed) if last is not None and last.last_completed else ""
    return sum(order_key(w.requested) > after for w in snapshot.writes()) >= every


@frozen
class Scheduled:
    """A plan that is on the ``timeline``. ``is_known``: ``timeline`` already has the decision that
    put it there; ``is_fresh``: this process made it just now, of the state on which was decided."""

    instant: Instant
    timeline: Timeline
    plan: CleanPlan
    is_known: bool = True
    is_fresh: bool = False


def schedule(
    snapshot: Snapshot, how: Cleaning, now: datetime | None = None, begin: bool = False
) -> Scheduled | None:
    """Put a plan on the timeline of ``snapshot``, which is the newest; None, and nothing there, if
    no file may go. Deletes nothing. ``begin``: it is run right afterwards, by this process.

    Raises CommitConflictError where decisions come in faster than a plan can be made.
    """
    plans: list[CleanPlan] = []
    seen_with: list[Timeline] = []

    def make(seen: Timeline) -> Plan | None:
        plan = make_plan(snapshot.at(seen), how, now or datetime.now(timezone.utc))
        if plan is None:
            return None
        plans.append(plan)
        known = heeded(seen)

        def check(fresh: Timeline) -> None:
            if heeded(fresh) - known:
                raise StalePlanError

        detail = {"files": len(plan.files), "policy": plan.policy}
        return Plan(plan.encode(snapshot.root), check, detail)

    fix = "Clean again when there are fewer."
    instant = transaction.schedule(
        snapshot.storage,
        snapshot.config,
        CLEAN,
        make,
        fix,
        first=snapshot.timeline,
        begin=begin,
        saw=seen_with.append,
    )
    return None if instant is None else Scheduled(instant, seen_with[-1], plans[-1])


def make_plan(
    snapshot: Snapshot, how: Cleaning, now: datetime, known: KnownFiles | None = None
) -> CleanPlan | None:
    """What may go, as of ``snapshot``; None for nothing. Lists the partitions that writes have
    touched since the last clean, or the table if there was none. Waits for what is being undone:
    None then. ``known``: goes by these files instead, if they are all that it would list."""
    policy, settings = how.policy, how.settings
    writes = snapshot.writes()
    earliest: Instant | None = None
    if policy.by_writes:
        earliest = policy.earliest(History(writes, now, snapshot.config.timezone))
        if earliest is None:
            return None
    elif not writes:
        return None
    if fence.undoing(snapshot):
        return None
    held = hold(snapshot, settings.window, now)
    if earliest is not None:
        earliest = _not_after(writes, earliest, held.floor)
        if earliest is None:
            return None
    last = last_clean(snapshot)
    wanted: frozenset[str] | None = None
    if settings.incremental:
        wanted = scope(snapshot, last, how.made_by, earliest)
    if wanted is not None and not wanted:
        return None
    if known is not None and (
        known.within is None or (wanted is not None and wanted.issubset(known.within))
    ):
        there = (Entry(path) for path in sorted(known.paths))
        entries = [e for e in there if wanted is None or e.path.rpartition("/")[0] in wanted]
    else:
        entries = list(list_data(snapshot.storage, wanted))
    files = tuple(f for e in entries if (f := parse_path(e.path, e.size)) is not None)
    view = from_files(snapshot, files)
    going = planned_files(snapshot)
    surplus, readable = _surplus(view, policy, earliest, held, going)
    if not surplus:
        return None
    return CleanPlan(
        policy.policy,
        tuple(surplus),
        _emptied(snapshot.storage, entries, {*surplus, *going}),
        earliest,
        writes[-1].requested if writes else "",
        _extra(how, snapshot.timeline, held, last, readable),
    )


def _not_after(writes: tuple[Instant, ...], earliest: Instant, floor: str | None) -> Instant | None:
    """``earliest``, or the last write before the ``floor``: what is in progress has to find its
    files."""
    if floor is None or order_key(earliest.requested) <= order_key(floor):
        return earliest
    before = [w for w in writes if order_key(w.requested) <= order_key(floor)]
    return before[-1] if before else None


def _surplus(
    view: FileSystemView,
    policy: CleaningPolicy,
    earliest: Instant | None,
    held: Hold,
    going: frozenset[str],
) -> tuple[list[str], str]:
    """The files that may go, and the first instant whose rows don't need them."""
    found: list[str] = []
    readable = ""
    for group in view.groups(replaced=True):
        replaced_by = view.replaced_by(group.partition_path, group.file_id)
        aged = Aged(group, replaced_by)
        wanted = {
            s.instant
            for s in policy.surplus(aged, None if earliest is None else earliest.requested)
        }
        for at, slice_ in enumerate(group.slices if wanted else ()):
            if slice_.instant not in wanted or held.keeps(aged, at):
                continue
            files = [path for path in files_of(slice_) if path not in going]
            found += files
            newer = group.slices[at - 1].instant if at else replaced_by
            if files and newer is not None:
                readable = max(readable, newer, key=order_key)
    return found, readable


def _extra(
    how: Cleaning, timeline: Timeline, held: Hold, last: LastClean | None, readable: str
) -> dict[str, str]:
    before = (last.extra.get(READABLE) or last.earliest) if last is not None else ""
    extra = {MADE_BY: how.made_by, READABLE: max(before, readable, key=order_key)}
    if not how.policy.by_writes:
        newest, zone = timeline.writes()[-1].requested, timeline.config.timezone
        after = next_instant(to_datetime(newest, zone), newest, zone)
        extra[LOOK_FROM] = held.floor or after
    if saved := timeline.savepointed():
        extra[SAVEPOINTS] = ",".join(sorted(saved))
    return extra


def _emptied(storage: Storage, entries: Iterable[Entry], going: set[str]) -> tuple[str, ...]:
    """The partitions that hold nothing but files that go, and the file that makes them
    partitions."""
    left: dict[str, int] = {}
    for entry in entries:
        partition = entry.path.rpartition("/")[0]
        stays = entry.path not in going and not is_beside(entry.name)
        left[partition] = left.get(partition, 0) + stays
    touched = {path.rpartition("/")[0] for path in going}
    empty = (p for p, stay in sorted(left.items()) if p and not stay and p in touched)
    # Directories, which hold partitions of their own, are not among the entries.
    return tuple(p for p in empty if not any(e.is_dir for e in storage.list(p)))
