"""A lookup in the base files themselves: what the simple and the bloom indexes share.

The asked keys travel to the file readers as a side table, so stored keys never leave their task.
Above a number of bytes, both sides meet in an exchange instead.

A file may rule keys out before any of its keys is read (:class:`Sieve`). Most formats know the
smallest and the largest record key, and have a filter of all keys (Parquet: Hudi's bloom filter, in
the footer). Both may be wrong in one direction only: a rewrite that deletes rows keeps the filter
(ADR 8), so it may know keys that the file no longer has, never the reverse. Keys that are not ruled
out are therefore read and compared.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen
from hoodoo.hookspecs.engine import Side, Stream, Task, spread
from hoodoo.hookspecs.file_format import BaseFileReader, key_filter, key_range
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, IndexContext
from hoodoo.storage.api import of_size
from hoodoo.storage.together import read_ahead
from hoodoo_rows.api import Batches
from hoodoo_rows.model.key_hash import MANY, all_differ

from hoodoo_standard.index.exchanged import distinct_paths, exchanged
from hoodoo_standard.index.plan import KeyFile, KeyReader, base_files, file_tasks, read_payload
from hoodoo_standard.index.stored_filters import StoredFilters

# Asking a filter for a key takes 0.3 us; reading and matching a stored one 0.06 us on a local disk
# and 0.15 us from a store of 100 MB/s.
_FILTER_COST = 2
# Stored keys that are matched in one call: the hash table of asked keys is built once for them. As
# many bytes as the asked keys have, between these bounds.
_WINDOW_BYTES, _MOST_BYTES = 32 << 20, 256 << 20
# Keys of a file, the number of the first one's row, and between which of the asked ones they lie.
_Stored = tuple[KeyFile, pa.Array, int, int, int]


@frozen
class Sieve:
    """``ranges``: ask for smallest and largest key. ``filters``: ask the bloom filter, where a file
    has one. ``stored``: filters that are asked before a file is opened."""

    ranges: bool = True
    filters: bool = False
    stored: StoredFilters | None = None

    def bounds(self, opened: BaseFileReader) -> tuple[str, str] | None:
        """The file's smallest and largest key; None where they say nothing."""
        found = key_range(opened) if self.ranges else None
        return found if found is not None and all(map(_plain, found)) else None

    def candidates(
        self, asked: pa.ChunkedArray, file: KeyFile, opened: BaseFileReader
    ) -> pa.ChunkedArray:
        """Those of ``asked`` (strings) that the file may have. The filter is not asked where
        reading the file is cheaper.

        Raises CorruptTableError naming the file if its filter is none.
        """
        if not self.filters or len(asked) * _FILTER_COST > opened.num_rows:
            return asked
        known = key_filter(opened)
        return asked if known is None else asked.filter(known.might_contain(asked))


def _plain(bound: str) -> bool:
    """Whether byte order and Java's UTF-16 order agree on comparisons with this bound.

    They disagree only between characters from U+E000 and those beyond U+FFFF. Writers compare in
    either order, so other bounds prune nothing.
    """
    return all(char < "\ue000" for char in bound)


def located(
    keys: Stream,
    context: IndexContext,
    by_partition: bool,
    side_bytes: int,
    sieve: Sieve,
    rows: bool = False,
) -> Stream:
    """Rows of LOCATIONS_SCHEMA for ``keys`` (rows of KEYS_SCHEMA), one for each file group that
    holds the key. ``side_bytes``: more bytes of keys than these are exchanged, and ``sieve`` not
    asked. With ``rows`` as ROWS_SCHEMA, the rows of these files; not known where keys are
    exchanged."""
    engine = context.engine
    meets = context.key_bytes > side_bytes
    if meets or not context.on_driver:
        # Past the driver.
        paths = distinct_paths(keys, context) if by_partition else None
        files = base_files(context, paths)
        if meets:
            found = exchanged(keys, files, context, by_partition)
            return engine.map(found, RowsUnknown()) if rows else found
        side = spread(
            engine, keys, context.workspace, partial(asked_table, by_partition=by_partition)
        )
    else:
        given = engine.collect(keys) if context.keys is None else context.keys
        asked = asked_table(given, by_partition)
        paths = pc.unique(asked.column("partition_path")).to_pylist() if by_partition else None
        files = base_files(context, paths) if asked.num_rows else []
        side = engine.side(asked)
    step = MatchKeys(side, KeyReader.of(context), by_partition, sieve, rows)
    return engine.map(file_tasks(engine, files), step)


