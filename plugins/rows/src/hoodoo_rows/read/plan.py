"""Plan: which file slices a read looks at, and in which shape their rows come out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from hoodoo.errors import ConfigError, UnsupportedTableError
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.hookspecs.registration import Settings
from hoodoo.model import brief
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import META_COLUMNS
from hoodoo.participants.listing import build
from hoodoo.participants.travel import bound_of
from hoodoo.timeline.log_sizes import with_committed_sizes
from hoodoo.timeline.view import FileSystemView

from hoodoo_rows.merge.rule import MergeRule, Visible, as_of_schema, history_of
from hoodoo_rows.merge.virtual import check_columns
from hoodoo_rows.model.filter_text import text_of
from hoodoo_rows.options import BY_ROWS
from hoodoo_rows.read.asked import asked_keys
from hoodoo_rows.read.external import external_format, listed_view
from hoodoo_rows.read.known import asked_paths, in_paths_asked, pruned
from hoodoo_rows.read.schema import hidden, stored_schema
from hoodoo_rows.read.source import check_extension, check_generator, stored_format
from hoodoo_rows.read.spec import RowSpec, row_spec
from hoodoo_rows.read.step import ReadSlices

__all__ = ["READ_OPTIMIZED", "SNAPSHOT", "ScanPlan", "plan_scan"]

SNAPSHOT, READ_OPTIMIZED = "snapshot", "read_optimized"
# How the properties begin that say how rows are merged.
_MERGING = (
    "hoodie.record.merge.",
    "hoodie.compaction.payload.",
    "hoodie.table.legacy.payload.",
    "hoodie.table.partial.update.",
)


@frozen(repr=False)
class ScanPlan:
    """A read, decided: pure data, made on the driver.

    ``as_of`` is the bound asked for, ``instant`` the newest write that is visible under it
    (None: there is none, so there are no rows). ``stored`` is the schema of the table at that
    instant, meta columns first. ``slices`` is what is left of the ``looked_at`` file slices,
    sorted by partition path and file id; ``in_paths`` of them are in partition paths that can
    have rows of the result. ``rule``: how log files are merged, None without any.
    ``file_format`` reads base files as of ``stored``.
    """

    table: str
    mode: str
    as_of: str | None
    instant: str | None
    stored: pa.Schema
    spec: RowSpec
    slices: tuple[FileSlice, ...]
    file_format: BaseFileFormat
    looked_at: int
    in_paths: int
    rule: MergeRule | None = None
    # Of an incremental read: where it begins (exclusive), and the `since` of the next one.
    since: str | None = None
    until: str | None = None
    # What counts the slices in partition paths that have not been listed.
    unlisted: Callable[[], int] = field(default=int, eq=False)

    @property
    def considered(self) -> int:
        """All slices of the table then. Where not all partition paths were looked at, the others
        are listed now."""
        return self.looked_at + self.unlisted()

    @property
    def schema(self) -> pa.Schema:
        """What the rows of the result look like."""
        return self.spec.out_schema

    @property
    def units(self) -> tuple[FileSlice, ...]:
        """What tasks read."""
        return self.slices

    def reader(self, source: ReadSource) -> ReadSlices:
        """What reads the slices, also as a step for an engine's tasks."""
        return ReadSlices(source.storage, self.file_format, self.spec, self.rule)

    @property
    def pruned_by_partition(self) -> int:
        """The number of file slices that their partition path left out."""
        return self.considered - self.in_paths

    @property
    def pruned_by_metadata(self) -> int:
        """Left out because an index or the metadata table says that they have no row of the
        result."""
        return self.in_paths - len(self.slices)

    @property
    def size(self) -> int:
        """Bytes of the files to be read, as far as the listing knows them."""
        return sum(slice_.size for slice_ in self.slices)

    def brief(self) -> str:
        """The plan in few words."""
        where = (
            f", where {brief.cut(text_of(self.spec.where))}" if self.spec.where is not None else ""
        )
        bound = f", since {self.since}" if self.since else ""
        bound += f", as of {self.as_of}" if self.as_of else ""
        files = f"{len(self.slices)} of {self.looked_at} file slices, {brief.size(self.size)}"
        return f"{brief.cut(self.table)}: {files}, {_named(self.spec.columns)}{where}{bound}"

    def __repr__(self) -> str:
        return f"<ScanPlan of {self.brief()}>"

    def __str__(self) -> str:
        """The plan for people."""
        bound = f" since {self.since}" if self.since else ""
        bound += f" as of {self.as_of}" if self.as_of else ""
        where = self.spec.where
        left_out = self.pruned_by_metadata
        told = f"{left_out} by indexes and statistics, " if left_out else ""
        lines = [
            f"{self.mode} read of {self.table}{bound}, instant {self.instant or 'none'}",
            f"  columns  {', '.join(self.spec.columns) or '(none)'}",
            f"  filter   {text_of(where) if where is not None else '(none)'}",
            f"  files    {self.considered} considered, {self.pruned_by_partition} pruned by "
            "partition, "
            f"{told}{len(self.slices)} to read ({self.size} bytes)",
        ]
        return "\n".join(lines)


