"""The order of the steps: a crash at any leaves a whole table of the old or the new version.

A restore to the newest write, which undoes nothing, is requested first: from then on no write can
complete, and whoever comes after a crash finishes it and goes on. Then the new timeline is made
beside the old one. The properties decide; the old timeline stays until the call is repeated, so
that a reader who had read the old properties finds it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from attrs import frozen
from hoodoo.actions.rollback.recovery import recover
from hoodoo.actions.rollback.run import rollback
from hoodoo.errors import CommitConflictError, UnsupportedTableError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.model.config import BUILT_METADATA, USABLE_METADATA, TableConfig
from hoodoo.model.instant import Instant
from hoodoo.model.table_version import VERSIONS
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Storage, get_if_there
from hoodoo.table.handle import TableHandle
from hoodoo.timeline import properties, publish
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.heartbeat import Beating, Liveness
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.ledger import settled
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load, reload

from hoodoo_versions import timelines
from hoodoo_versions.outcome import VersionChange
from hoodoo_versions.settings import Meaning, changes, in_version, path_between

_METADATA = ".hoodie/metadata"
_DEFINITIONS = ".hoodie/.index_defs/index.json"
_SCHEMAS = ".hoodie/.schema"
_OWN = ("hoodoo.metadata.partitions", "hoodoo.metadata.partitions.inflight")
_OF_LAYOUT_2 = ("partition_stats", "secondary_index_", "expr_index_")
_DROPPED = "hoodie.metadata.index.drop"
_RECORD_INDEX = "record_index"
_BOOTSTRAP = "hoodie.bootstrap.base.path"
_FENCE = "restore"


@frozen
class Planned:
    """``gone``: partitions of the metadata table that the new version does not have."""

    before: TableConfig
    after: TableConfig
    gone: tuple[str, ...]
    lost: tuple[str, ...]
    steps: tuple[str, ...]

    @property
    def moves(self) -> bool:
        """Whether the timeline changes its layout."""
        return self.before.layout_version != self.after.layout_version

    @property
    def outcome(self) -> VersionChange:
        return VersionChange(self.before.version, self.after.version, self.steps, self.lost)


def plan(table: TableHandle, to: int) -> Planned:
    """What :func:`run` does. Changes nothing."""
    config = table.config
    _refuse_unknown(table)
    after = in_version(config, to, Meaning.of(table))
    moves = config.layout_version != after.layout_version
    logs = moves and _has_logs(table)
    gone = _gone(table, after)
    lost = _lost(config, after, gone, hasattr(table.storage, "set_modified"))
    return Planned(config, after, gone, lost, _steps(config, after, gone, logs))


def dry_run(table: TableHandle, to: int) -> VersionChange:
    """What :func:`run` would do, and what would be lost. Raises its refusals, as far as they can be
    seen now."""
    if to == table.config.version:
        return VersionChange(to, to)
    for instant in table.timeline().pending():
        if instant.traits.is_service and not instant.traits.begins_slices:
            raise _pending(table.storage, instant)
    return plan(table, to).outcome


def run(table: TableHandle, to: int) -> VersionChange:
    """Give ``table`` the version ``to``. Raises UnsupportedTableError and ConfigError for what
    can't be, and CommitConflictError where others are at work; then the table is as it was."""
    table.check_writable()
    told = plan(table, to)  # what can't be is refused before anything is done
    recover(table.storage, table.config)
    if told.moves:
        _compact(table)
    table.refresh()
    planned = plan(table, to)
    if planned.gone:
        _drop(table, planned.gone)
    with Beating(table.storage) as beats:
        timeline = settled(table.storage, table.config)
        fence = _fence(table, timeline, beats)
        try:
            _switch(table, planned, reload(table.storage, timeline), fence)
        except Exception:
            if properties.load(table.storage).version == planned.before.version:
                publish.withdraw(Snapshot(table.storage, timeline), fence)
                table.refresh()
            raise
        if not planned.moves:
            publish.withdraw(Snapshot(table.storage, table.load_timeline()), fence)
    table.participants.repair()
    return VersionChange(told.before.version, to, told.steps, told.lost, done=True)


def finish(table: TableHandle) -> None:
    """Of a table that has the version: do what a process that ended right after the decision has
    left, and delete the timeline of before. CommitConflictError where another process gives the
    table another version."""
    table.check_writable()
    storage, config = table.storage, table.config
    recover(storage, config)
    others = [o for o in VERSIONS.values() if o.layout != config.layout_version]
    left = [
        TableConfig({**config.properties, **o.properties, "hoodie.table.version": str(o.number)})
        for o in others
    ]
    if any(map(partial(timelines.exists, storage), left)):
        with Beating(storage) as beats:
            timeline = settled(storage, config)
            fence = _fence(table, timeline, beats)
            try:
                _remove(table, left)
            finally:
                publish.withdraw(Snapshot(storage, timeline), fence)
    table.participants.repair()


