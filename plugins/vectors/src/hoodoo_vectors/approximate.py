"""The approximate search: indexes say which rows are compared, the table says what they are.

Distances and rows are those of the table, so that an index which is old, or of another table,
cannot make a row up. What it does not know is searched whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import PluginError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import make
from hoodoo.model.filegroup import FileSlice
from hoodoo_rows.api import Reads, Rows, Scan, StoredFiles
from numpy.typing import NDArray

from hoodoo_vectors.hookspecs.vector_index import NearRequest, VectorIndex
from hoodoo_vectors.nearest import Nearest
from hoodoo_vectors.stored import KEY

# Of each query so many times k rows are compared: stored numbers of an index are rounded. Each
# takes a page of a file, which is most of the time.
_MORE = 1.2
# A filter leaves few of them, so more are asked for; and again, so many times in all.
_FILTERED, _GROWTH, _ROUNDS = 4, 8, 3
Fresh = Callable[[NDArray[np.floating]], Nearest]


def approximate(
    rows: Rows,
    settings: Settings | None,
    search: tuple[str, str, int],
    fresh: Fresh,
    queries: NDArray[np.floating],
) -> list[Nearest] | None:
    """What was found, for all queries or for each of them; None where the exact search has to do
    it. ``search``: column, metric and k; ``fresh`` makes an empty result. PluginError where nothing
    offers an index."""
    offers = kernel().offers("vector_index")
    if not offers:
        raise PluginError(
            "search(approximate=True)",
            "no installed plugin has an index of vectors.",
            "pip install hoodoo-vector-index, or search without approximate.",
        )
    if not isinstance(rows, Scan):  # nothing says which of its rows lie in which file
        return None
    given = Settings(rows.source.config) if settings is None else settings
    asked = _Search(rows, tuple(make(o, given) for o in offers), *search, fresh)
    # With a filter each query by itself: what another has found says nothing of it.
    alone = rows.plan.spec.where is not None and len(queries) > 1
    parts = [queries[n : n + 1] for n in range(len(queries))] if alone else [queries]
    found = []
    for part in parts:
        one = asked.of(part)
        if one is None:
            return None
        found.append(one)
    return found


@frozen
class _Search:
    scan: Scan
    indexes: tuple[VectorIndex, ...]
    column: str
    metric: str
    k: int
    fresh: Fresh

    def of(self, queries: NDArray[np.floating]) -> Nearest | None:
        """What is nearest to ``queries``; None where the indexes do not suffice."""
        count = ceil(self.k * _MORE)
        if self.scan.plan.spec.where is not None:
            count *= _FILTERED
        for _ in range(_ROUNDS):
            known = self._asked(queries, count)
            if not known:
                return None
            found = self.fresh(queries)
            if not self._compare(found, known):
                return None
            _table, numbers, _distances = found.result()
            if (np.bincount(numbers, minlength=len(queries)) >= self.k).all():
                self._compare_rest(found, known)
                return found
            count *= _GROWTH
        return None

    def _asked(self, queries: NDArray[np.floating], count: int) -> Mapping[FileSlice, pa.Array]:
        plan, storage = self.scan.plan, self.scan.source.storage
        history = StoredFiles.history(plan.file_format)
        left = [s for s in plan.slices if not self._moved(history, s)]
        known: dict[FileSlice, pa.Array] = {}
        for index in self.indexes:
            slices = tuple(s for s in left if s not in known)
            if slices:
                request = NearRequest(storage, slices, self.column, queries, self.metric, count)
                answer = index.near(request)
                # Rows of slices that the read does not have would be others than its own.
                known.update((s, answer[s]) for s in slices if s in answer)
        return known

    def _moved(self, history: Any, slice_: FileSlice) -> bool:
        """Whether a file has the column under another name, or another one under its name."""
        if history is None:
            return False
        names = history.names(slice_.instant)
        return names is not None and bool(names.moves(self.column))

    def _compare(self, found: Nearest, known: Mapping[FileSlice, pa.Array]) -> bool:
        """Compare the rows that the indexes name; whether all of them are there."""
        near = {slice_: keys for slice_, keys in known.items() if len(keys)}
        if not near:
            return True
        wanted = pc.unique(pa.chunked_array(list(near.values()), pa.string()))
        where = pc.field(KEY).isin(wanted)
        # Without slices, as nothing is to be pruned: where the keys lie is known.
        bare = evolve(self.scan.plan, slices=())
        plan = Reads.narrowed(self.scan.source, bare, None, where)
        plan = evolve(plan, slices=tuple(near))
        # The number of rows tells whether an index names what is not there: it is old, then.
        seen: set[str] | None = set() if self.scan.plan.spec.where is None else None
        for batch in _closing(evolve(self.scan, plan=plan)):
            found.add(batch)
            if seen is not None:
                at = batch.column(batch.schema.get_field_index(self.column)).is_valid()
                keys = batch.column(batch.schema.get_field_index(KEY)).filter(at)
                seen.update(keys.to_pylist())  # few: those that were asked for
        return seen is None or len(seen) == len(wanted)

    def _compare_rest(self, found: Nearest, known: Mapping[FileSlice, pa.Array]) -> None:
        rest = tuple(s for s in self.scan.plan.slices if s not in known)
        if rest:
            for batch in _closing(evolve(self.scan, plan=evolve(self.scan.plan, slices=rest))):
                found.add(batch)


def _closing(rows: Rows) -> Iterator[pa.RecordBatch]:
    """The batches; files are closed even if the search fails."""
    batches: Any = rows.to_batches()
    with closing(batches):
        yield from batches
