"""Figures of a layout: how the ranges of files lie along a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from hoodoo.model.brief import listed
from hoodoo_rows.api import Sizes

from hoodoo_clustering.hookspecs.clustering import Bounds


@frozen
class FileRange:
    """A file slice. ``bounds``: of the columns asked for, in their order; None where they are not
    known, as with log files, or all values are null. ``bytes`` of all its files; ``rows``: None if
    nobody has counted."""

    partition: str
    file_id: str
    instant: str
    bytes: int
    rows: int | None
    bounds: tuple[Bounds, ...]


@frozen
class ColumnFigures:
    """How the files lie along a column. ``files`` of known ranges, ``unknown`` others, which every
    reader must open.

    ``depth``: how many files may hold a value, on average over the least and greatest values of all
    files; ``deepest``: the most. ``overlapping``: the share of pairs of files whose ranges share a
    value."""

    column: str
    files: int = 0
    unknown: int = 0
    depth: float = 0.0
    deepest: int = 0
    overlapping: float = 0.0


@frozen
class Layout:
    """The files of a table at one moment. ``as_of``: the instant of the call, None for now."""

    table: str
    columns: tuple[str, ...] = field(repr=listed)
    files: tuple[FileRange, ...] = field(repr=listed)
    as_of: str | None = None
    figures: tuple[ColumnFigures, ...] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        found = (
            column_figures(name, [file.bounds[n] for file in self.files])
            for n, name in enumerate(self.columns)
        )
        object.__setattr__(self, "figures", tuple(found))

    @property
    def sizes(self) -> Sizes:
        """How large the files are."""
        return Sizes.of([file.bytes for file in self.files])


def column_figures(column: str, bounds: Sequence[Bounds]) -> ColumnFigures:
    """The figures of a column, from what each file holds in it."""
    known = [found for found in bounds if found is not None]
    count, unknown = len(known), len(bounds) - len(known)
    if not known:
        return ColumnFigures(column, 0, unknown, float(unknown), unknown)
    low, high = _ranks(known)
    low.sort()
    high.sort()
    ends = np.concatenate((low, high))
    # Of a value: the files that have begun by then, without those that have ended before.
    depths = np.searchsorted(low, ends, "right") - np.searchsorted(high, ends, "left")
    apart = int(np.searchsorted(high, low, "left").sum())
    pairs = count * (count - 1) // 2
    return ColumnFigures(
        column,
        count,
        unknown,
        float(depths.mean()) + unknown,
        int(depths.max()) + unknown,
        (pairs - apart) / pairs if pairs else 0.0,
    )


def _ranks(known: Sequence[tuple[Any, Any]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The ends as numbers in the same order: values of any type, compared once."""
    place = {value: n for n, value in enumerate(sorted({end for ends in known for end in ends}))}
    found = np.array([(place[low], place[high]) for low, high in known], np.int64)
    return found[:, 0].copy(), found[:, 1].copy()
