"""Location states: which record keys lie elsewhere than at an earlier moment, by the files of both
states of a table.

Where log files of a record index do not tell instants apart any more, its entries do not say what
changed since. The files do: a key whose place differs is in a file slice that differs. Only these
slices are read, of them only the record keys, and each task compares the keys of one part of all
hashes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model import brief
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import RECORD_KEY
from hoodoo.participants.travel import check_reach, view_as_of
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.log_sizes import with_committed_sizes
from hoodoo_rows.api import Batches, MergeRule, NewFiles, Reads, StoredFiles

# Bytes of files whose keys one task compares.
PART_BYTES = 256 << 20
_KEY, _PATH, _FILE = "record_key", "partition_path", "file_id"
_PLACES = pa.schema([(_KEY, pa.string()), (_PATH, pa.string()), (_FILE, pa.string())])


@frozen
class PartOfKeys:
    """The keys of slices, ``old`` and ``new`` ones, whose hash falls into ``part`` of ``parts``."""

    old: tuple[FileSlice, ...]
    new: tuple[FileSlice, ...]
    part: int
    parts: int

    @property
    def size(self) -> int:
        return sum(slice_.size for slice_ in (*self.old, *self.new)) // self.parts


@frozen
class StatesPlan:
    """See :class:`hoodoo.hookspecs.query_type.QueryPlan`. ``schema``: CHANGED_LOCATIONS."""

    table: str
    since: str
    until: str | None
    schema: pa.Schema
    units: tuple[PartOfKeys, ...]
    rule: MergeRule | None
    # With it a key may be in several partition paths.
    within_paths: bool

    def brief(self) -> str:
        slices = sum(len(unit.old) + len(unit.new) for unit in self.units[:1])
        until = f" and {self.until}" if self.until else " and now"
        return (
            f"{brief.cut(self.table)}: keys of {slices} file slices that differ between "
            f"{self.since}{until}"
        )

    def __str__(self) -> str:
        return f"changes of locations of {self.brief()}"

    def reader(self, source: ReadSource) -> StatesReader:
        return StatesReader(
            source.storage, StoredFiles.format(source), self.rule, self.schema, self.within_paths
        )


@frozen
class StatesReader:
    """See :class:`hoodoo.hookspecs.query_type.UnitReader`. Memory: the keys of one unit, and their
    places."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule | None
    schema: pa.Schema
    within_paths: bool

    def rows(self, unit: PartOfKeys) -> Iterator[pa.RecordBatch]:
        old, new = self._places(unit, unit.old), self._places(unit, unit.new)
        moved = new.join(old, _PLACES.names, join_type="left anti", use_threads=False)
        by = [_KEY, _PATH] if self.within_paths else [_KEY]
        gone = old.join(new.select(by), by, join_type="left anti", use_threads=False).select([_KEY])
        yield from self._said(moved.group_by(_PLACES.names, use_threads=False).aggregate([]))
        yield from self._said(gone.group_by([_KEY], use_threads=False).aggregate([]))

    def _places(self, unit: PartOfKeys, slices: Sequence[FileSlice]) -> pa.Table:
        return pa.Table.from_batches(self._batches(unit, slices), _PLACES)

    def _batches(self, unit: PartOfKeys, slices: Sequence[FileSlice]) -> Iterator[pa.RecordBatch]:
        for slice_ in slices:
            assert self.rule is not None
            with Batches.explained(self.storage, slice_):
                for rows in Batches.merged(self.storage, self.file_format, self.rule, slice_):
                    keys = pa.array(rows.column(RECORD_KEY), pa.string())
                    if unit.parts > 1:
                        keys = keys.filter(pc.equal(NewFiles.part_of(keys, unit.parts), unit.part))
                    where = (slice_.partition_path, slice_.file_id)
                    columns = [keys, *(pa.repeat(pa.scalar(t), len(keys)) for t in where)]
                    yield pa.record_batch(columns, schema=_PLACES)

    def _said(self, table: pa.Table) -> list[pa.RecordBatch]:
        nulls = pa.nulls(table.num_rows, pa.string())
        there = table.column_names
        columns = [table.column(n) if n in there else nulls for n in self.schema.names]
        found: list[pa.RecordBatch] = pa.table(columns, schema=self.schema).to_batches()
        return found


def plan_states(
    source: ReadSource,
    since: str,
    until: str | None,
    schema: pa.Schema,
    within_paths: bool,
    asked: tuple[str, str],
) -> StatesPlan:
    """Compare the states at two points of completion (``until`` None: now); zeros are before the
    first write. Lists directories, and opens no data file. ``asked``: how errors call the points.

    Raises ConfigError if files of one of them have been cleaned away, or its instants archived.
    """
    StoredFiles.format(source)
    old = _state(source, since, asked[0]) if since.strip("0") else ()
    new = view_as_of(source, None).slices if until is None else _state(source, until, asked[1])
    same = set(_plain(old)) & set(_plain(new))
    before, after = (tuple(s for s in _plain(state) if s not in same) for state in (old, new))
    rule = None
    if before or after:
        file_format = StoredFiles.format(source)
        _newest, stored = StoredFiles.schema(source, file_format, None, (*after, *before))
        if RECORD_KEY not in stored.names:  # virtual: made where they are read
            stored = pa.schema([pa.field(RECORD_KEY, pa.string()), *stored])
        spec = Reads.spec(stored, None, None, table=f"table {source.config.name}")
        rule = Reads.merge_rule(source, stored, spec, None, file_format).narrowed([RECORD_KEY])
        for slice_ in (*before, *after):
            StoredFiles.check(slice_, file_format)
        before, after = (with_committed_sizes(source.snapshot, s) for s in (before, after))
    size = sum(s.size for s in (*before, *after))
    parts = max(1, -(-size // PART_BYTES)) if before or after else 0
    units = tuple(PartOfKeys(before, after, part, parts) for part in range(parts))
    name = source.config.name or source.storage.root
    return StatesPlan(name, since, until, schema, units, rule, within_paths)


def _plain(slices: Iterable[FileSlice]) -> tuple[FileSlice, ...]:
    return tuple(evolve(s, log_files=s.row_logs) for s in slices)


def _state(source: ReadSource, point: str, asked: str) -> tuple[FileSlice, ...]:
    """The slices of what had been completed at ``point``. ConfigError if some of their files have
    gone."""
    check_reach(source, point, asked)
    then = tuple(
        i
        for i in source.timeline.instants
        if not i.is_completed or order_key(i.completion_order) <= point
    )
    try:
        timeline = evolve(source.timeline, instants=then)
        return view_as_of(evolve(source, timeline=timeline), point).slices
    except ConfigError as error:
        raise ConfigError(asked, error.rule, error.fix) from error
