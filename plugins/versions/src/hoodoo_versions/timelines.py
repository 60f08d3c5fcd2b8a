"""A timeline in the other layout, complete, beside the one that counts.

Layout 1 has it in ``.hoodie``, layout 2 in ``.hoodie/timeline``: nobody reads the new files until
the properties name their version. In layout 1 requested times order everything. So an instant that
comes from there completes at its own time: copies of a table have other times of files, and readers
who note how far they have come go on where they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from attrs import evolve
from hoodoo.errors import CommitConflictError, CorruptTableError, UnsupportedTableError
from hoodoo.hookspecs.archived_timeline import Archivable
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.archived import archived_timeline, load_archived
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage, names_in
from hoodoo.storage.together import together
from hoodoo.timeline import codec
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo.timeline.instants import to_datetime
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load
from hoodoo.timeline.view import from_files, list_data, parsed

_COMMITS = ("commit", "deltacommit", "replacecommit")
_PLANS = {"clusteringPlan": "clustering", "operations": "compaction"}
_CHUNK = 200


def build(storage: Storage, old: Timeline, config: TableConfig, left_out: str) -> Timeline:
    """Put all instants of ``old`` and of its archive where a table with the properties ``config``
    has them; the instant ``left_out`` is not among them. What is there goes before.
    CommitConflictError where another process takes one away meanwhile."""
    remove(storage, config)
    layout, names = layout_of(config), []
    for path in layout.first_files(config):
        storage.put(path, b"")
    known = {i.requested for i in old.instants} - {left_out}
    for name in names_in(storage, old.config.timeline_path):
        found = old.layout.parse_instant(name)
        if found is not None and found.requested in known:
            names.append((f"{old.config.timeline_path}/{name}", found))
    for start in range(0, len(names), _CHUNK):
        chunk = names[start : start + _CHUNK]
        together(storage, *(partial(_copy, storage, config, *each) for each in chunk))
    new = load(storage, config)
    _build_archive(storage, old, new)
    return new


def exists(storage: Storage, config: TableConfig) -> bool:
    """Whether anything is left of the timeline or the archive that :func:`remove` deletes."""
    layout = layout_of(config)
    if storage.list(layout.archive_folder(config)):
        return True
    names = names_in(storage, config.timeline_path)
    return any(layout.parse_instant(name) is not None for name in names)


def remove(storage: Storage, config: TableConfig) -> None:
    """Delete the timeline and the archive of a table with the properties ``config``: it is not what
    the table has."""
    layout = layout_of(config)
    storage.delete_prefix(layout.archive_folder(config))
    for name in names_in(storage, config.timeline_path):
        if layout.parse_instant(name) is not None:
            storage.delete(f"{config.timeline_path}/{name}")


def refuse_other_view(storage: Storage, old: Timeline, new: Timeline) -> None:
    """UnsupportedTableError unless both timelines make the same file slices of the table's files,
    those of older states too. Lists the table."""
    files = parsed(list_data(storage))
    views = [from_files(Snapshot(storage, timeline), files) for timeline in (old, new)]
    groups = [view.groups(replaced=True) for view in views]
    for one, other in zip(*groups, strict=False):
        if one != other:
            break
    else:
        if len(groups[0]) == len(groups[1]) and views[0].slices == views[1].slices:
            return
        one = groups[0][-1]
    raise UnsupportedTableError(
        f"table {old.config.name}: file group {one.file_id}",
        f"has log files that overlap a compaction: version {new.config.version} would place them "
        "in another of its older slices.",
        "delete the older slices first: table.clean('by_versions', fileversions_retained=1).",
    )


def _copy(storage: Storage, config: TableConfig, path: str, found: Instant) -> None:
    try:
        data = storage.get(path)
    except FileNotFoundError as error:
        raise CommitConflictError(
            f"{storage.root}/{path}", "was taken away meanwhile.", "Repeat the call."
        ) from error
    step = _renamed(config, found, data)
    target = f"{config.timeline_path}/{layout_of(config).file_name(step)}"
    storage.put(target, _content(config, found, data, f"{storage.root}/{path}"))
    # Readers of Spark Hudi 1.x take the time of the file for that of the completion.
    keep_time = getattr(storage, "set_modified", None)
    if step.is_completed and keep_time is not None and not layout_of(config).names_completion:
        done = to_datetime(found.completion_order, config.timezone)
        keep_time(target, done.timestamp())


def _renamed(config: TableConfig, found: Instant, data: bytes) -> Instant:
    names = layout_of(config).names_completion
    if found.is_completed:
        return evolve(found, completed=found.completion_order if names else None)
    if found.traits.replaces and _plans(data) == "clustering":
        return evolve(found, action="clustering")
    return found


def _content(config: TableConfig, found: Instant, data: bytes, where: str) -> bytes:
    layout = layout_of(config)
    if found.action not in _COMMITS or found.state is State.REQUESTED:
        return data
    if found.is_completed:
        replaces = found.traits.replaces
        empty = not data and not replaces
        said = CommitMetadata() if empty else codec.decode_commit(data, where, replaces=replaces)
        return layout.encode_commit(said, found.action)
    with suppress(CorruptTableError):  # nobody needs what a write that has ended began with
        return layout.encode_inflight(codec.decode_commit(data, where)) if data else data
    return data


def _plans(data: bytes) -> str | None:
    """Which service the plan in a requested file is of, if it is one."""
    with suppress(CorruptTableError):
        said = codec.decode(data, "")
        return next((action for key, action in _PLANS.items() if said.get(key)), None)
    return None


def _build_archive(storage: Storage, old: Timeline, new: Timeline) -> None:
    active = {(i.requested, i.action) for i in old.completed()}
    archived = load_archived(storage, old.config)
    wanted = [a for a in archived if (a.requested, a.action) not in active]
    kept = archived_timeline(Settings(new.config))
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        kept.add(storage, new, [_archivable(new.config, one) for one in chunk])
    if wanted:
        kept.tidy(storage, new.config)


def _archivable(config: TableConfig, one: ArchivedInstant) -> Archivable:
    done = _renamed(config, one.instant, b"")
    return Archivable(done, tuple(_files(done, one)))


def _files(done: Instant, one: ArchivedInstant) -> Iterator[tuple[Instant, bytes]]:
    if plan := one.plan_bytes():
        action = _plans(plan) or done.action
        yield Instant(done.requested, action, State.REQUESTED), plan
    yield done, one.metadata_bytes()
