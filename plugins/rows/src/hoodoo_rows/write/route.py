"""Route: the task and the slot of each row, from its content and the plan alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.hookspecs.engine import PART, SLOT, Side, Task
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY

from hoodoo_rows.produce.columns import BUCKET, FILE_ID, append_columns, routed
from hoodoo_rows.produce.slots import fraction
from hoodoo_rows.write.key_table import KeyTable

_Numbers = npt.NDArray[Any]


@frozen
class Routing:
    """Step: rows of ``schema`` in, rows with their part and slot out."""

    schema: pa.Schema

    @property
    def out_schema(self) -> pa.Schema:
        """The rows with the part and the slot that they go to."""
        return routed(self.schema)


@frozen
class RouteToSlots(Routing):
    """Step: tagged rows go to the slot of their file group, untagged ones to a slot for inserts."""

    plan: Side

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        plan = self.plan.table().combine_chunks()
        parts = plan.column("part").to_numpy()
        inserts, find = _InsertSlots(plan), _slots_of(plan)
        for batch in batches:
            if not batch.num_rows:
                continue
            at = find(batch)
            new = np.asarray(pc.is_null(batch.column(FILE_ID)))
            slots = np.asarray(pc.fill_null(at, -1)).astype(np.int64).copy()
            if new.any():
                fresh = batch.filter(pa.array(new))
                slots[new] = inserts.of(fresh.column(PARTITION_PATH), fresh.column(RECORD_KEY))
            yield _routed(batch, self.out_schema, slots, parts[slots])


@frozen
class RouteToBuckets(Routing):
    """Step: rows go to the slot of their bucket; rows of buckets outside the plan end here.
    Implements :class:`~hoodoo.hookspecs.engine.RoutesGroups`.

    (Only deletes can be outside: their bucket holds nothing.)
    """

    routes_by: ClassVar[tuple[str, ...]] = (PARTITION_PATH, BUCKET)

    plan: Side
    buckets: int

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        route = self._of_plan()
        for batch in batches:
            if not batch.num_rows:
                continue
            parts, slots = route(batch)
            if (slots < 0).any():
                kept = slots >= 0
                batch, parts, slots = batch.filter(pa.array(kept)), parts[kept], slots[kept]
            yield _routed(batch, self.out_schema, slots, parts)

    def route(self, groups: pa.RecordBatch) -> tuple[_Numbers, _Numbers]:
        """Of file groups, the parts and the slots (integers, one for each row of ``groups``)."""
        return self._of_plan()(groups)

    def _of_plan(self) -> Callable[[pa.RecordBatch], tuple[_Numbers, _Numbers]]:
        plan = self.plan.table().combine_chunks()
        part_of = np.append(plan.column("part").to_numpy(), -1)
        paths = pc.unique(plan.column("partition_path"))
        slot_of = np.full((len(paths) + 1, self.buckets), -1, np.int64)  # the last: of other paths
        rows = np.asarray(pc.index_in(plan.column("partition_path"), value_set=paths))
        slot_of[rows, plan.column("bucket").to_numpy()] = plan.column("slot").to_numpy()

        def route(batch: pa.RecordBatch) -> tuple[_Numbers, _Numbers]:
            at = pc.fill_null(pc.index_in(batch.column(PARTITION_PATH), value_set=paths), -1)
            slots = slot_of[np.asarray(at), np.asarray(batch.column(BUCKET))]
            return part_of[slots], slots

        return route


def _slots_of(plan: pa.Table) -> Callable[[pa.RecordBatch], pa.Array]:
    """What tells the slots of rows that have a file id. It alone names the slot (a uuid each), but
    for buckets that have one in each partition path: of Spark Hudi's writers that do not block each
    other."""
    ids = plan.column("file_id")
    if len(pc.unique(ids)) == len(ids):
        return lambda batch: pc.index_in(batch.column(FILE_ID), value_set=ids)
    known = KeyTable(ids, plan.column("partition_path"))

    def find(batch: pa.RecordBatch) -> pa.Array:
        named = pc.fill_null(batch.column(FILE_ID), "")
        return known.places(named, batch.column(PARTITION_PATH))

    return find


class _InsertSlots:
    """For each partition path the slots that take inserts, by cumulative weight."""

    def __init__(self, plan: pa.Table) -> None:
        takes = plan.filter(pc.greater(plan.column("insert_weight"), 0)).sort_by(
            [("partition_path", "ascending"), ("slot", "ascending")]
        )
        self._paths = pc.unique(takes.column("partition_path"))
        place: npt.NDArray[Any] = np.asarray(
            pc.index_in(takes.column("partition_path"), value_set=self._paths)
        )
        weight = takes.column("insert_weight").to_numpy().astype(np.float64)
        self._slots = takes.column("slot").to_numpy()
        total = np.bincount(place, weights=weight, minlength=max(1, len(self._paths)))
        running = np.cumsum(weight)
        before = np.concatenate(([0.0], np.cumsum(total)))[place] if len(place) else weight
        # Edge i is where slot i ends, on a line where partition path p covers [p, p + 1).
        self._edges = place + (running - before) / np.where(total[place] > 0, total[place], 1)
        last = np.flatnonzero(np.diff(place, append=-1)) if len(place) else place
        self._edges[last] = place[last] + 1  # exactly, whatever rounding did

    def of(self, paths: pa.Array, keys: pa.Array) -> npt.NDArray[np.int64]:
        """The slots (int64) of new rows by their partition ``paths`` and ``keys``."""
        path = np.asarray(pc.index_in(paths, value_set=self._paths)).astype(np.float64)
        at = np.searchsorted(self._edges, path + fraction(keys), side="right")
        return self._slots[np.minimum(at, len(self._slots) - 1)].astype(np.int64)


def _routed(
    batch: pa.RecordBatch, schema: pa.Schema, slots: _Numbers, parts: _Numbers
) -> pa.RecordBatch:
    more = {PART: pa.array(parts, pa.int32()), SLOT: pa.array(slots.astype(np.int32))}
    return append_columns(batch, schema, **more)
