"""Plan of a change read: for every commit, what it touched, before and after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.kernel.log_files import log_files
from hoodoo.model import brief
from hoodoo.model.commit import CommitMetadata, WriteStat
from hoodoo.model.filegroup import FileSlice, LogFile, path_of
from hoodoo.model.instant import Instant
from hoodoo.model.meta import COMMIT_TIME, RECORD_KEY, without_meta
from hoodoo.participants.listing import is_known
from hoodoo.participants.lost import refuse_lost
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.log_sizes import with_committed_sizes
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import DataFile, from_files
from hoodoo_rows.api import MergeRule, Reads, RowSpec, StoredFiles
from hoodoo_rows.model.filter_text import text_of

from hoodoo_history.changes.change_data import has_after, noted
from hoodoo_history.changes.compare import Comparison
from hoodoo_history.changes.unit import DELETE, INSERT, UPDATE, ChangeSpec, ChangeUnit
from hoodoo_history.cleaned import CleanedFiles, Key, check_stats, cleaned, is_to_come
from hoodoo_history.window import (
    TimelineRange,
    appeared,
    check_commit_times,
    is_change,
    place,
    upto,
)

# Bytes of files that one task compares, where it need not be one file group.
UNIT_BYTES = 256 << 20


@frozen(repr=False)
class ChangesPlan:
    """A change read, decided: pure data, made on the driver. ``units`` are in the order of the
    commits; ``until`` is the ``since`` of the next read."""

    table: str
    since: str
    until: str
    stored: pa.Schema
    spec: ChangeSpec
    units: tuple[ChangeUnit, ...]
    commits: tuple[str, ...]
    file_format: BaseFileFormat
    rule: MergeRule | None = None

    @property
    def schema(self) -> pa.Schema:
        return self.spec.out_schema

    @property
    def size(self) -> int:
        return sum(unit.size for unit in self.units)

    def reader(self, source: ReadSource) -> Comparison:
        file_format = _keyed_format(source, self.file_format)
        logs = StoredFiles.logs_of_schema(log_files(), self.file_format)
        return Comparison(source.storage, file_format, self.spec, self.rule, logs)

    def brief(self) -> str:
        """The plan in few words."""
        where = (
            f", where {brief.cut(text_of(self.spec.where))}" if self.spec.where is not None else ""
        )
        count = len(self.commits)
        commits = (
            f"{count} commit{'' if count == 1 else 's'} since {self.since}, {brief.size(self.size)}"
        )
        return f"{brief.cut(self.table)}: {commits}, columns {brief.some(self.spec.images)}{where}"

    def __repr__(self) -> str:
        return f"<ChangesPlan of {self.brief()}>"

    def __str__(self) -> str:
        lines = [
            f"changes of {self.table} since {self.since} up to {self.until}",
            f"  columns  {', '.join(self.spec.images) or '(none)'}",
            f"  filter   {'(none)' if self.spec.where is None else text_of(self.spec.where)}",
            f"  commits  {len(self.commits)}, in {len(self.units)} units ({self.size} bytes)",
        ]
        return "\n".join(lines)


@frozen
class Changes:
    """The query type."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Changes:
        return cls()

    def plan(
        self,
        source: ReadSource,
        since: str | date | int,
        until: str | date | int | None = None,
        columns: Sequence[str] | None = None,
        where: Any = None,
    ) -> ChangesPlan:
        return plan_changes(source, since, until, columns, where)