def _named(columns: Sequence[str]) -> str:
    own = [name for name in columns if name not in META_COLUMNS]
    meta = " and meta columns" if len(own) < len(columns) else ""
    return f"columns {brief.some(own)}{meta}" if columns else "no columns"


def plan_scan(
    source: ReadSource,
    columns: Sequence[str] | None = None,
    where: Any = None,
    as_of: str | date | int | None = None,
    mode: str = SNAPSHOT,
    *,
    view: FileSystemView | None = None,
    rows: pc.Expression | None = None,
    meta: bool | None = None,
) -> ScanPlan:
    """Decide a read. Lists directories and reads timeline files; opens no base file, except where
    no commit and no property tells the schema, or rows may lie elsewhere than their columns say.
    ``view``: the files, where they are known. ``rows``: a filter besides ``where``. ``meta``:
    whether the meta columns come with the table's own, behind them; None: as files have them, or
    those that ``columns`` names.

    Raises SchemaError (unknown column, filter that doesn't fit), ConfigError (bad argument),
    UnsupportedTableError (a base file format, merger or key generator without a plugin, dropped
    partition columns), MissingColumnError (of virtual keys, where the schema lacks a column of
    them)."""
    if mode not in (SNAPSHOT, READ_OPTIMIZED):
        raise ConfigError(
            f"mode={mode!r}", "is not a mode of reads", f"use {SNAPSHOT} or {READ_OPTIMIZED}."
        )
    config = source.config
    bound = bound_of(source, as_of)
    file_format = stored_format(source)
    given = view is not None
    if view is None and (where is None or not source.config.partition_fields):
        view = listed_view(source, bound)
    newest, stored = stored_schema(source, file_format, bound, _every(source, bound, view))
    latest = source.timeline.latest_schema(source.storage, bound)  # read already
    file_format = as_of_schema(file_format, source.storage, latest)
    null = hidden(config)
    wanted = columns if meta is None else shown(stored, columns, meta)
    spec = row_spec(stored, wanted, where, null, f"table {config.name}")
    if rows is not None:  # after the user's own has been checked, whose errors name only that
        spec = row_spec(
            stored, spec.columns, rows if spec.where is None else spec.where & rows, null
        )
    if source.key_generator is not None and not config.populate_meta_fields:
        check_columns(source.key_generator, stored, f"table {config.name}")
        spec = evolve(spec, keys=source.key_generator)
    paths = None if view is not None else asked_paths(source, spec, stored, bound)
    found = _slices(listed_view(source, bound, paths) if view is None else view, mode)
    file_format = external_format(file_format, config, stored, found)
    kept = in_paths_asked(source, spec, file_format, found)
    in_paths = len(kept)
    if spec.where is not None and kept and not given and not moves(file_format, spec):
        kept = pruned(source, spec, stored, kept, bound, mode == SNAPSHOT)
    if any(slice_.log_files for slice_ in kept):
        kept = with_committed_sizes(source.snapshot, kept)
    for slice_ in kept:
        check_extension(slice_, file_format)
    rule = None
    if any(s.log_files for s in kept):
        rule = merge_rule(source, stored, spec, bound, file_format)
        spec = evolve(spec, asked=_asked(source, spec, file_format))
    return ScanPlan(
        table=config.name or source.storage.root,
        mode=mode,
        as_of=bound,
        instant=newest,
        stored=stored,
        spec=spec,
        slices=kept,
        file_format=file_format,
        looked_at=len(found),
        in_paths=in_paths,
        rule=rule,
        unlisted=int if paths is None else partial(_unlisted, source, bound, mode, paths),
    )


