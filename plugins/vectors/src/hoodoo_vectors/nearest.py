"""The nearest rows of those that have been read so far."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import SchemaError
from numpy.typing import NDArray

from hoodoo_vectors.metrics import Floats, bounds, distances
from hoodoo_vectors.stored import matrix, of_row

Ints = NDArray[np.int64]
# So many numbers are compared at a time, and so many pairs: some MiB. What each step costs
# beside is little then.
_NUMBERS, _BLOCK = 1 << 23, 1 << 20
# So many pairs wait before the nearest of them are looked for.
_FEW = 1024


class Nearest:
    """The ``k`` nearest rows of each query, of all batches that were added.

    Memory does not grow with the rows: what is stored are pairs of a query and a row that is among
    the nearest so far, at most some times ``k`` of each query.

    Equal distances are ordered by the columns ``ties``, then as the rows were added."""

    def __init__(
        self,
        column: str,
        queries: NDArray[np.floating],
        metric: str,
        k: int,
        schema: pa.Schema,
        ties: tuple[str, ...],
    ) -> None:
        self._column, self._queries, self._metric, self._k = column, queries, metric, k
        self._ties = ties
        self._rows = schema.empty_table()
        # Pairs: a position in _rows, the number of a query, and their distance.
        self._pairs: tuple[Ints, Ints, Floats] = _no_pairs()
        self._added: list[pa.RecordBatch] = []
        self._added_pairs: list[tuple[Ints, Ints, Floats]] = []
        # Of each query: rows at a larger distance are not among the nearest.
        self._limits = np.full(len(queries), np.inf)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows of ``batch`` that may be among the nearest. Raises SchemaError for vectors
        that have another length than the queries, or numbers that have no distance."""
        count, dimension = self._queries.shape
        step = max(1, min(_NUMBERS // max(dimension, 1), _BLOCK // max(count, 1)))
        for start in range(0, batch.num_rows, step):
            self._add(batch.slice(start, step))

    def _add(self, batch: pa.RecordBatch) -> None:
        count, dimension = self._queries.shape
        rows, vectors = matrix(batch, self._column, dimension)
        places, numbers, apart = self._near(vectors)
        unknown = np.flatnonzero(np.isnan(apart))
        if unknown.size:
            raise SchemaError(
                f"column {self._column}",
                f"has a vector with NaN or infinity{of_row(batch, rows[places[unknown[0]]])}.",
                "Write the row again, or leave it out by where.",
            )
        if places.size:
            used, places = np.unique(places, return_inverse=True)
            before = len(self._rows) + sum(map(len, self._added))
            self._added.append(batch.take(pa.array(rows[used])))
            self._added_pairs.append((places + before, numbers, apart))
        if sum(len(pairs[0]) for pairs in self._added_pairs) > 2 * self._k * count + _FEW:
            self._settle()

    def _near(self, vectors: NDArray[np.number]) -> tuple[Ints, Ints, Floats]:
        """Pairs that may be among the nearest: positions in ``vectors``, numbers of queries, and
        distances."""
        lower, upper = bounds(
            self._metric, vectors.astype(self._queries.dtype, copy=False), self._queries
        )
        close = ~(lower > self._limits)  # also where nothing is known
        if len(upper) >= self._k and np.count_nonzero(close) > self._k:
            nearest = np.partition(upper, self._k - 1, axis=0)[self._k - 1]
            self._limits = np.fmin(self._limits, nearest)
            close &= ~(lower > self._limits)
        places, numbers = np.nonzero(close)
        size = max(1, _BLOCK // vectors.shape[1])
        parts = [
            distances(self._metric, vectors[p], self._queries[q])
            for p, q in (
                (places[at : at + size], numbers[at : at + size])
                for at in range(0, len(places), size)
            )
        ]
        return places, numbers, np.concatenate([_no_pairs()[2], *parts])

    def _settle(self) -> None:
        """Only the nearest pairs stay, in their order, and the rows that they need."""
        rows = pa.concat_tables([self._rows, *(pa.Table.from_batches([b]) for b in self._added)])
        pairs = zip(self._pairs, *self._added_pairs, strict=True)
        places, numbers, apart = map(np.concatenate, pairs)
        order = np.lexsort((_ranks(rows, self._ties)[places], apart, numbers))
        numbers = numbers[order]
        nth = np.arange(len(order)) - np.searchsorted(numbers, numbers)
        kept = order[nth < self._k]
        places, numbers, apart = places[kept], numbers[nth < self._k], apart[kept]
        used, places = np.unique(places, return_inverse=True)
        self._rows = rows.take(pa.array(used))
        self._pairs = places, numbers, apart
        self._added, self._added_pairs = [], []
        full = np.bincount(numbers, minlength=len(self._limits)) == self._k
        ends = np.searchsorted(numbers, np.flatnonzero(full), "right") - 1
        self._limits[full] = np.fmin(self._limits[full], apart[ends])

    def result(self) -> tuple[pa.Table, Ints, Floats]:
        """Rows, ordered by the number of the query and the distance, with both."""
        self._settle()
        places, numbers, apart = self._pairs
        return self._rows.take(pa.array(places)), numbers, apart


def _no_pairs() -> tuple[Ints, Ints, Floats]:
    return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)


def _ranks(rows: pa.Table, columns: tuple[str, ...]) -> Ints:
    """The place of each row in the order of ``columns``."""
    if not columns:
        return np.arange(len(rows))
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in columns])
    ranks = np.empty(len(rows), np.int64)
    ranks[order.to_numpy()] = np.arange(len(rows))
    return ranks