def plan_changes(
    source: ReadSource,
    since: str | date | int,
    until: str | date | int | None = None,
    columns: Sequence[str] | None = None,
    where: Any = None,
) -> ChangesPlan:
    """Decide a change read of the commits in (``since``, ``until``]; opens no data file.

    ``columns``: those of the images, by default the table's own. ``where`` is asked of both images,
    and a change is given where one matches. Costs one listing and the metadata of the commits.

    Raises as :func:`~hoodoo_history.incremental.plan_incremental` does; here the state before each
    of the commits must be there, too."""
    StoredFiles.format(source)
    check_commit_times(source)
    window = TimelineRange.of(source, since, until)
    schema_of = evolve(source, timeline=window.then) if window.then.writes() else source
    file_format = StoredFiles.format(schema_of)
    _newest, stored = StoredFiles.schema(schema_of, file_format, None, ())
    if RECORD_KEY not in stored.names:  # virtual: made where rows before and after are compared
        stored = pa.schema([pa.field(RECORD_KEY, pa.string()), *stored])
    images = tuple(without_meta(stored).names) if columns is None else tuple(columns)
    asked = Reads.spec(stored, images, where, table=f"table {source.config.name}")
    timed = not source.config.populate_meta_fields
    spec = ChangeSpec(_read_spec(stored, asked, timed), images, asked.where, asked.where_columns)
    history = CleanedFiles.of(evolve(source, timeline=window.timeline))
    if not is_known(source.timeline):
        bound = window.then.layout.request_bound(window.until)
        state = from_files(Snapshot(source.storage, window.then), history.files, bound)
        refuse_lost(Snapshot(source.storage, window.then), state, bound)
    planner = _Planner(source, window, history, history.by_group(), spec, f"since={since!r}")
    units = _by_partition(planner.units(), asked, source)
    for unit in units:
        for slice_ in (*unit.old, *unit.new):
            StoredFiles.check(slice_, file_format)
    logged = any(s.log_files for u in units for s in (*u.old, *u.new))
    return ChangesPlan(
        table=source.config.name or source.storage.root,
        since=window.since,
        until=window.end,
        stored=stored,
        spec=spec,
        units=tuple(units),
        commits=tuple(dict.fromkeys(unit.instant for unit in units)),
        file_format=file_format,
        rule=Reads.merge_rule(schema_of, stored, spec.rows, None, file_format) if logged else None,
    )


def _keyed_format(source: ReadSource, found: BaseFileFormat) -> BaseFileFormat:
    """The format of the base files with their record keys, which are made where they are virtual.
    UnsupportedTableError where no plugin offers the key generator."""
    if source.config.populate_meta_fields:
        return found
    return StoredFiles.with_keys(found, StoredFiles.key_generator(source))


def _read_spec(stored: pa.Schema, asked: RowSpec, timed: bool) -> RowSpec:
    names = {*asked.columns, *asked.where_columns, RECORD_KEY, COMMIT_TIME}
    schema = pa.schema([f for f in stored if f.name in names])
    return RowSpec(schema, tuple(schema.names), timed=timed)


def _by_partition(
    units: Iterable[ChangeUnit], asked: RowSpec, source: ReadSource
) -> list[ChangeUnit]:
    found = list(units)
    gone = StoredFiles.outside(source, (unit.partition_path for unit in found), asked)
    if not gone or not Reads.rows_follow_columns(source.snapshot):
        return found
    return [unit for unit in found if unit.partition_path not in gone]


