"""How the rows of buckets are put into those that they become.

Source: ``SparkConsistentBucketClusteringExecutionStrategy`` of Hudi 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from attrs import evolve, field, frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.meta import RECORD_KEY
from hoodoo_clustering.hookspecs.clustering import ClusteredGroup, ClusteredTable

from hoodoo_hashing.index import ConsistentIndex, owners
from hoodoo_hashing.pending import children_of
from hoodoo_hashing.planner import index_of
from hoodoo_hashing.ring import DELETE, Node

_SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"


@frozen
class IntoBuckets:
    """Implements :class:`~hoodoo_clustering.hookspecs.clustering.Clustering`; ``columns`` is what
    the rows of a bucket are sorted by."""

    columns: tuple[str, ...] = ()
    sample_rows: int = 0
    index: ConsistentIndex | None = field(default=None, eq=False)

    @classmethod
    def from_settings(cls, settings: Settings) -> IntoBuckets:
        named = settings.options.get(_SORT_COLUMNS) or ""
        return cls(tuple(name.strip() for name in named.split(",") if name.strip()))

    def of_table(self, table: ClusteredTable) -> IntoBuckets:
        return evolve(self, index=index_of(table))

    def fitted(self, sample: pa.Table) -> IntoBuckets:
        return self

    def keys(self, rows: pa.Table) -> Sequence[pa.ChunkedArray | pa.Array]:
        return [rows.column(name) for name in self.columns]

    def told(self, groups: Sequence[ClusteredGroup]) -> Mapping[str, str]:
        return {}

    def file_ids(self, extra: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(node.file_id for node in _nodes(extra))

    def file_of(self, rows: pa.Table, extra: Mapping[str, str]) -> pa.Array:
        assert self.index is not None
        keys = rows.column(RECORD_KEY)
        if pa.types.is_dictionary(keys.type):
            keys = keys.cast(pa.string())
        if isinstance(keys, pa.ChunkedArray):
            keys = keys.combine_chunks()
            keys = pa.concat_arrays(keys.chunks) if isinstance(keys, pa.ChunkedArray) else keys
        return pa.array(owners(_nodes(extra), self.index.hashes(keys)))


def _nodes(extra: Mapping[str, str]) -> tuple[Node, ...]:
    """What a group becomes. Its buckets are neighbours: which of these owns a hash is the same as
    in the whole ring."""
    children = children_of(extra, "the plan of a clustering")
    return tuple(sorted(node for node in children if node.tag != DELETE))
