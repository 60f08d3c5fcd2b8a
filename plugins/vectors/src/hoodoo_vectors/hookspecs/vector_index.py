"""Index of vectors: which rows an approximate search compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from attrs import field, frozen
from hoodoo.hookspecs.family import Family
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from numpy.typing import NDArray


@frozen
class NearRequest:
    """What is searched for: rows of ``slices`` whose vectors in ``column`` are near to ``queries``.

    ``queries``: one vector in each row, float32 or float64, finite. ``metric``: ``l2``, ``cosine``
    or ``dot``. ``count``: how many rows of each query are asked for, of all slices together; more
    than the search returns, as some rows may not be what its filter lets through. In each slice the
    column is stored under its own name."""

    storage: Storage
    slices: tuple[FileSlice, ...]
    column: str
    queries: NDArray[np.floating] = field(eq=False)
    metric: str
    count: int


@runtime_checkable
class VectorIndex(Protocol):
    """Contract suite: ``hoodoo_vectors.testing.vector_index``. Called on the driver."""

    def near(self, request: NearRequest) -> Mapping[FileSlice, pa.Array]:
        """Record keys of rows that may be among the nearest, for each slice that the index knows:
        an empty array says that the slice has none of them.

        A slice that is not in the answer is searched whole, so an index leaves out what it has not
        learned, or what has changed since. The distances, the rows and the filter are those of the
        table: a key whose row is far away costs time, and a key that the slice lacks makes the
        search exact. Changes nothing. Raises StorageError alone; what can't be read is left out."""


FAMILY = Family(
    "hoodoo_vector_indexes",
    """Offer indexes of vectors. When: ``table.search(..., approximate=True)`` is called; each is
    asked about the slices that those before it do not know. Default: none, such a search is
    refused.

    The factory returns a :class:`VectorIndex`; its settings have the options that the table was
    opened with.""",
    (VectorIndex,),
)
