"""Single file: each file slice alone becomes one file, whatever its size, with its rows sorted.

Source: ``SparkSingleFileSortPlanStrategy``, ``SparkSingleFileSortExecutionStrategy`` of Hudi 1.2.0.
As there, where rows go through Spark's own writer, the file is a file group of its own and replaces
the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.hookspecs.registration import Settings

from hoodoo_clustering.hookspecs.clustering import (
    Clusterable,
    ClusteredGroup,
    Clustering,
    ClusteringGroup,
    GroupSizes,
)
from hoodoo_clustering.strategies.every_group import EveryGroup
from hoodoo_clustering.strategies.linear import by_layout


@frozen
class EachAlone(EveryGroup):
    """The largest file slices come first."""

    order: str = "single_file"

    @classmethod
    def from_settings(cls, settings: Settings) -> EachAlone:
        return cls()

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        ordered = sorted(candidates, key=lambda item: (-item.size, item.slice.file_id))
        return [ClusteringGroup((item,), 1) for item in ordered]


@frozen
class SingleFile:
    """Implements :class:`hoodoo_clustering.hookspecs.clustering.Clustering`: the order that the
    layout names."""

    inner: Clustering
    one_file: bool = True

    @classmethod
    def from_settings(cls, settings: Settings) -> SingleFile:
        """ConfigError for a layout that there isn't."""
        return cls(by_layout(settings))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.inner.columns

    @property
    def sample_rows(self) -> int:
        return self.inner.sample_rows

    def fitted(self, sample: pa.Table) -> SingleFile:
        return evolve(self, inner=self.inner.fitted(sample))

    def keys(self, rows: pa.Table) -> Sequence[pa.ChunkedArray | pa.Array]:
        return self.inner.keys(rows)

    def told(self, groups: Sequence[ClusteredGroup]) -> Mapping[str, str]:
        return self.inner.told(groups)