def _unlisted(source: ReadSource, bound: str | None, mode: str, paths: Collection[str]) -> int:
    every = _slices(build(source.snapshot, bound), mode)
    return sum(s.partition_path not in paths for s in every)


def _every(
    source: ReadSource, bound: str | None, view: FileSystemView | None
) -> Iterator[FileSlice]:
    yield from (listed_view(source, bound) if view is None else view).slices


def shown(stored: pa.Schema, columns: Sequence[str] | None, meta: bool) -> Sequence[str]:
    """``columns``, or those of the table's own; with ``meta`` all meta columns behind them."""
    if isinstance(columns, str):  # to be refused
        return columns
    own = [n for n in stored.names if n not in META_COLUMNS] if columns is None else columns
    return [*own, *(n for n in META_COLUMNS if meta and n not in own)]


def narrowed(
    source: ReadSource,
    plan: ScanPlan,
    columns: Sequence[str] | None = None,
    where: pc.Expression | None = None,
) -> ScanPlan:
    """``plan`` with ``columns`` instead of its own, and of its rows those of which ``where`` is
    true. Opens no base file but as :func:`plan_scan` does. SchemaError as there."""
    base, kept, rule = plan.spec, plan.slices, plan.rule
    both = base.where if where is None else where if base.where is None else base.where & where
    named = base.columns if columns is None else columns
    spec = row_spec(plan.stored, named, both, hidden(source.config))
    spec = evolve(spec, keys=base.keys, timed=base.timed)
    if where is not None and kept:
        kept = in_paths_asked(source, spec, plan.file_format, kept)
    in_paths = plan.in_paths - len(plan.slices) + len(kept)
    given = plan.until is not None  # pruners know the table at an instant
    if where is not None and kept and not given and not moves(plan.file_format, spec):
        kept = pruned(source, spec, plan.stored, kept, plan.as_of, plan.mode == SNAPSHOT)
    if rule is not None:
        whole = MergeRule.of(
            plan.stored,
            source.config,
            rule.merger,
            rule.visible,
            source.key_generator,
            plan.file_format,
        )
        rule = evolve(whole.narrowed(spec.schema.names), by_rows=rule.by_rows)
        spec = evolve(spec, asked=_asked(source, spec, plan.file_format))
    return evolve(plan, spec=spec, slices=kept, in_paths=in_paths, rule=rule)


def _asked(
    source: ReadSource, spec: RowSpec, file_format: BaseFileFormat
) -> tuple[str, ...] | None:
    """The record keys that the filter asks for, for files that store them."""
    keys = source.key_generator
    if spec.where is None or keys is None or spec.keys is not None or moves(file_format, spec):
        return None
    found = asked_keys(spec.where, spec.schema, keys)
    return None if found is None else tuple(found.to_pylist())


def merge_rule(
    source: ReadSource,
    stored: pa.Schema,
    spec: RowSpec,
    bound: str | None,
    file_format: BaseFileFormat,
) -> MergeRule:
    """How log files are merged for ``spec``, as of ``bound``, beside base files of ``file_format``.
    UnsupportedTableError without a plugin."""
    config = source.config
    if source.merger is None:
        merging = (f"{k}={v}" for k, v in config.properties.items() if k.startswith(_MERGING))
        raise UnsupportedTableError(
            f"table {config.name}",
            "no installed plugin of the family merger offers the merger that its properties name "
            f"({', '.join(merging)})",
            'install such a plugin, or read with mode="read_optimized" (without the log files).',
        )
    if not config.populate_meta_fields:
        check_generator(source)
    visible = Visible.of(source.timeline, bound)
    whole = MergeRule.of(stored, config, source.merger, visible, source.key_generator, file_format)
    by_rows = Settings(config, source.options).value(BY_ROWS)
    return evolve(whole.narrowed(spec.schema.names), by_rows=by_rows)


def moves(file_format: BaseFileFormat, spec: RowSpec) -> bool:
    """Whether some column of the filter has another name in older files: what is stored of columns
    elsewhere, by their names, does not count then."""
    history = history_of(file_format)
    return history is not None and any(map(history.moves, spec.where_columns))


def _slices(view: FileSystemView, mode: str) -> tuple[FileSlice, ...]:
    if mode == READ_OPTIMIZED:
        return tuple(evolve(s, log_files=()) for s in view.slices if s.base_file is not None)
    return tuple(evolve(s, log_files=s.row_logs) if s.log_files else s for s in view.slices)
