"""Check: does an index know where rows are? Asked of all keys, or of a sample of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import CallError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.filegroup import FileSlice
from hoodoo_rows.api import KeyLookup, WriteTarget

from hoodoo_services.indexes.locating import living
from hoodoo_services.indexes.lookup import KEYED, all_keys, locations_of
from hoodoo_services.outcome import Comparison

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

_NAMES = LOCATIONS_SCHEMA.names


@frozen
class CheckIndex:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once, and changes nothing."""

    @classmethod
    def from_settings(cls, settings: Settings) -> CheckIndex:
        return cls()

    def run(
        self,
        table: TableHandle,
        sample: int | None = None,
        seed: int = 0,
        index: Any = None,
        engine: str | Engine | None = None,
    ) -> Comparison:
        """``sample``: of so many rows, from file slices that are drawn by ``seed``; None: of all.
        In the answer ``found`` are the rows looked at and the places that the index names;
        ``found_by`` of a difference is 0 for a row that it does not find, 1 for a place where no
        such row is."""
        if sample is not None and sample < 1:
            raise CallError(f"sample={sample}", "is no number of rows.", "Give one from 1 on.")
        target = table.write_target(None, engine or table.default_engine, looks=True)
        chosen = target.index
        if index is not None:
            chosen = resolve("index", index, table.settings).instance
        rows = _rows(target, sample, seed)
        keys = rows.select(_NAMES[:2]).rename_columns(KEYED.names)
        found = locations_of(target, chosen, target.engine.source(keys), True)
        apart = KeyLookup.different(rows, found)
        lacking, more = (
            apart.filter(pa.array(np.equal(apart.column("found_by").to_numpy(), n))) for n in (0, 1)
        )
        # A key that was inserted twice lies elsewhere, too; and an index that has room for one
        # place names one.
        right = _there(target, more)
        wrong = more.join(right, _NAMES, join_type="left anti", use_threads=False)
        by = _NAMES[:1] if chosen.is_global else _NAMES[:2]
        known = pa.concat_tables(
            [right, found.join(rows, _NAMES, join_type="left semi", use_threads=False)]
        )
        lacking = lacking.join(known.select(by), by, join_type="left anti", use_threads=False)
        differences = pa.concat_tables(
            [part.select(apart.column_names) for part in (lacking, wrong)]
        )
        return Comparison((rows.num_rows, found.num_rows), differences)


def _rows(target: WriteTarget, sample: int | None, seed: int) -> pa.Table:
    """LOCATIONS_SCHEMA of the rows to ask for, as they are."""
    if sample is None:
        return _places(target, target.slices)
    order = random.Random(seed)
    parts: list[pa.Table] = []
    for slice_ in order.sample(target.slices, len(target.slices)):
        parts.append(_places(target, (slice_,)))
        if sum(part.num_rows for part in parts) >= sample:
            break
    if not parts:
        return LOCATIONS_SCHEMA.empty_table()
    rows = pa.concat_tables(parts)
    if rows.num_rows <= sample:
        return rows
    return rows.take(np.sort(np.array(order.sample(range(rows.num_rows), sample))))


def _places(target: WriteTarget, slices: tuple[FileSlice, ...]) -> pa.Table:
    some = evolve(target, snapshot=evolve(target.snapshot, look=lambda paths: slices))
    found = target.engine.collect(all_keys(some)).rename_columns(_NAMES)
    return found.group_by(_NAMES).aggregate([]).select(_NAMES)


def _there(target: WriteTarget, places: pa.Table) -> pa.Table:
    """Those of ``places`` where a row of the key is."""
    groups = places.group_by(_NAMES[1:]).aggregate([]).to_pylist()
    named = {(group["partition_path"], group["file_id"]) for group in groups}
    slices = tuple(s for s in target.slices if (s.partition_path, s.file_id) in named)
    keys = places.select(_NAMES[:2]).rename_columns(KEYED.names)
    rows = living(target, slices, keys, True, None)
    return rows.join(places.select(_NAMES), _NAMES, join_type="left semi", use_threads=False)
