"""Curves: orders through several columns at once, so that rows near each other in any of them stay
near.

Source: RFC-28; Hudi's options ``hoodie.layout.optimize.*``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings

from hoodoo_clustering.hookspecs.clustering import ClusteredGroup
from hoodoo_clustering.options import SORT_COLUMNS as COLUMNS
from hoodoo_clustering.strategies.orders import METHOD, SAMPLE
from hoodoo_clustering.strategies.ranks import Ranks, Words, direct
from hoodoo_clustering.strategies.tell import tell

_MOST_COLUMNS = 8
# Of a column, in a key of one word: a sample tells no more values apart.
_MOST_BITS = 16
_WORD = 64
# Rows that are worked on at a time: what stays in the processor's caches.
_BLOCK = 1 << 14

C = TypeVar("C", bound="Curve")


@frozen(eq=False)
class Curve:
    """Implements :class:`hoodoo_clustering.hookspecs.clustering.Clustering`. ``sample_rows`` 0: by
    the values' bits."""

    columns: tuple[str, ...]
    sample_rows: int = SAMPLE.initial
    ranks: tuple[Ranks, ...] = field(default=(), repr=False)

    @classmethod
    def from_settings(cls: type[C], settings: Settings) -> C:
        """ConfigError without columns, with too many, and for what the other options don't know."""
        columns = sort_columns(settings)
        if not 1 <= len(columns) <= _MOST_COLUMNS:
            raise ConfigError(
                f"option {COLUMNS.key}",
                f"names {len(columns)} columns.",
                f"Name 1 to {_MOST_COLUMNS} for a curve.",
            )
        sampled = METHOD.read(settings.options) == "SAMPLE"
        return cls(columns, SAMPLE.read(settings.options) if sampled else 0)

    @property
    def bits(self) -> int:
        """Of each column's ranks."""
        return min(_MOST_BITS, _WORD // len(self.columns)) if self.ranks else _WORD

    def fitted(self: C, sample: pa.Table) -> C:
        bits = min(_MOST_BITS, _WORD // len(self.columns))
        return evolve(self, ranks=tuple(Ranks.of(sample.column(n), bits, n) for n in self.columns))

    def keys(self, rows: pa.Table) -> Sequence[pa.ChunkedArray | pa.Array]:
        """Along a curve through one column there is nothing but the column."""
        if len(self.columns) == 1:
            return [rows.column(self.columns[0])]
        if self.ranks:
            named = zip(self.columns, self.ranks, strict=True)
            axes = [ranks(rows.column(name), name) for name, ranks in named]
        else:
            axes = [direct(rows.column(name), name) for name in self.columns]
        return [pa.array(words) for words in self._by_blocks(axes)]

    @staticmethod
    @abstractmethod
    def index(axes: Sequence[Words], bits: int) -> list[Words]:
        """The place on the curve of each point with the coordinates ``axes``, of ``bits`` bits:
        words of 64 bits, the most significant first."""

    def told(self, groups: Sequence[ClusteredGroup]) -> Mapping[str, str]:
        return tell(type(self).__name__.lower(), self.columns, groups)

    def _by_blocks(self, axes: Sequence[Words]) -> list[Words]:
        starts = range(0, len(axes[0]), _BLOCK) or range(1)
        parts = [self.index([a[s : s + _BLOCK] for a in axes], self.bits) for s in starts]
        return [np.concatenate(words) for words in zip(*parts, strict=True)]


def sort_columns(settings: Settings) -> tuple[str, ...]:
    """The columns that the plan's parameters name, each once."""
    return COLUMNS.given(settings.options) or ()
