"""History: what the instants of the active timeline say of files, read once for a verification."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from attrs import Factory, evolve, frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.commit import CommitMetadata, WriteStat
from hoodoo.model.findings import Finding, Progress
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.removed import Removed, removed_by, was_removed
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.api import Batches

AT_ONCE = 8


@frozen
class Named:
    """A file that a commit names. ``size`` in bytes (0: not said), ``rows`` of a base file (None:
    not said); ``instant`` is empty where a savepoint names it."""

    path: str
    instant: str = ""
    size: int = 0
    rows: int | None = None


@frozen
class NamedFiles:
    """``named``: by path, what completed commits and savepoints say of a file. ``removed``: what
    cleans took away or are about to, with the newest such clean's requested time. ``unread``:
    requested times of commits of which is not known what they name. ``replaced``: partition path
    and file id of each file group that a commit took out of the table, and which one."""

    named: Mapping[str, Named]
    removed: Mapping[Removed, str]
    unread: frozenset[str]
    findings: tuple[Finding, ...] = ()
    replaced: Mapping[tuple[str, str], str] = Factory(dict)

    def never_there(self, groups: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """The replaced file groups that are not among the ``groups`` that have files, and of which
        no clean deleted one; with the instant that replaced them."""
        gone = {key: by for key, by in self.replaced.items() if key not in groups}
        files = (
            parse_path(f"{path}/{name}" if path else name) for path, name in self.removed if gone
        )
        cleaned = {(file.partition_path, file.file_id) for file in files if file is not None}
        return {
            k: by
            for k, by in gone.items()
            if k not in cleaned and order_key(self.removed.get((k[0], ""), "")) < order_key(by)
        }

    def was_removed(self, path: str) -> bool:
        return was_removed(self.removed, path)


def read_history(snapshot: Snapshot, progress: Progress) -> NamedFiles:
    """Read every instant file of the active timeline that says something, several at a time."""
    findings = list(_of_names(snapshot))
    named: dict[str, Named] = {}
    removed: dict[Removed, str] = {}
    unread: set[str] = set()
    replaced: dict[tuple[str, str], str] = {}
    todo = [i for i in snapshot.instants if i.is_completed or i.traits.deletes]
    answers = Batches.in_order([partial(_one, snapshot, i) for i in todo], AT_ONCE)
    for done, (instant, said) in enumerate(answers, 1):
        progress("timeline", done, len(todo))
        if isinstance(said, Finding):
            findings.append(said)
            unread.add(instant.requested)
        elif isinstance(said, CommitMetadata):
            replaced |= dict.fromkeys(said.replaced_groups, instant.requested)
            for one in files_of(said, instant.requested):
                # In version 6 several commits may append to one log file: the largest size counts.
                before = named.get(one.path, one)
                named[one.path] = evolve(one, size=max(one.size, before.size))
        elif said is None:
            unread.add(instant.requested)
        elif instant.traits.deletes:
            removed |= dict.fromkeys(removed_by(said), instant.requested)
    if not any(finding.kind == "timeline.unreadable" for finding in findings):
        for path in _kept_files(snapshot):
            named.setdefault(path, Named(path))
    return NamedFiles(named, removed, frozenset(unread), tuple(findings), replaced)


def _kept_files(snapshot: Snapshot) -> Iterable[str]:
    """The files that savepoints name. PluginError where there are some, and no plugin reads
    them."""
    if not snapshot.timeline.savepointed():
        return ()
    savepoints = resolve("action", "savepoint", Settings(snapshot.config)).instance
    found: Iterable[str] = savepoints.kept_files(snapshot.storage, snapshot.timeline)
    return found


def files_of(metadata: CommitMetadata, instant: str) -> Iterator[Named]:
    """The files that a commit names, its change data logs among them."""
    for stat in metadata.stats:
        if stat.path:
            rows = None if stat.log_version is not None else stat.num_writes
            yield Named(stat.path, instant, stat.file_size, rows)
        for path, size in _change_logs(stat).items():
            yield Named(path, instant, size)


def archived_cleans(archived: Iterable[ArchivedInstant]) -> dict[Removed, str]:
    """What archived cleans took away: a clean may be archived before the commits that it
    cleaned."""
    cleans = (i for i in archived if i.instant.traits.deletes)
    return {removed: i.requested for i in cleans for removed in removed_by(i.contents())}


def _one(
    snapshot: Snapshot, instant: Instant
) -> Iterator[tuple[Instant, CommitMetadata | Mapping[str, Any] | Finding | None]]:
    # A pending clean may have removed some of what its plan names already.
    at = instant if instant.is_completed else instant.at(State.REQUESTED)
    try:
        if instant.is_completed and instant.is_write:
            yield instant, snapshot.metadata(instant)
        else:
            yield instant, snapshot.contents(at)
    except FileNotFoundError:
        yield instant, None  # archived, undone or ended since the listing
    except HoodooError as error:
        path = snapshot.path(at)
        yield instant, Finding("timeline.unreadable", path, error.rule.rstrip("."), error.fix)


def _of_names(snapshot: Snapshot) -> Iterator[Finding]:
    """What the names of the timeline's files alone show."""
    names = {e.name for e in snapshot.storage.list(snapshot.config.timeline_path) if not e.is_dir}
    done: dict[tuple[str, str], list[str]] = {}
    for name in sorted(names):
        found = snapshot.layout.parse_instant(name)
        if found is not None and found.is_completed:
            done.setdefault((found.requested, found.action), []).append(name)
    for (requested, _), files in done.items():
        if len(files) > 1:
            yield Finding(
                "timeline.twice",
                requested,
                f"is completed twice: {', '.join(files)}",
                "compare the files, and delete the later one.",
            )
    for instant in snapshot.pending():
        if instant.state is State.INFLIGHT and not instant.traits.keeps:
            path = snapshot.path(instant.at(State.REQUESTED))
            # Asked for the second time: it may have been undone since.
            if path.rpartition("/")[2] not in names and snapshot.storage.head(
                snapshot.path(instant)
            ):
                yield Finding(
                    "timeline.inflight",
                    snapshot.path(instant),
                    f"its requested file {path} is missing; Hudi can't roll it back",
                    "write an empty file of that name, then roll the instant back.",
                )


def _change_logs(stat: WriteStat) -> dict[str, int]:
    found = stat.extra.get("cdcStats")
    if not isinstance(found, Mapping):
        return {}
    return {str(path): int(size or 0) for path, size in found.items()}
