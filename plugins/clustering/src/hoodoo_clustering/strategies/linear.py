"""Linear: rows sorted by columns, the first one first. And Hudi's class that sorts, which may mean
a curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings

from hoodoo_clustering.hookspecs.clustering import ClusteredGroup, Clustering
from hoodoo_clustering.options import LAYOUT
from hoodoo_clustering.strategies.combine import Combine
from hoodoo_clustering.strategies.curve import sort_columns
from hoodoo_clustering.strategies.hilbert import Hilbert
from hoodoo_clustering.strategies.tell import tell
from hoodoo_clustering.strategies.zorder import ZOrder


@frozen
class Linear:
    """Implements :class:`hoodoo_clustering.hookspecs.clustering.Clustering`."""

    columns: tuple[str, ...]
    sample_rows: int = 0

    def fitted(self, sample: pa.Table) -> Linear:
        return self

    def keys(self, rows: pa.Table) -> Sequence[pa.ChunkedArray | pa.Array]:
        """The columns. ConfigError for one whose values have no order."""
        for name in self.columns:
            kind = rows.schema.field(name).type
            if pa.types.is_nested(kind):
                raise ConfigError(
                    f"clustering by column {name}",
                    f"values of type {kind} have no order.",
                    "Name columns of numbers, text, bytes, times or booleans.",
                )
        return [rows.column(name) for name in self.columns]

    def told(self, groups: Sequence[ClusteredGroup]) -> Mapping[str, str]:
        return tell("linear", self.columns, groups)


def by_layout(settings: Settings) -> Clustering:
    """What Hudi's SortAndSize strategies mean: the order that the layout option names; without sort
    columns, none. ConfigError for a layout that there isn't."""
    columns = sort_columns(settings)
    if not columns:
        return Combine()
    layout = LAYOUT.read(settings.options)
    if layout == "LINEAR":
        return Linear(columns)
    if layout == "ZORDER":
        return ZOrder.from_settings(settings)
    return Hilbert.from_settings(settings)