# --- the step that matches keys ------------------------------------------------------------------
def asked_table(keys: pa.Table, by_partition: bool) -> pa.Table:
    """The side table of :class:`MatchKeys`: distinct keys, in byte order (within a partition)."""
    order = ["partition_path", "record_key"] if by_partition else ["record_key"]
    found = keys.select(order).sort_by([(name, "ascending") for name in order]).combine_chunks()
    if found.num_rows < 2:
        return found
    again = [pc.equal(c.slice(1), c.slice(0, len(c) - 1)) for c in found.columns]
    first = pc.invert(reduce(pc.and_, again))
    if pc.all(first).as_py():
        return found
    return found.filter(pa.chunked_array([pa.array([True]), *first.chunks])).combine_chunks()


@frozen
class MatchKeys:
    """Payloads of files in; LOCATIONS_SCHEMA out: a row for each key and file that holds it. With
    ``rows`` it is ROWS_SCHEMA, with the number of the key's row."""

    asked: Side
    reader: KeyReader
    by_partition: bool
    sieve: Sieve = Sieve()
    rows: bool = False

    @property
    def reads(self) -> int | None:
        found: int | None = getattr(self.asked, "reads", 0)
        return found

    @property
    def out_schema(self) -> pa.Schema:
        return Batches.ROWS_SCHEMA if self.rows else LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        files = read_payload(batches)
        if not files:
            return
        asked = _Asked(self.asked.table(), self.by_partition)
        window = _Window(asked, self.rows)
        current: str | None = None
        stored = read_ahead(self.reader.storage, self._reads(asked, files))
        for file, keys, start, low, high in stored:
            if self.by_partition and file.partition_path != current:
                yield from window.flush()
                current = file.partition_path
            window.add(file, keys, start, low, high)
            if window.size > window.most:
                yield from window.flush(still_open=file)
        yield from window.flush()

    def _reads(
        self, asked: _Asked, files: Sequence[KeyFile]
    ) -> Iterator[tuple[Callable[[], Iterator[_Stored]], int]]:
        """What gives the keys of each file, and its bytes."""
        found = self._by_stored_filters(asked, files)
        current: str | None = None
        for file in files:
            if self.by_partition and file.partition_path != current:
                current = file.partition_path
                asked.choose(current)
            known = found.pop(file.path, None)
            if known is None or len(known):
                yield partial(self._keys, asked, file, known, asked.low, asked.high), file.size

    def _keys(
        self, asked: _Asked, file: KeyFile, known: pa.ChunkedArray | None, low: int, high: int
    ) -> Iterator[_Stored]:
        with self.reader.file_format.reader(self.reader.storage, file.path) as opened:
            of_size(opened, file.path, file.size)
            low, high = asked.range(self.sieve.bounds(opened), low, high)
            if low >= high:
                return
            wanted = asked.keys.slice(low, high - low)
            left = self.sieve.candidates(wanted, file, opened) if known is None else known
            if len(left) and self.rows:
                for keys, start in self.reader.numbered_keys(opened, left):
                    yield file, keys, start, low, high
            elif len(left):
                for keys in self.reader.keys(opened, left):
                    yield file, keys, 0, low, high

    def _by_stored_filters(
        self, asked: _Asked, files: Sequence[KeyFile]
    ) -> dict[str, pa.ChunkedArray]:
        """The keys that files may have, by the path of those whose filter is stored elsewhere and
        says so."""
        if self.sieve.stored is None:
            return {}
        found: dict[str, pa.ChunkedArray] = {}
        of_path = {file.path: file for file in files}
        for path, known in self.sieve.stored.read(list(of_path)):
            if self.by_partition:
                asked.choose(of_path[path].partition_path)
            left = known.candidates(asked.keys.slice(asked.low, asked.high - asked.low))
            if left is not None:
                found[path] = left
        return found


