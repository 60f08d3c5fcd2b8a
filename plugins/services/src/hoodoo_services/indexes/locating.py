"""Locate: where the rows of some keys lie, now or at an older moment (RFC-08's lookup, for
everybody)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.index import COMPUTED, KEYS_SCHEMA, LOCATIONS_SCHEMA
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import RECORD_KEY, with_meta
from hoodoo.model.payload import pack_slices
from hoodoo.participants.travel import bound_of, view_as_of
from hoodoo_rows.api import ArrivingRows, KeyLookup, MergeRule, Visible, Writes, WriteTarget

from hoodoo_services.indexes.lookup import KEYED, locations_of

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

# ``instant``: of the file slice, by which it is named.
LOCATED = LOCATIONS_SCHEMA.append(pa.field("instant", pa.string()))


@frozen
class LocateKeys:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once, and changes nothing."""

    @classmethod
    def from_settings(cls, settings: Settings) -> LocateKeys:
        return cls()

    def run(
        self,
        table: TableHandle,
        keys: Any,
        as_of: str | date | int | None = None,
        index: Any = None,
        engine: str | Engine | None = None,
    ) -> pa.Table:
        if as_of is not None and index is not None:
            raise ConfigError(
                f"index={index!r} with as_of",
                "asks an index of a moment that it does not know.",
                "Leave index out: the files of that moment are read.",
            )
        target = table.write_target(None, engine or table.default_engine, looks=True)
        asked, anywhere = _asked(target, keys)
        if as_of is not None:
            source = evolve(table.source(), timeline=target.timeline)
            bound = bound_of(source, as_of)
            slices = view_as_of(source, bound).slices
            found = living(target, slices, asked, anywhere, bound)
            return _with_instants(found, slices)
        chosen = target.index
        if index is not None:
            found_index = resolve("index", index, table.settings)
            chosen = found_index.instance
            if anywhere and not chosen.is_global:
                raise ConfigError(
                    f"index {found_index.ref.name}",
                    "looks for a key in its partition path, and the keys do not say which it is.",
                    f"Give the columns {', '.join(target.generator.partition_fields)} too, or name "
                    "a global index.",
                )
        elif anywhere and not chosen.is_global:
            # A key may be in several partition paths, and indexes that look everywhere find one
            # place of each.
            return _with_instants(living(target, target.slices, asked, True, None), target.slices)
        found = locations_of(target, chosen, target.engine.source(asked))
        return _with_instants(_alive(target, chosen, found), target.slices)


def _asked(target: WriteTarget, keys: Any) -> tuple[pa.Table, bool]:
    """The keys asked for (KEYED), each once; and whether they do not say in which partition
    path."""
    data = ArrivingRows.known_data(keys, target.schema, target.config.record_key_fields)
    source, generator = target.engine.source(data), target.generator
    parts = generator.partition_fields
    anywhere = not all(ArrivingRows.has_column(source.schema, name) for name in parts)
    fixed = (*generator.record_key_fields, *parts)
    needed = generator.record_key_fields if anywhere else fixed
    source = target.engine.map(source, ArrivingRows.Only.of(source.schema, tuple(needed)))
    schema = ArrivingRows.target_schema(
        target.schema,
        source.schema,
        fixed,
        needed,
        target.options,
        target.config.ordering_fields,
        some=True,
    )
    conformed = target.engine.map(source, ArrivingRows.Conform(schema, target.options))
    step = ArrivingRows.AddKeys.of(
        schema, generator, Writes.DELETE, "", target.config.keys_are_strict
    )
    keyed = target.engine.map(
        target.engine.map(conformed, step), ArrivingRows.KeysOnly(KEYS_SCHEMA)
    )
    found = target.engine.collect(keyed).group_by(KEYS_SCHEMA.names).aggregate([])
    return found.select(KEYS_SCHEMA.names).rename_columns(KEYED.names), anywhere


def _alive(target: WriteTarget, index: Any, found: pa.Table) -> pa.Table:
    """``found`` without rows that are gone: an index may name keys that have none (:func:`unsure`),
    and what is computed is there or not."""
    groups = found.group_by(["partition_path", "file_id"]).aggregate([]).to_pylist()
    named = {(group["partition_path"], group["file_id"]) for group in groups}
    asked = target.slices if isinstance(index, COMPUTED) else KeyLookup.unsure(target, index)
    doubtful = tuple(s for s in asked if (s.partition_path, s.file_id) in named)
    if not doubtful:
        return found
    ids = pa.array([s.file_id for s in doubtful], pa.string())
    keys = found.select(["record_key", "partition_path"]).rename_columns(KEYED.names)
    there = living(target, doubtful, keys, False, None)
    sure = found.filter(pc.invert(pc.is_in(found.column("file_id"), value_set=ids)))
    return pa.concat_tables([sure.select(LOCATIONS_SCHEMA.names), there])


def living(
    target: WriteTarget,
    slices: Sequence[FileSlice],
    asked: pa.Table,
    anywhere: bool,
    bound: str | None,
) -> pa.Table:
    """LOCATIONS_SCHEMA of the rows of ``slices`` whose keys are ``asked`` (KEYED), as of
    ``bound``."""
    paths = set(asked.column(KEYED.names[1]).to_pylist())
    chosen = [s for s in slices if anywhere or target.index.is_global or s.partition_path in paths]
    if not chosen:
        return LOCATIONS_SCHEMA.empty_table()
    engine, stored = target.engine, with_meta(target.schema)
    visible = Visible.of(target.timeline, bound)
    rule = MergeRule.of(
        stored, target.config, target.merger, visible, target.generator, target.file_format
    )
    wanted = engine.side(asked.rename_columns(KEYS_SCHEMA.names))
    rule = evolve(rule.narrowed([RECORD_KEY]), by_rows=target.by_rows)
    step = KeyLookup.LivingRows(target.storage, target.file_format, rule, wanted)
    found = engine.collect(engine.map(engine.tasks([pack_slices([s]) for s in chosen]), step))
    if not anywhere and not target.index.is_global:
        known = asked.rename_columns(KEYS_SCHEMA.names)
        found = found.join(known, KEYS_SCHEMA.names, join_type="left semi", use_threads=False)
    return found.select(LOCATIONS_SCHEMA.names)


def _with_instants(found: pa.Table, slices: Sequence[FileSlice]) -> pa.Table:
    held = pa.table(
        {
            "partition_path": pa.array([s.partition_path for s in slices], pa.string()),
            "file_id": pa.array([s.file_id for s in slices], pa.string()),
            "instant": pa.array([s.instant for s in slices], pa.string()),
        }
    )
    joined = found.join(held, ["partition_path", "file_id"], use_threads=False)
    joined = joined.select(LOCATED.names).cast(LOCATED)
    return joined.sort_by([(name, "ascending") for name in LOCATED.names]).combine_chunks()
