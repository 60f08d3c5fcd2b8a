"""Calls of their own for reports: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from attrs import evolve
from hoodoo.errors import CallError, HoodooError, PluginError
from hoodoo.kernel.archived import load_archived
from hoodoo.model.action import named
from hoodoo.model.findings import Finding, Progress, Report, silent
from hoodoo.participants.travel import numbered
from hoodoo.table.handle import TableHandle
from hoodoo.table.opened import installed_action
from hoodoo.table.running import report
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.instants import to_datetime
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_cli.reports.figures import TableStats
from hoodoo_cli.reports.timeline import timeline_page
from hoodoo_cli.reports.verify.kinds import in_order

_LOOKS = 3  # at what looks wrong in a table that writers change meanwhile


def stats(table: TableHandle, progress: Progress = silent) -> TableStats:
    """The size of the files, how much of it is old, and the cost of the writes; see
    docs/command-line.md. ``progress`` gets step, done and total."""
    try:
        cleanable = installed_action(table, "clean").cleanable(table)
    except HoodooError:
        cleanable = None  # a table that is only read, a policy that is not installed
    found: TableStats = report(table, "stats", cleanable=cleanable, progress=progress)
    return found


def history(table: TableHandle, limit: int | None = None) -> list[dict[str, Any]]:
    """What happened to the table, the newest first: a dict for each completed commit and service,
    also archived ones. ``limit``: the newest ones alone; each of them costs the read of a file.

    ``version`` is the number of the commit, which ``as_of`` takes (1 is the first; None for
    services that write no commit); ``instant``, ``timestamp`` (when it completed; in version 6,
    when it began), ``operation`` and ``action`` say what it was; ``inserted``, ``updated``,
    ``deleted`` count rows, ``files`` and ``bytes`` what was written.

    >>> [(entry["version"], entry["operation"]) for entry in table.history(2)]
    [(2, 'upsert'), (1, 'bulk_insert')]
    """
    source = table.source()
    numbers = {instant: at for at, instant in enumerate(numbered(source), 1)}
    done = evolve(source.timeline, instants=source.timeline.completed())
    archived = load_archived(source.storage, source.config)
    page = timeline_page(Snapshot(source.storage, done), archived, limit)
    zone = source.config.timezone
    return [
        {
            "version": numbers.get(row.requested) if named(row.action).writes else None,
            "instant": row.requested,
            "timestamp": to_datetime(row.completed or row.requested, zone),
            "operation": row.operation or row.action,
            "action": row.action,
            "inserted": row.inserted,
            "updated": row.updated,
            "deleted": row.deleted,
            "files": row.files,
            "bytes": row.bytes,
        }
        for row in page.rows
    ]


def verify(
    table: TableHandle,
    *,
    quick: bool = False,
    keys: bool = True,
    sample: int | None = None,
    progress: Progress = silent,
) -> Report:
    """Check whether the table is correct: properties, timeline, files, their bytes, record keys.
    Changes nothing. ``quick`` opens no data file, and ``keys=False`` reads no rows. With
    ``sample``, only the record keys of some file slices are read, and this number of keys is looked
    up in the table's index.

    What looks wrong while writers change the table is looked at again, up to three times."""
    try:
        in_table = table.plugins().index.is_global
    except HoodooError:
        in_table = False  # no plugin for this table's index
    whole = keys and sample is None

    def look() -> Report:
        found: Report = report(
            table, "verify", quick=quick, keys=whole, in_table=in_table, progress=progress
        )
        return found if sample is None or quick else _with_sample(table, found, sample)

    return _steady(table, look)


def _steady(table: TableHandle, look: Callable[[], Report]) -> Report:
    """What ``look`` finds, again while writers change the table: files, timeline and indexes are
    not read at one instant, so what one look has and another one has not was on its way."""
    before, found = _state(table), look()
    confirmed, unconfirmed = {(f.kind, f.obj) for f in found.findings}, 0
    for _ in range(_LOOKS):
        after = _state(table)
        if found.ok or after == before:
            break
        before, found = after, look()
        seen = {(f.kind, f.obj) for f in found.findings}
        if _state(table) == before:  # nobody has changed it: all of this look counts
            return found
        unconfirmed += len(seen ^ confirmed)
        confirmed &= seen
        kept = tuple(f for f in found.findings if (f.kind, f.obj) in confirmed)
        found = evolve(found, findings=kept)
    if not unconfirmed:
        return found
    note = (
        f"writers changed the table meanwhile: {unconfirmed} findings of one look that another one "
        "had not are left out"
    )
    return evolve(found, notes=(*found.notes, note))


def _state(table: TableHandle) -> object:
    """What changes with each write. Of one that is under way nobody can say what it has changed
    already."""
    with suppress(HoodooError):  # it is told by the looks
        table.refresh()
        timeline = table.load_timeline()
        alive = Liveness(table.storage).look().keys()
        if alive.isdisjoint(instant.requested for instant in timeline.pending()):
            return timeline.instants, dict(table.config.properties)
        return object()
    return None


def _with_sample(table: TableHandle, found: Report, sample: int) -> Report:
    try:
        asked = table.run("check_index", sample=sample)
    except (CallError, PluginError):
        raise
    except HoodooError as error:
        unasked = (Finding("index.keys", error.obj, error.rule.rstrip("."), error.fix),)
        return evolve(found, findings=in_order((*found.findings, *unasked)))
    findings: tuple[Finding, ...] = ()
    if not asked.same:
        row = asked.differences.slice(0, 1).to_pylist()[0]
        said = "is not found" if row["found_by"] == 0 else "is said to lie"
        rule = (
            f"of {asked.found[0]} record keys it says of {asked.differences.num_rows} otherwise "
            "than the files; "
            f"for example {row['record_key']!r} {said} in {row['file_id']} of "
            f"{row['partition_path']!r}"
        )
        fix = "hoodoo rebuild-index rebuilds it; hoodoo verify without --sample looks at all keys."
        findings = (Finding("index.keys", "the table's index", rule, fix),)
    checked = evolve(found.checked, keys=found.checked.keys + asked.found[0])
    return evolve(found, findings=in_order((*found.findings, *findings)), checked=checked)