class _Asked:
    """The sorted asked keys, narrowed to one partition path if they are asked by partition."""

    def __init__(self, table: pa.Table, by_partition: bool) -> None:
        self.keys: pa.ChunkedArray = table.column("record_key")
        self._paths = table.column("partition_path") if by_partition else None
        self.low, self.high = (0, 0) if by_partition else (0, len(self.keys))

    def choose(self, path: str) -> None:
        assert self._paths is not None
        self.low = _position(self._paths, path, 0, len(self._paths), bisect_left)
        self.high = _position(self._paths, path, self.low, len(self._paths), bisect_right)

    def range(self, bounds: tuple[str, str] | None, low: int, high: int) -> tuple[int, int]:
        """Which asked keys, from ``low`` to ``high``, lie between a file's smallest and largest
        key; all if these are None."""
        if bounds is None:
            return low, high
        start = _position(self.keys, bounds[0], low, high, bisect_left)
        return start, _position(self.keys, bounds[1], start, high, bisect_right)


@define
class _Window:
    """Stored keys of one or several files that wait to be matched together."""

    asked: _Asked
    rows: bool
    waiting: list[tuple[KeyFile, pa.Array, int]] = field(factory=list)
    hits: dict[KeyFile, list[tuple[pa.Array, pa.Array]]] = field(factory=dict)
    size: int = 0
    low: int = 0
    high: int = 0
    most: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.most = max(_WINDOW_BYTES, min(self.asked.keys.nbytes, _MOST_BYTES))

    def add(self, file: KeyFile, keys: pa.Array, first: int, low: int, high: int) -> None:
        self.low = min(self.low, low) if self.waiting else low
        self.high = max(self.high, high) if self.waiting else high
        self.waiting.append((file, keys, first))
        self.size += keys.nbytes

    def flush(self, still_open: KeyFile | None = None) -> Iterator[pa.RecordBatch]:
        """Match what waits; the hits of a file that is still read wait for its end, so that a key
        that it holds twice is answered once."""
        self._match()
        for file in list(self.hits):
            if file != still_open:
                hits = self.hits.pop(file)
                keys = pa.chunked_array([keys for keys, _ in hits])
                is_many = len(keys) >= MANY
                once = Batches.one_array(keys) if is_many and all_differ(keys) else pc.unique(keys)
                yield _located(file, once, self._rows_of(hits, keys, once))

    def _rows_of(
        self, hits: list[tuple[pa.Array, pa.Array]], keys: pa.ChunkedArray, once: pa.Array
    ) -> pa.Array | None:
        """The rows of the keys ``once``, null of those that are there twice."""
        if not self.rows:
            return None
        at = Batches.one_array(pa.chunked_array([at for _, at in hits]))
        if len(once) == len(keys):
            return at
        counts = keys.value_counts()
        single = counts.field("values").filter(pc.equal(counts.field("counts"), 1))
        kept = pc.is_in(once, value_set=single)
        return pc.if_else(kept, at.take(pc.index_in(once, value_set=Batches.one_array(keys))), None)

    def _match(self) -> None:
        if not self.waiting:
            return
        wanted = self.asked.keys.slice(self.low, self.high - self.low).combine_chunks()
        stored = pa.chunked_array([keys for _, keys, _ in self.waiting], pa.string())
        found = np.asarray(pc.is_in(stored, value_set=wanted), np.bool_)
        start = 0
        for file, keys, first in self.waiting:
            mask = found[start : start + len(keys)]
            start += len(keys)
            if mask.any():
                at = pa.array(np.flatnonzero(mask) + first, pa.int64())
                self.hits.setdefault(file, []).append((keys.filter(pa.array(mask)), at))
        self.waiting.clear()
        self.size = 0


def _located(file: KeyFile, keys: pa.Array, rows: pa.Array | None) -> pa.RecordBatch:
    constants = [pa.repeat(text, len(keys)) for text in (file.partition_path, file.file_id)]
    if rows is None:
        return pa.record_batch([keys, *constants], schema=LOCATIONS_SCHEMA)
    return pa.record_batch([keys, *constants, rows], schema=Batches.ROWS_SCHEMA)


@frozen
class RowsUnknown:
    """Step: LOCATIONS_SCHEMA in, ROWS_SCHEMA out, of rows that nobody has seen."""

    @property
    def out_schema(self) -> pa.Schema:
        return Batches.ROWS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            unknown = pa.nulls(batch.num_rows, pa.int64())
            yield pa.record_batch([*batch.columns, unknown], schema=Batches.ROWS_SCHEMA)


def _position(
    values: pa.ChunkedArray, text: str, low: int, high: int, bisect: Callable[..., int]
) -> int:
    # Python compares strings by code point, which is the order of their UTF-8 bytes.
    return bisect(range(len(values)), text, low, high, key=lambda i: values[i].as_py())