def _remove(table: TableHandle, left: Sequence[TableConfig]) -> None:
    """Delete the timelines ``left`` of other versions: no process changes the version meanwhile."""
    storage, now = table.storage, properties.load(table.storage)
    if now.version != table.config.version:
        raise CommitConflictError(
            f"table {now.name}", f"has got version {now.version} meanwhile.", "Repeat the call."
        )
    live = load(storage, now)
    for before in left:
        _undo_late(live, storage, load(storage, table.participants.each.hidden(before)))
        timelines.remove(storage, before)


def _undo_late(live: Timeline, storage: Storage, before: Timeline) -> None:
    """Roll back the writes that came to the timeline ``before`` right before the decision. They
    can't complete, and nobody else knows of their files. What the ``live`` timeline has is a copy
    that another process has left half made."""
    known = {instant.requested for instant in live.instants}
    for instant in reversed(before.pending()):
        requested = instant.requested
        if requested in known or live.contains_or_before_start(requested):
            continue
        if instant.traits.is_undone:
            if Liveness(storage).is_alive(requested):
                raise _pending(storage, instant)
            rollback(Snapshot(storage, before), instant)


def _switch(table: TableHandle, planned: Planned, seen: Timeline, fence: Instant) -> None:
    storage = table.storage
    # Rebuilt afterwards: its files are those of a table of the version, too.
    table.use_properties(table.participants.each.retire(storage, table.config))
    storage.delete_prefix(_METADATA)
    meaning = Meaning.of(table)

    def now(old: TableConfig) -> TableConfig:
        return in_version(old, planned.after.version, meaning)

    if planned.moves:
        new = timelines.build(storage, seen, now(table.config), fence.requested)
        timelines.refuse_other_view(storage, seen, new)
    if {*reload(storage, seen).instants} != {*seen.instants}:
        raise CommitConflictError(
            f"table {table.config.name}",
            "another process has planned something meanwhile.",
            "Repeat the call when it has ended.",
        )
    config = properties.update(storage, table.config, lambda old: changes(old, now(old)))
    table.use_properties(config)


def _fence(table: TableHandle, timeline: Timeline, beats: Beating) -> Instant:
    storage = table.storage

    def check(fresh: Timeline) -> None:
        for instant in fresh.pending():
            raise _pending(storage, instant)

    check(timeline)
    writes = timeline.writes()
    record = {
        "instantsToRollback": [],
        "version": 2,
        "savepointToRestoreTimestamp": writes[-1].requested if writes else "",
    }
    content = codec_avro.encode("HoodieRestorePlan", record)
    return publish.request(
        Snapshot(storage, timeline), _FENCE, content, check=check, named=beats.add
    )


def _pending(storage: Storage, instant: Instant) -> CommitConflictError:
    return CommitConflictError(
        f"{storage.root}: {instant}",
        "is pending: the version changes between actions.",
        "Wait for its end, run the plan, or undo it with table.rollback(instant).",
    )


def _refuse_unknown(table: TableHandle) -> None:
    config = table.config
    if config.get(_BOOTSTRAP):
        raise UnsupportedTableError(
            f"table {config.name}",
            f"is bootstrapped ({_BOOTSTRAP}), which is not converted.",
            "use Spark Hudi (CALL upgrade_table, downgrade_table).",
        )
    if any(e.name.endswith(".schemacommit") for e in table.storage.list(_SCHEMAS)):
        raise UnsupportedTableError(
            f"table {config.name}",
            f"has renamed, dropped or moved columns, whose history ({_SCHEMAS}) is not converted.",
            "copy the rows into a new table, or use Spark Hudi.",
        )


def _has_logs(table: TableHandle) -> bool:
    return any(one.log_files for one in table.newest_slices()[1])


def _compact(table: TableHandle) -> None:
    """Until no newest slice has log files: a compaction that was planned before may have left
    some."""
    if table.config.table_type != "MERGE_ON_READ":
        return
    for _ in range(3):
        if not _has_logs(table):
            return
        table.run("compaction", strategy="unbounded")
    if _has_logs(table):
        raise CommitConflictError(
            f"table {table.config.name}",
            "has log files after a compaction, as somebody writes or plans.",
            "Stop the writers, run or cancel what is pending, and repeat the call.",
        )