@frozen
class _Planner:
    source: ReadSource
    window: TimelineRange
    history: CleanedFiles
    files: Mapping[Key, Sequence[DataFile]]
    spec: ChangeSpec
    asked: str

    def units(self) -> Iterator[ChangeUnit]:
        before = upto(self.window.timeline, self.window.since)
        known = list(appeared(before.writes()))
        for instant in self.window.writes:
            metadata = self.window.timeline.metadata(self.source.storage, instant)
            known.append(instant)
            after = evolve(before, instants=_by_request(known))
            if is_change(instant, metadata, self.source.config):
                yield from self._of_commit(instant, metadata, before, after)
            before = after

    def _of_commit(
        self, instant: Instant, metadata: CommitMetadata, before: Timeline, after: Timeline
    ) -> list[ChangeUnit]:
        stats: dict[Key, list[WriteStat]] = {}
        for stat in metadata.stats:
            if not is_to_come(stat, after, self.history):
                stats.setdefault((stat.partition_path, stat.file_id), []).append(stat)
        replaced = metadata.replaced_groups
        # Of version 6 a clustering that was requested before counts first, and its groups have the
        # rows, too.
        for key in self._replaced(after, stats.keys() - replaced):
            del stats[key]
        logged = self._logged(instant, metadata, stats, after)
        old = self._slices(before, stats.keys() | replaced, _just_before(instant))
        new = self._slices(after, stats.keys(), instant.requested)
        for key, written in stats.items():
            check_stats(self.history, after, new.get(key), written, self.asked)
            _check_before(self.history, old.get(key), written, self.asked)
        for path, file_id in sorted(replaced - old.keys()):
            if not self.files.get((path, file_id)):  # the clean that took them all may be archived
                raise cleaned(self.asked, path_of(path, file_id))
        together: dict[str, list[Key]] = {}
        for key in sorted(stats.keys() | replaced):
            # A key that was in a replaced group may be in any new one of its partition path.
            name = key[0] if metadata.replaced.get(key[0]) else "/".join(key)
            together.setdefault(name, []).append(key)
        whole = [self._unit(instant, keys, old, new) for keys in together.values()]
        whole = [unit for unit in whole if unit.old or unit.new] + logged
        if bool(replaced) or any(s.num_deletes for s in metadata.stats):
            whole = _ordered(whole)
        return [part for unit in whole for part in _parts(unit)]

    def _logged(
        self,
        instant: Instant,
        metadata: CommitMetadata,
        stats: dict[Key, list[WriteStat]],
        after: Timeline,
    ) -> list[ChangeUnit]:
        """Units of file groups whose change data logs say it all; these are taken out of
        ``stats``."""
        config = self.source.config
        units = []
        for key in sorted(stats):
            logs = None if metadata.replaced.get(key[0]) else noted(config, self.spec, stats[key])
            if logs:
                written = stats.pop(key)
                new: dict[Key, FileSlice] = {}
                if not has_after(config):
                    new = self._slices(after, [key], instant.requested)
                    check_stats(self.history, after, new.get(key), written, self.asked)
                self._check_logs(logs)
                units.append(evolve(self._unit(instant, [key], {}, new), logs=logs))
        return units

    def _check_logs(self, logs: Iterable[LogFile]) -> None:
        there = {file.path for file in self.history.files} - self.history.gone.keys()
        for log in logs:
            if log.path not in there:
                raise self.history.missing(log.path, self.asked)

    def _replaced(self, timeline: Timeline, keys: Iterable[Key]) -> list[Key]:
        view = from_files(Snapshot(self.source.storage, timeline), self._files(keys))
        return [key for key in keys if view.replaced_by(*key) is not None]

    def _files(self, keys: Iterable[Key]) -> tuple[DataFile, ...]:
        return tuple(file for key in keys for file in self.files.get(key, ()))

    def _slices(self, timeline: Timeline, keys: Iterable[Key], bound: str) -> dict[Key, FileSlice]:
        files = self._files(keys)
        as_of = timeline.layout.request_bound(bound)
        slices = from_files(Snapshot(self.source.storage, timeline), files, as_of).slices
        slices = tuple(evolve(s, log_files=s.row_logs) for s in slices)
        self.history.check(slices, self.asked)
        if any(s.log_files for s in slices):
            slices = with_committed_sizes(
                Snapshot(self.source.storage, self.window.timeline), slices
            )
        return {(s.partition_path, s.file_id): s for s in slices}

    def _unit(
        self,
        instant: Instant,
        keys: Iterable[Key],
        old: Mapping[Key, FileSlice],
        new: Mapping[Key, FileSlice],
    ) -> ChangeUnit:
        keys = list(keys)
        return ChangeUnit(
            instant=instant.requested,
            completed=place(instant),
            partition_path=keys[0][0],
            old=tuple(old[key] for key in keys if key in old),
            new=tuple(new[key] for key in keys if key in new),
            # Of version 6 only: requests are what counts, so the one before this is the state
            # before.
            before=_just_before(instant),
        )


def _check_before(
    history: CleanedFiles, old: FileSlice | None, written: Iterable[WriteStat], asked: str
) -> None:
    """ConfigError where the file that a commit rewrote or added to is gone: the clean that took it
    may be archived."""
    if old is not None and old.base_file is not None:
        return
    for stat in written:
        rewritten = stat.log_version is None and stat.prev_commit not in ("", "null")
        name = stat.base_file if stat.log_version is not None else stat.prev_base_file
        if name:
            raise history.missing(path_of(stat.partition_path, name), asked)
        if rewritten and old is None:
            raise cleaned(asked, path_of(stat.partition_path, stat.file_id))


def _just_before(instant: Instant) -> str:
    return f"{int(order_key(instant.requested)) - 1:017d}"


def _by_request(writes: Iterable[Instant]) -> tuple[Instant, ...]:
    return tuple(sorted(writes, key=lambda i: (order_key(i.requested), i.action)))


def _ordered(units: list[ChangeUnit]) -> list[ChangeUnit]:
    """Where one commit may have moved a row to another file group: its deletes before its inserts,
    so that who applies the changes by record key alone, in order, gets the new state."""
    if len(units) < 2:
        return units
    first = [evolve(unit, ops=(DELETE,)) for unit in units if unit.old or unit.logs]
    rest = [evolve(unit, ops=(UPDATE, INSERT)) for unit in units if unit.new or unit.logs]
    return first + rest


def _parts(unit: ChangeUnit) -> list[ChangeUnit]:
    """A replacing commit's partition path is compared in as many turns as its size asks for."""
    groups = max(len(unit.old), len(unit.new))
    parts = 1 if groups < 2 or not (unit.old and unit.new) else -(-unit.size // UNIT_BYTES)
    return [evolve(unit, part=part, parts=parts) for part in range(max(1, parts))]
