"""A table: is it one, can it be read and written, do its writers live, and does its clock agree
with ours?"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone

from attrs import frozen
from hoodoo.errors import HoodooError, NotATableError, StorageError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo.model.findings import Finding, Found
from hoodoo.model.instant import Instant
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Storage
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.instants import to_datetime
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load
from hoodoo_rows.api import Writes

from hoodoo_cli.reports.verify.properties import check_properties
from hoodoo_cli.toolkit.show import age, count

_PROBES = ".hoodie/.hoodoo"
_SKEW = 60.0  # seconds that clocks may differ


@frozen
class TableCheck:
    """What every table has. ``options``: those of the command."""

    options: Mapping[str, str]

    @classmethod
    def from_settings(cls, settings: Settings) -> TableCheck:
        return cls(settings.options)

    def environment(self, engine: str | None) -> Found:
        return Found()

    def table(self, storage: Storage, probe: bool) -> Found:
        try:
            config, findings = check_properties(storage)
        except NotATableError as error:
            near = _tables_below(storage)
            fix = f"Give the path of a table: {', '.join(near)}." if near else error.fix
            return Found((Finding("table.none", error.obj, error.rule.rstrip("."), fix),))
        except StorageError as error:
            return Found((Finding("table.store", error.obj, error.rule.rstrip("."), error.fix),))
        kinds = {one.kind for one in findings}
        if "properties.unreadable" in kinds:  # what a backup says besides
            findings = tuple(one for one in findings if one.kind != "properties.backup")
        if config is None:
            return Found(findings, skipped=("all but the properties of the table",))
        more = [*_plugins(config, self.options)]
        notes = [f"table {config.name}: version {config.version}, {config.table_type}"]
        try:
            timeline = load(storage, config)
        except HoodooError as error:
            more.append(
                Finding(
                    "table.timeline",
                    error.obj,
                    error.rule.rstrip("."),
                    error.fix or "Run `hoodoo verify`.",
                )
            )
        else:
            more += _of_the_future(timeline)
            dead, waiting = _pending(Snapshot(storage, timeline))
            more += dead
            notes += waiting
        if probe:
            more += _probed(storage)
        return Found((*findings, *more), notes=tuple(notes))


def _tables_below(storage: Storage) -> list[str]:
    """Folders of the path that hold tables: a user has given the folder above."""
    try:
        inner = [one for one in storage.list() if one.is_dir and not one.name.startswith(".")]
        folders = [entry.path for entry in inner[:100]]
        return [f"{storage.root}/{one}" for one in folders if storage.list(f"{one}/.hoodie")][:5]
    except StorageError:
        return []


def _plugins(config: TableConfig, options: Mapping[str, str]) -> Iterator[Finding]:
    """Plugins that the table's properties name, and are not there."""
    try:
        Participants.of_table(config).refuse_unanswered(config)
        Writes.plugins(config, options, {})
    except HoodooError as error:
        fix = (
            error.fix
            or "Install the distribution that offers it: `hoodoo plugins` lists what is there."
        )
        yield Finding("table.plugins", error.obj, error.rule.rstrip("."), fix)


def _of_the_future(timeline: Timeline) -> Iterator[Finding]:
    newest = timeline.last_instant_time()
    if newest is None:
        return
    try:
        ahead = to_datetime(newest, timeline.config.timezone) - datetime.now(timezone.utc)
    except HoodooError:
        return  # no date: the timeline says so elsewhere
    if ahead.total_seconds() > _SKEW:
        yield Finding(
            "table.clock",
            f"instant {newest}",
            f"it is {age(ahead.total_seconds())} ahead of the clock of this host",
            "Set the clock of this host, and that of the host that has written it, best by NTP.",
        )


def _pending(snapshot: Snapshot) -> tuple[list[Finding], list[str]]:
    """Actions whose writer is gone, and a line on those that are at work or planned."""
    living = Liveness(snapshot.storage)
    dead: list[Finding] = []
    busy: list[Instant] = []
    planned: list[Instant] = []
    now = datetime.now(timezone.utc)
    for instant in snapshot.pending():
        if living.is_alive(instant.requested):
            busy.append(instant)
        elif instant.traits.is_service:
            planned.append(instant)
        else:
            try:
                since = now - to_datetime(instant.requested, snapshot.config.timezone)
                old = f", requested {age(max(0.0, since.total_seconds()))} ago"
            except HoodooError:
                old = ""
            dead.append(
                Finding(
                    "table.dead_writer",
                    f"instant {instant.requested}",
                    f"a pending {instant.action}{old}, whose writer gives no sign of life",
                    f"Run `hoodoo rollback {snapshot.root}`, or let the next write undo it.",
                )
            )
    notes = []
    if busy:
        notes.append(f"{count(len(busy), 'writer')} at work")
    if planned:
        plans = ", ".join(f"{one.action} {one.requested}" for one in planned)
        notes.append(f"planned, and run by the next one or by `hoodoo serve --once`: {plans}")
    return dead, notes


def _probed(storage: Storage) -> Iterator[Finding]:
    """Writes a file where there is none, tries that again, and deletes the file."""
    path = f"{_PROBES}/doctor-{uuid.uuid4().hex}"
    try:
        created = storage.put_if_absent(path, b"hoodoo doctor")
        now = time.time()
        again = storage.put_if_absent(path, b"hoodoo doctor, again")
        entry = storage.head(path)
        storage.delete(path)
    except StorageError as error:
        fix = error.fix or "Check the permissions of the folder."
        yield Finding(
            "table.write", storage.root, f"it can't be written: {error.rule.rstrip('.')}", fix
        )
        return
    if not created or again:
        yield Finding(
            "table.conditional_put",
            storage.root,
            "the store replaces a file that it was to create only if there is none: two writers "
            "would overwrite "
            "each other's commits",
            "Use a store, or a newer version of it, that has conditional puts (If-None-Match).",
        )
    if entry is not None and abs(entry.modified - now) > _SKEW:
        yield Finding(
            "table.clock",
            "clock of this host",
            f"it differs by {age(abs(entry.modified - now))} from that of the store",
            "Set the clock of this host, best by NTP.",
        )