# --- the metadata table ---------------------------------------------------------------------------
def _partitions(config: TableConfig, *keys: str) -> tuple[str, ...]:
    texts = [config.get(key) or "" for key in keys]
    return tuple(p.strip() for text in texts for p in text.split(",") if p.strip())


def _gone(table: TableHandle, after: TableConfig) -> tuple[str, ...]:
    config = table.config
    hudis = _partitions(config, USABLE_METADATA, BUILT_METADATA)
    own = _partitions(config, *_OWN)
    if not layout_of(after).log_names_slice:
        return ()
    _refuse_own_index(table, after)
    gone = [p for p in hudis if p.startswith(_OF_LAYOUT_2)]
    if _RECORD_INDEX in hudis and _is_partitioned(table.storage):
        gone.append(_RECORD_INDEX)
    return tuple(dict.fromkeys((*gone, *own)))


def _refuse_own_index(table: TableHandle, after: TableConfig) -> None:
    config, name = table.config, table.config.index_name
    offer = None if name is None else kernel().find("index", name)
    if offer is None or table.participants.each.store_of(offer.name) is None:
        return
    plain = offer.name == _RECORD_INDEX and config.populate_meta_fields
    if not plain:
        # A key may lie in several partition paths, unless the index is global.
        other = "global_simple" if table.plugins().index.is_global else "simple"
        raise UnsupportedTableError(
            f"table {config.name}",
            f"has the index {offer.name}, which lies in the metadata table, and tables of version "
            f"{after.version} have none such.",
            f"give it another index first: table.switch_index('{other}').",
        )


def _is_partitioned(storage: Storage) -> bool:
    with suppress(ValueError, AttributeError):
        told = json.loads(get_if_there(storage, _DEFINITIONS) or b"{}")
        one = (told.get("indexDefinitions") or {}).get("record_index") or {}
        return str((one.get("indexOptions") or {}).get("isPartitioned", "")).lower() == "true"
    return False


def _drop(table: TableHandle, gone: tuple[str, ...]) -> None:
    """By the option that drops partitions before a write: who keeps them deletes them whole."""
    # What Hoodoo does not keep, such as secondary indexes of Spark, goes before any write.
    table.participants.drop_stale()
    there = _partitions(table.config, USABLE_METADATA, BUILT_METADATA, *_OWN)
    if left := [p for p in gone if p in there]:
        settings = Settings(table.config, {**table.options, _DROPPED: ",".join(left)})
        table.use_properties(Participants.of(settings).stale(table.storage, table.config))


# --- words ----------------------------------------------------------------------------------------
def _steps(
    config: TableConfig, after: TableConfig, gone: tuple[str, ...], logs: bool
) -> tuple[str, ...]:
    moves = config.layout_version != after.layout_version
    mine = _partitions(config, USABLE_METADATA, BUILT_METADATA, *_OWN)
    kept = [p for p in mine if p not in gone]
    said: list[tuple[object, str]] = [
        (True, "undo the writes of processes that have died"),
        (logs, "compact every file slice that has log files"),
        (gone, f"drop the partitions {', '.join(gone)} of the metadata table"),
        (True, "let no writer begin until the version has changed"),
        (kept, "delete the metadata table"),
        (moves, f"write the timeline, and the archived one, in layout {after.layout_version}"),
    ]
    steps = [text for holds, text in said if holds]
    path = " to ".join(
        str(n)
        for n in (config.version, *(n for _, n in path_between(config.version, after.version)))
    )
    steps.append(f"change the properties from version {path}")
    if kept:
        steps.append(f"build the metadata table again: {', '.join(sorted(kept))}")
    return tuple(steps)


def _lost(
    config: TableConfig, after: TableConfig, gone: tuple[str, ...], sets_times: bool
) -> tuple[str, ...]:
    """``sets_times``: whether the store sets the times of files."""
    down = after.version < config.version
    moves = config.layout_version != after.layout_version
    on_read = config.table_type == "MERGE_ON_READ"
    said: list[tuple[object, str]] = [
        (gone, f"indexes that version {after.version} does not have: {', '.join(gone)}"),
        (
            moves and down,
            "the times at which writes completed: from now on requested times order them",
        ),
        (
            moves and down and on_read,
            "time travel of Hudi 0.x to older states: it takes each log file for a slice",
        ),
        (
            moves and down and on_read and not sets_times,
            "older log files in their slices, for Spark Hudi 1.x: it goes by times of files, which "
            "this store does not set. Clean the older slices before it reads",
        ),
    ]
    return tuple(text for holds, text in said if holds)
