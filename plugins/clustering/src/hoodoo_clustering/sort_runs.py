"""Sort within bounded memory: sorted runs on local disk, merged by windows.

A round of the merge looks at the next rows of every run. All up to the smallest of the last rows
that it sees of unfinished runs are in their place: no row to come is before them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen
from hoodoo.storage.api import Storage
from hoodoo_rows.engine.spill import Spill

from hoodoo_clustering.places import Places, places

Keys = Callable[[pa.Table], Sequence[pa.ChunkedArray | pa.Array]]
# Offsets of strings are 32 bits: a column of what is sorted at once has to stay below.
_MOST = 1 << 30
_BLOCK_ROWS, _LEAST_ROWS = 131_072, 512
# Parts of the memory: rows that are sorted at once (a column of them is there twice), what a round
# of the merge looks at, and what is handed on at a time.
_RUN, _ROUND, _BLOCK = 2, 8, 16


@frozen
class Sorted:
    """``rows``: how many there are. ``runs``: on disk; 0 if all were sorted in memory."""

    rows: int
    blocks: Iterator[pa.Table]
    runs: int = 0


def sort_rows(
    batches: Iterator[pa.RecordBatch],
    keys: Keys,
    memory: int,
    storage: Storage | None = None,
    threads: int = 1,
) -> Sorted:
    """All rows in ascending order of their keys (see :func:`~hoodoo_clustering.places.places`),
    holding about ``memory`` bytes of them; others wait in the scratch directory of ``storage``.
    ``threads`` put columns in order side by side. Raises EngineError where the local disk is
    full."""
    spill: Spill | None = None
    held: list[pa.RecordBatch] = []
    runs = rows = size = 0
    for batch in batches:
        rows += batch.num_rows
        size += batch.nbytes
        held.append(batch)
        del batch
        if size >= min(memory // _RUN, _MOST):
            spill = spill or Spill(storage)
            _spill(spill, runs, held, keys, memory)
            runs, size = runs + 1, 0
    if spill is None:
        return Sorted(rows, _in_memory(held, keys, memory, threads))
    if held:
        _spill(spill, runs, held, keys, memory)
        runs += 1
    return Sorted(rows, _merged(spill, runs, keys, memory), runs)


def _in_memory(
    held: list[pa.RecordBatch], keys: Keys, memory: int, threads: int
) -> Iterator[pa.Table]:
    if held:
        if threads == 1:
            whole = _whole(held)
            yield from _blocks(whole, places(keys(whole)), memory)
            return
        with ThreadPoolExecutor(threads) as pool:
            whole = _whole(held, pool)
            yield from _blocks(whole, places(keys(whole)), memory, pool)


def _spill(spill: Spill, run: int, held: list[pa.RecordBatch], keys: Keys, memory: int) -> None:
    """Empties ``held``."""
    whole = _whole(held)
    blocks = _blocks(whole, places(keys(whole)), memory)
    spill.write(whole.schema, run, (b for block in blocks for b in block.to_batches()))


def _blocks(
    rows: pa.Table, order: Places, memory: int, pool: ThreadPoolExecutor | None = None
) -> Iterator[pa.Table]:
    """``rows`` in ``order``, some at a time."""
    step = _fitting(rows, memory // _BLOCK)
    starts = range(0, len(order), step)
    if pool is None:
        yield from (rows.take(pa.array(order[start : start + step])) for start in starts)
        return
    sizes = [column.nbytes for column in rows.columns]
    largest_first = sorted(range(rows.num_columns), key=lambda at: -sizes[at])
    for start in starts:
        some = pa.array(order[start : start + step])
        waiting = {at: pool.submit(rows.column(at).take, some) for at in largest_first}
        columns = [waiting[at].result() for at in range(rows.num_columns)]
        yield pa.Table.from_arrays(columns, schema=rows.schema)


def _fitting(rows: pa.Table, size: int) -> int:
    """How many of such rows come to ``size`` bytes."""
    each = max(1, rows.nbytes // max(1, rows.num_rows))
    return min(_BLOCK_ROWS, max(_LEAST_ROWS, size // each))


def _whole(held: list[pa.RecordBatch], pool: ThreadPoolExecutor | None = None) -> pa.Table:
    """One chunk for each column. Empties ``held``, so that no column is there twice for long."""
    names = held[0].schema.names
    columns: list[list[pa.Array]] = [[b.column(i) for b in held] for i in range(len(names))]
    held.clear()
    made = map(_joined, columns) if pool is None else pool.map(_joined, columns)
    return pa.Table.from_arrays(list(made), names=names)


def _joined(given: list[pa.Array]) -> pa.Array:
    """``given``, which is empty afterwards, as one. Dictionaries stay where all chunks are."""
    chunks = given[:]
    given.clear()
    if len(chunks) == 1:
        return chunks[0]
    if len({chunk.type for chunk in chunks}) > 1:
        chunks = [
            chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
            for chunk in chunks
        ]
    if pa.types.is_dictionary(chunks[0].type):
        chunks = pa.chunked_array(chunks).unify_dictionaries().chunks
    return pa.concat_arrays(chunks)


@define
class _Run:
    """A run on disk, read from its begin."""

    source: Iterator[pa.RecordBatch]
    ready: list[pa.RecordBatch] = field(factory=list)
    rows: int = 0
    ended: bool = False

    def window(self, rows: int) -> list[pa.RecordBatch]:
        """The next ``rows`` rows, or all that are left."""
        while self.rows <= rows and not self.ended:
            batch = next(self.source, None)
            if batch is None:
                self.ended = True
            elif batch.num_rows:
                self.ready.append(batch)
                self.rows += batch.num_rows
        found = []
        for batch in self.ready:
            if rows <= 0:
                break
            found.append(batch.slice(0, rows))
            rows -= batch.num_rows
        return found

    def drop(self, rows: int) -> None:
        self.rows -= rows
        while rows:
            first = self.ready[0]
            if first.num_rows > rows:
                self.ready[0] = first.slice(rows)
                return
            rows -= first.num_rows
            del self.ready[0]


def _window(runs: list[_Run], size: int) -> int:
    """Rows of each run that come to ``size`` bytes together."""
    (first,) = runs[0].window(1)
    stored = runs[0].ready[0]  # one row of it would count all of its dictionaries
    each = max(1, stored.nbytes // stored.num_rows)
    return max(first.num_rows, size // each // len(runs))


def _merged(spill: Spill, count: int, keys: Keys, memory: int) -> Iterator[pa.Table]:
    runs = [_Run(spill.read(number)) for number in range(count)]
    while runs:
        each = _window(runs, memory // _ROUND)
        windows = [run.window(each) for run in runs]
        sizes = np.array([sum(b.num_rows for b in window) for window in windows])
        ends = np.cumsum(sizes)
        rows = _whole([b for window in windows for b in window])
        order = places(keys(rows))
        open_ = np.array([run.rows > size for run, size in zip(runs, sizes, strict=True)])
        if open_.any():
            last = np.zeros(len(order), bool)
            last[ends[open_] - 1] = True
            order = order[: int(np.argmax(last[order])) + 1]
        taken = np.bincount(np.searchsorted(ends, order, "right"), minlength=len(runs))
        yield from _blocks(rows, order, memory)
        del rows, windows
        for run, dropped in zip(runs, taken, strict=True):
            run.drop(int(dropped))
        runs = [run for run in runs if run.rows or not run.ended]
