"""Verify: is everything as it should be? Files against timeline, properties, bytes, keys.

Nothing is changed, and writers may go on meanwhile: what they bring or take away is no finding.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from attrs import evolve
from hoodoo.errors import CorruptTableError, HoodooError, HoodooWarning, UnsupportedTableError
from hoodoo.hookspecs.participant import KeysCheck
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.kernel.archived import load_archived
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.findings import (
    Checked,
    Finding,
    Found,
    Pending,
    Progress,
    Report,
    silent,
)
from hoodoo.model.meta import without_meta
from hoodoo.participants.of_table import Participants
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo.timeline.instants import order_key, to_datetime
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, reload
from hoodoo.timeline.view import FileSystemView, from_files
from hoodoo_rows.api import Reads

from hoodoo_cli.reports.listed import data_files
from hoodoo_cli.reports.verify.contents import check_contents
from hoodoo_cli.reports.verify.files import (
    DataFile,
    Instants,
    check_archived,
    check_named,
    check_note,
    check_partitions,
    check_replaced,
    check_strays,
    groups_of,
    parsed,
)
from hoodoo_cli.reports.verify.keys import check_keys
from hoodoo_cli.reports.verify.kinds import in_order
from hoodoo_cli.reports.verify.named_files import NamedFiles, archived_cleans, read_history
from hoodoo_cli.reports.verify.placement import check_placement
from hoodoo_cli.reports.verify.properties import check_columns, check_properties


def verify(
    source: ReadSource,
    *,
    quick: bool = False,
    keys: bool = True,
    in_table: bool = False,
    progress: Progress = silent,
    now: datetime | None = None,
) -> Report:
    """Look at everything of a table.

    ``quick``: listings and timeline only, no base or log file is opened. ``keys`` False: their
    footers and frames, no rows. ``in_table``: a record key occurs once in the whole table, not only
    in its partition path. Raises StorageError where the store fails; what is wrong with the table
    is told."""
    storage, told = source.storage, source.timeline
    source = _listing(source)  # what participants say is checked, and not gone by
    before = source.timeline
    config, findings = check_properties(storage)
    parts = [Found(findings)]
    history = read_history(Snapshot(storage, before), progress)
    entries = data_files(Snapshot(storage, told))
    after = reload(storage, before)
    newer = read_history(Snapshot(storage, after), silent) if after != before else history
    # A clean that was planned meanwhile removes what `before` names.
    history = evolve(history, removed={**history.removed, **newer.removed})
    files = parsed(entries)
    unread: list[Finding] = []
    archived = _archived(source, after, files.values(), unread)
    instants = Instants.of(before, after, _reaching(archived, files.values()))
    lacks = any(path not in files and not history.was_removed(path) for path in history.named)
    if lacks or history.never_there(groups_of(files)):
        more = archived_cleans(_loaded(source, unread))
        history = evolve(history, removed={**more, **history.removed})
    participants = Participants.of_table(source.config)
    sizes = {path: file.size for path, file in files.items()}

    def expected(path: str) -> bool:
        return instants.is_committed(files[path].instant) and path in history.named

    said = (
        *check_partitions(storage, entries, instants),
        *participants.verify_files(storage, told, sizes, expected, history.was_removed),
    )
    parts.append(
        Found(
            (
                *history.findings,
                *check_archived(storage, before.config),
                *unread,
                *check_note(Snapshot(storage, before)),
                *check_named(history, files, instants),
                *check_replaced(history, files, instants),
                *check_strays(history, files, instants),
                *(one for one in said if isinstance(one, Finding)),
            ),
            Checked(instants=len(before.instants), files=len(files)),
            notes=tuple(one for one in said if isinstance(one, str)),
        )
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)  # damaged logs are told as findings
        if not quick:
            locations = participants.verify_keys(storage, told)
            parts += _opened(source, history, files, instants, keys, in_table, progress, locations)
    return _report(config.name if config else "", storage.root, parts, _pending(before, now))


def _listing(source: ReadSource) -> ReadSource:
    """``source``, whose files are found by listing."""
    config = Participants.of_table(source.config).hidden(source.config)
    timeline = evolve(source.timeline, config=config)
    return evolve(source, config=config, timeline=timeline, whole=False)


def unopened(name: str, findings: Sequence[Finding]) -> Report:
    """The report on a table whose properties can't be gone by."""
    return _report(name, name, [Found(tuple(findings), skipped=("all but the properties",))], ())


