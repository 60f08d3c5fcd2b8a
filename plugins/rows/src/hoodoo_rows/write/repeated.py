"""Repeated: keys that come more than once become one row each, for a global index: one key may come
with two paths.

Keys that are few are with the driver. Else hashes of the keys meet first, eight bytes each. A row
is sent by its key only where the hash came again; all other rows cross once, to their file
group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.engine import PART, SLOT, Side, Stream, Task, Workspace
from hoodoo.hookspecs.merger import Merger
from hoodoo.model.meta import RECORD_KEY

from hoodoo_rows.merge.pairs import fold
from hoodoo_rows.model.key_hash import key_hash
from hoodoo_rows.produce.columns import SEQ, append_columns, routed
from hoodoo_rows.produce.slots import part_of_hash
from hoodoo_rows.write.route import Routing
from hoodoo_rows.write.target import WriteTarget

_HASH = pa.field("key_hash", pa.int64())
# Hashes that go to all tasks, 8 MB of them; where more keys come again, all rows meet by key.
_MOST = 1 << 20


def one_row_per_key(
    target: WriteTarget, staged: Stream, keys: pa.Table | None, workspace: Workspace
) -> Stream:
    """The rows of ``staged`` with one row per key; staged. ``keys``: the keys of the rows
    (KEYS_SCHEMA), if they are on the driver."""
    engine, parts = target.engine, target.engine.parallelism
    if keys is not None:
        column = keys.column("record_key").combine_chunks()
        if len(column.unique()) == len(column):
            return staged
        again = pa.chunked_array([_repeated(key_hash(column).view(np.int64), _MOST)])
    else:
        hashes = target.exchange(engine.map(staged, HashKeys(parts)), parts)
        again = engine.collect(engine.map(hashes, FindRepeated(-(-_MOST // parts)))).column(0)
    if not len(again):
        return staged
    sorted_hashes = pa.table({_HASH.name: np.sort(again.drop_null().to_numpy())})
    side = None if again.null_count else engine.side(sorted_hashes)
    apart = engine.map(staged, RouteRepeated(staged.schema, parts, side))
    met = engine.map(target.exchange(apart, parts), FoldByKey(staged.schema, target.merger))
    folded = engine.stage(met, workspace)
    if side is None:
        return folded
    return engine.union([engine.map(staged, LeaveRepeated(staged.schema, side)), folded])


@frozen
class HashKeys:
    """Step: the hash of each row's key, on its way to the task that counts it."""

    parts: int
    out_schema = routed(pa.schema([_HASH]))

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            hashes = key_hash(batch.column(RECORD_KEY))
            part = part_of_hash(hashes, self.parts)
            yield pa.record_batch([pa.array(hashes.view(np.int64)), part, part], self.out_schema)


@frozen
class FindRepeated:
    """Step: hashes in, each that came more than once out; one null where these are more than
    ``most``."""

    most: int
    out_schema = pa.schema([_HASH])

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        held = [batch.column(_HASH.name).to_numpy() for batch in batches]
        hashes = np.concatenate(held) if held else np.empty(0, np.int64)
        yield pa.record_batch([_repeated(hashes, self.most)], self.out_schema)


@frozen
class LeaveRepeated:
    """Step: the rows whose key came once. ``again``: sorted hashes of the others."""

    out_schema: pa.Schema
    again: Side

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pa.array(~_among(key_hash(batch.column(RECORD_KEY)), self.again)))


@frozen
class RouteRepeated(Routing):
    """Step: the rows whose key came more than once meet by key; all rows without ``again``."""

    parts: int
    again: Side | None

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            hashes = key_hash(batch.column(RECORD_KEY))
            if self.again is not None:
                met = _among(hashes, self.again)
                batch, hashes = batch.filter(pa.array(met)), hashes[met]
            part = part_of_hash(hashes, self.parts)
            yield append_columns(batch, self.out_schema, **{PART: part, SLOT: part})


@frozen
class FoldByKey:
    """Step: after an exchange by key, one row per key."""

    out_schema: pa.Schema
    merger: Merger

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        held = [batch.select(self.out_schema.names) for batch in batches if batch.num_rows]
        if held:
            rows = pa.Table.from_batches(held).sort_by(SEQ)
            yield from fold(rows, self.merger).combine_chunks().to_batches()


def _repeated(hashes: npt.NDArray[np.int64], most: int) -> pa.Array:
    """Those that come more than once; one null where these are more than ``most``."""
    hashes = np.sort(hashes)
    again = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
    return pa.array(again) if len(again) <= most else pa.nulls(1, pa.int64())


def _among(hashes: npt.NDArray[np.uint64], again: Side) -> npt.NDArray[np.bool_]:
    known = again.table().column(0).to_numpy()
    mine = hashes.view(np.int64)
    at = np.minimum(np.searchsorted(known, mine), len(known) - 1)
    return known[at] == mine
