"""Meet: rows and the places of their keys, if these are too many for the driver.

Both go to a task by their key. Each task holds the places of its own keys, and the driver counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.hookspecs.engine import PART, SLOT, Side, Stream, Task
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, LookupIndex
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY

from hoodoo_rows.merge.pairs import flat
from hoodoo_rows.model.key_hash import all_differ
from hoodoo_rows.produce.columns import FILE_ID, append_columns, tagged
from hoodoo_rows.produce.slots import part_of
from hoodoo_rows.produce.summary import Arrivals
from hoodoo_rows.write.key_table import check_asked, check_locations
from hoodoo_rows.write.tag import NOWHERE, AskedRows, Here, LocatedDeletes
from hoodoo_rows.write.target import WriteTarget

_PART_BYTES = 64 << 20  # of places, for each task
_PLACES, _ROWS = 0, 1  # slots: places come first
_COLUMNS = (RECORD_KEY, PARTITION_PATH, FILE_ID)


def meet(
    target: WriteTarget,
    arriving: Arrivals,
    rows: Stream,
    places: Stream,
    by: Any,
    index: LookupIndex | None,
) -> Stream:
    """What the step ``by`` makes of keyed ``rows``: its ``found`` is the ``places``
    (LOCATIONS_SCHEMA) of their keys. ``index``: who answered them; None: they may come twice, and
    nothing is checked."""
    engine = target.engine
    parts = max(engine.parallelism, -(-arriving.held_bytes // _PART_BYTES))
    lying = engine.map(places, LocatedDeletes(rows.schema))
    sides = [
        engine.map(stream, ToKey(rows.schema, parts, slot))
        for slot, stream in ((_PLACES, lying), (_ROWS, rows))
    ]
    return engine.map(target.exchange(engine.union(sides), parts), Meet(rows.schema, by, index))


@frozen
class ToKey:
    """Step: rows, or places in the shape of rows, to the task of their key."""

    schema: pa.Schema
    parts: int
    slot: int

    @property
    def out_schema(self) -> pa.Schema:
        """Rows or places, with the part and the slot that they go to."""
        more = [pa.field(PART, pa.int32()), pa.field(SLOT, pa.int32())]
        # Places have no values in the columns of the table.
        return pa.schema([*(one.with_nullable(True) for one in tagged(self.schema)), *more])

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in (batch for batch in batches if batch.num_rows):
            more = {
                PART: part_of(batch.column(RECORD_KEY), self.parts),
                SLOT: pa.array(np.full(batch.num_rows, self.slot, np.int32)),
            }
            if self.slot == _ROWS:
                more[FILE_ID] = pa.nulls(batch.num_rows, pa.string())
            yield append_columns(batch, self.out_schema, **more)


@frozen
class Meet:
    """Step behind the exchange: ``by``, with the places that came first, of the rows that came
    after them."""

    schema: pa.Schema
    by: Any
    index: LookupIndex | None

    @property
    def out_schema(self) -> pa.Schema:
        """As of the step that follows."""
        found: pa.Schema = self.by.out_schema
        return found

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        places: list[pa.RecordBatch] = []
        rows: Iterable[pa.RecordBatch] = ()
        for batch in batches:
            if batch.num_rows and batch.column(SLOT)[0].as_py() == _ROWS:
                rows = chain((batch,), batches)
                break
            columns = [batch.column(name) for name in _COLUMNS]
            places.append(pa.record_batch(columns, schema=LOCATIONS_SCHEMA))
        found = pa.Table.from_batches(places, LOCATIONS_SCHEMA)
        if self.index is None:
            found = found.group_by(found.schema.names, use_threads=False).aggregate([])
        check_locations(self.index, found)
        keys = found.column("record_key")
        if not all_differ(keys) and pc.count_distinct(keys).as_py() < found.num_rows:
            # Which place of a key is the first must not depend on the order in which an exchange
            # brings them.
            found = found.sort_by([(name, "ascending") for name in found.schema.names])
        plain = (append_columns(batch, self.schema) for batch in rows)
        yield from evolve(self.by, found=Here(found))(plain, task)


@frozen
class CountPlaces:
    """Step: LOCATIONS_SCHEMA in, the number of keys by file group out."""

    out_schema: pa.Schema = pa.schema([*list(LOCATIONS_SCHEMA)[1:], ("rows", pa.int64())])

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        found = [
            total(
                pa.table(
                    [*batch.columns[1:], np.ones(batch.num_rows, np.int64)], schema=self.out_schema
                )
            )
            for batch in batches
        ]
        if found:
            yield from total(pa.concat_tables(found)).to_batches()


def total(counts: pa.Table) -> pa.Table:
    """``rows`` of each file group."""
    by = LOCATIONS_SCHEMA.names[1:]
    found = counts.group_by(by, use_threads=False).aggregate([("rows", "sum")])
    return found.rename_columns([*by, "rows"])


def in_order(counts: pa.Table) -> list[dict[str, Any]]:
    """Each file group with its ``rows``, by partition path and file id."""
    by = [(name, "ascending") for name in LOCATIONS_SCHEMA.names[1:]]
    found: list[dict[str, Any]] = total(counts).sort_by(by).to_pylist()
    return found


@frozen
class AskedPlaces:
    """Step: the places of the keys of rows. PluginError if ``index`` found one that no row has;
    None: this is not checked. ``anywhere``: whatever partition path a row came with."""

    index: LookupIndex | None
    anywhere: bool
    found: Side = NOWHERE
    names: tuple[str, str] = (RECORD_KEY, PARTITION_PATH)
    out_schema = LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        found, step = self.found.table(), AskedRows(self.found, self.anywhere, self.names)
        asked = [rows.column("row") for rows in step(batches, task)]
        numbers = pc.unique(pa.chunked_array(asked, pa.int64()))
        check_asked(self.index, found, numbers)
        yield from found.take(flat(numbers)).combine_chunks().to_batches()
