"""Distances of vectors, as Hudi's ``hudi_vector_search`` defines them, and bounds of them.

The distance of many rows is bounded by one product of matrices in the type of the column. This
runs at the speed of memory, but loses digits where large numbers cancel out. Only rows that can be
among the nearest by these bounds get their distance in float64, by the formula itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# So many numbers are few MiB, which stay in the cache of the processor.
_CACHED = 1 << 20
# What other systems call them; the first three are the names of this project.
NAMES: Mapping[str, str] = {
    "l2": "l2",
    "cosine": "cosine",
    "dot": "dot",
    "euclidean": "l2",
    "dot_product": "dot",
    "inner_product": "dot",
}


@frozen
class Products:
    """What bounds are computed from: the inner product of each row with each query, the squared
    lengths of rows (a column) and of queries, and how much of them rounding can have changed.

    ``relative``: the error of a sum of products, in parts of the product of both lengths. It is
    twice what the analysis of rounding errors gives. ``absolute``: what underflow adds. Rows whose
    squared length is not between ``least`` and infinity have no usable relative error."""

    inner: Floats
    rows: Floats
    queries: Floats
    relative: float
    absolute: float
    least: float

    @classmethod
    def of(cls, rows: NDArray[np.floating], queries: NDArray[np.floating]) -> Products:
        """The products of both, which have the same type, computed in it."""
        kind, wide = np.finfo(rows.dtype), queries.astype(np.float64)
        size = rows.shape[1] + 16
        inner = np.empty((len(rows), len(queries)), rows.dtype)
        squares = np.empty(len(rows), rows.dtype)
        step = max(1, _CACHED // max(rows.shape[1], 1))
        for at in range(0, len(rows), step):  # the second pass finds them in the cache
            part = rows[at : at + step]
            np.matmul(part, queries.T, out=inner[at : at + step])
            np.einsum("ij,ij->i", part, part, out=squares[at : at + step])
        return cls(
            inner.astype(np.float64),
            squares.astype(np.float64)[:, None],
            np.einsum("ij,ij->i", wide, wide),
            relative=size * float(kind.eps),
            absolute=size * float(kind.tiny),
            least=float(kind.tiny) / float(kind.eps) ** 2,
        )


def _l2_bounds(of: Products) -> tuple[Floats, Floats]:
    near = of.rows - 2 * of.inner + of.queries
    error = 2 * of.relative * (of.rows + of.queries) + 4 * of.absolute
    return np.sqrt(np.maximum(near - error, 0.0)), np.sqrt(near + error)


def _dot_bounds(of: Products) -> tuple[Floats, Floats]:
    error = of.relative * np.sqrt(of.rows * of.queries) + of.absolute
    return -of.inner - error, -of.inner + error


def _cosine_bounds(of: Products) -> tuple[Floats, Floats]:
    usable = (of.rows >= of.least) & np.isfinite(of.rows)
    lengths = np.sqrt(np.where(usable, of.rows, np.nan)) * np.sqrt(of.queries)
    near = 1.0 - of.inner / lengths
    return near - 2 * of.relative, near + 2 * of.relative


def _l2(rows: Floats, queries: Floats) -> Floats:
    apart = rows - queries
    return np.sqrt((apart * apart).sum(axis=1))


def _dot(rows: Floats, queries: Floats) -> Floats:
    return 0.0 - (rows * queries).sum(axis=1)  # never -0.0, which sorts otherwise


def _cosine(rows: Floats, queries: Floats) -> Floats:
    """1.0 if one of both is zero: it has no direction."""
    rows, queries = _scaled(rows), _scaled(queries)
    lengths = (rows * rows).sum(axis=1) * (queries * queries).sum(axis=1)
    zero = lengths == 0.0
    similar = (rows * queries).sum(axis=1) / np.sqrt(np.where(zero, 1.0, lengths))
    return np.clip(1.0 - similar, 0.0, 2.0)


def _scaled(vectors: Floats) -> Floats:
    """The same directions, with numbers whose squares neither overflow nor underflow."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return vectors / np.where(largest == 0.0, 1.0, largest)


_BOUNDS: Mapping[str, Callable[[Products], tuple[Floats, Floats]]] = {
    "l2": _l2_bounds,
    "dot": _dot_bounds,
    "cosine": _cosine_bounds,
}
_EXACT: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "l2": _l2,
    "dot": _dot,
    "cosine": _cosine,
}


def bounds(
    metric: str, rows: NDArray[np.floating], queries: NDArray[np.floating]
) -> tuple[Floats, Floats]:
    """A lower and an upper bound of the distance of each row (axis 0) from each query (axis 1).
    NaN where nothing is known: of vectors without a direction, with numbers that are too large or
    too small for their type, or with NaN."""
    with np.errstate(all="ignore"):
        return _BOUNDS[metric](Products.of(rows, queries))


def distances(metric: str, rows: NDArray[np.number], queries: NDArray[np.floating]) -> Floats:
    """The distance of each row from the query in the same place. It depends on these two vectors
    only, not on the rows beside them."""
    with np.errstate(all="ignore"):
        return _EXACT[metric](rows.astype(np.float64), queries.astype(np.float64))
