"""The report ``vector_index``: how many files have an index, and the recall of its answers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo_rows.api import Scan
from numpy.typing import NDArray

from hoodoo_vector_index.build import scan_of
from hoodoo_vector_index.columns import Indexed, indexed
from hoodoo_vector_index.index import IvfIndex
from hoodoo_vector_index.plugin import COLUMNS, MEMORY, SHARE
from hoodoo_vector_index.segments import segment_of

Vectors = NDArray[np.float64]


@frozen
class Known:
    """``files``: the file slices of the newest snapshot, of which ``indexed`` have an index;
    ``why``: reason -> number of the others. ``recall``: the share of the ``k`` nearest vectors that
    the index finds, for ``sample`` vectors of the table; None if no file has an index."""

    column: str
    metric: str
    files: int
    indexed: int
    why: dict[str, int]
    k: int
    sample: int
    recall: float | None


@frozen
class OfVectorIndex:
    """Implements :class:`~hoodoo.hookspecs.report.Reporter`."""

    settings: Settings
    index: IvfIndex

    @classmethod
    def from_settings(cls, settings: Settings) -> OfVectorIndex:
        return cls(settings, IvfIndex.from_settings(settings))

    def report(self, source: ReadSource, k: int = 10, sample: int = 50) -> tuple[Known, ...]:
        """A :class:`Known` for each indexed column. Reads all vectors of the table twice: to choose
        ``sample`` of them, and for the exact search."""
        each = indexed({**source.config.properties, **self.settings.options})
        if not each:
            raise ConfigError(
                "the report vector_index", "has no columns.", f"Give the option {COLUMNS.key}."
            )
        return tuple(self._known(source, one, k, sample) for one in each)

    def _known(self, source: ReadSource, one: Indexed, k: int, sample: int) -> Known:
        # A read has the properties of its table and no options: the options become properties.
        share, memory = self.settings.value(SHARE), self.settings.value(MEMORY)
        given = {SHARE.key: SHARE.spell(share), MEMORY.key: MEMORY.spell(memory)}
        config = TableConfig({**source.config.properties, **given})
        scan = scan_of(evolve(source, config=config), one)
        slices = scan.plan.slices
        why: dict[str, int] = {}
        count = 0
        for slice_ in slices:
            said = self._why(source, one, slice_)
            count += not said
            if said:
                why[said] = why.get(said, 0) + 1
        queries = _sample(scan, sample) if count else np.empty((0, 0))
        recall = self._recall(scan, one, queries, k) if len(queries) else None
        return Known(one.column, one.metric, len(slices), count, why, k, len(queries), recall)

    def _why(self, source: ReadSource, one: Indexed, slice_: FileSlice) -> str:
        if slice_.base_file is None or slice_.row_logs:
            return "log files"
        found = segment_of(source.storage, one, slice_.base_file, self.index.memory)
        return "not indexed yet" if found is None else found.why

    def _recall(self, scan: Scan, one: Indexed, queries: Vectors, k: int) -> float:
        """The share of the ``k`` nearest others that the index finds. Each vector finds itself too,
        which does not count. Any vector at the distance of the last exact one is right."""
        exact, asked = (
            scan.search(one.column, queries, k + 1, one.metric, approximate=by_index)
            for by_index in (False, True)
        )
        found = 0
        for number in range(len(queries)):
            mine = (each.filter(pc.field("_query") == number) for each in (exact, asked))
            truth, answer = (table.column("_distance").to_numpy() for table in mine)
            found += int((answer <= truth[-1]).sum()) - 1
        others = exact.num_rows - len(queries)
        return found / others if others else 1.0  # a table with one vector


def _sample(scan: Scan, count: int) -> Vectors:
    """At most ``count`` vectors, from rows at equal distances over the whole table."""
    step, before, found = max(1, -(-scan.count() // max(count, 1))), 0, []
    for batch in scan:
        places = np.arange(-before % step, batch.num_rows, step)
        before += batch.num_rows
        found += batch.column(1).take(pa.array(places)).drop_null().to_pylist()
    return np.asarray(found[:count], np.float64)