def _opened(
    source: ReadSource,
    history: NamedFiles,
    files: dict[str, DataFile],
    instants: Instants,
    keys: bool,
    in_table: bool,
    progress: Progress,
    locations: Sequence[KeysCheck],
) -> list[Found]:
    found = []
    try:
        view = _view(source, history, files)
    except HoodooError as error:
        if history.unread:
            return [Found(skipped=("contents of files: the timeline can't be read",))]
        finding = Finding("read.failed", error.obj, error.rule.rstrip("."), error.fix)
        return [Found((finding,), skipped=("contents of files: see read.failed",))]
    contents = (source.storage, source.file_format, view, history, instants, progress)
    found.append(check_contents(*contents))
    if not instants.before.writes():
        return found
    try:
        schema = without_meta(Reads.plan(source).stored)
    except UnsupportedTableError as error:
        return [*found, Found(skipped=(f"rows: {error.rule.rstrip('.')}",))]
    except HoodooError as error:
        if history.unread:
            return [*found, Found(skipped=("rows: the timeline can't be read",))]
        finding = Finding("read.failed", error.obj, error.rule.rstrip("."), error.fix)
        return [*found, Found((finding,), skipped=("rows: see read.failed",))]
    found.append(Found(tuple(check_columns(source.config, schema))))
    if keys:
        found.append(check_keys(source, instants, in_table, progress, locations))
        found.append(check_placement(source, progress))
    return found


def _view(source: ReadSource, history: NamedFiles, files: dict[str, DataFile]) -> FileSystemView:
    """The view without the rivals of base files that commits name: they have been told."""
    named = {
        (f.partition_path, f.file_id, f.instant)
        for path, f in files.items()
        if isinstance(f, BaseFile) and path in history.named
    }
    kept = tuple(
        f
        for path, f in files.items()
        if not isinstance(f, BaseFile)
        or path in history.named
        or (f.partition_path, f.file_id, f.instant) not in named
    )
    return from_files(source.snapshot, kept)


def _loaded(source: ReadSource, unread: list[Finding]) -> tuple[ArchivedInstant, ...]:
    """The archived instants; none where they can't be read, which ``unread`` then says."""
    try:
        return load_archived(source.storage, source.config)
    except CorruptTableError as error:
        unread.append(Finding("timeline.archived", error.obj, error.rule.rstrip("."), error.fix))
        return ()


def _archived(
    source: ReadSource, timeline: Timeline, files: Iterable[DataFile], unread: list[Finding]
) -> tuple[ArchivedInstant, ...]:
    """What has been archived; looked at only where files are older than the active timeline."""
    start = timeline.start
    if start is None or all(order_key(f.instant) >= order_key(start) for f in files):
        return ()
    return _loaded(source, unread)


def _reaching(
    archived: Sequence[ArchivedInstant], files: Iterable[DataFile]
) -> frozenset[str] | None:
    """The archived instants that files may be of. Those older than all of them may have been thrown
    away: nothing can be said of their files, so they count as archived."""
    if not archived:
        return None
    first = order_key(archived[0].requested)
    older = {f.instant for f in files if order_key(f.instant) < first}
    return frozenset(i.requested for i in archived) | older


def _pending(timeline: Timeline, now: datetime | None) -> tuple[Pending, ...]:
    moment = now or datetime.now(timezone.utc)
    zone = timeline.config.timezone
    return tuple(
        Pending(
            i.requested,
            i.action,
            i.state.value.lower(),
            max(0.0, (moment - to_datetime(i.requested, zone)).total_seconds()),
        )
        for i in timeline.pending()
    )


def _report(name: str, root: str, parts: Sequence[Found], pending: tuple[Pending, ...]) -> Report:
    found = in_order(f for part in parts for f in part.findings)
    checked = Checked(
        *(sum(getattr(p.checked, a.name) for p in parts) for a in Checked.__attrs_attrs__)
    )
    skipped = tuple(dict.fromkeys(reason for part in parts for reason in part.skipped))
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    return Report(name or root, found, pending, checked, skipped, notes)
