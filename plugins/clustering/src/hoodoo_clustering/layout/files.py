"""Layout: which values of a column each file holds, and how many files a reader of one value must
open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from hoodoo.errors import SchemaError
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.brief import listed
from hoodoo_rows.api import Reads, Sizes, StoredFiles

from hoodoo_clustering.bounds import kind_of, with_bounds
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
class LayoutReport:
    """A table at one moment. ``as_of``: the instant that was asked for, None for now."""

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

    def drawn(self, after: LayoutReport | None = None) -> str:
        """A picture of it, as the text of an SVG file; ``after`` is drawn beside it, on the same
        axes."""
        from hoodoo_clustering.layout.drawing import svg

        return svg(self, after)


def table_layout(
    source: ReadSource,
    columns: Sequence[str],
    partitions: Iterable[str] | None = None,
    as_of: str | date | int | None = None,
) -> LayoutReport:
    """The newest slices, or those of ``as_of``, with the ranges of ``columns`` (fields of structs:
    ``outer.inner``); of these partition paths only, if some are given, and of those below them.
    Reads the metadata table where it knows the ranges, else the footers of base files.

    Raises SchemaError for a column that there isn't, or whose values have no order; ConfigError for
    a point in time that is none, or whose files have been cleaned."""
    plan = Reads.plan(source, as_of=as_of)
    # As they are now, so that what was before can be laid beside it.
    file_format = StoredFiles.format(source)
    _, schema = StoredFiles.schema(source, file_format, None, plan.slices)
    for column in columns:
        if kind_of(schema, column) is None:
            raise SchemaError(
                f"column {column!r}",
                "the table has no column of that name whose values have an order.",
                "Name some of "
                f"{', '.join(n for n in schema.names if kind_of(schema, n) is not None)}.",
            )
    wanted = None if partitions is None else [path.strip("/") for path in partitions]
    slices = [s for s in plan.slices if wanted is None or _below(s.partition_path, wanted)]
    found = with_bounds(source.snapshot, file_format, schema, slices, columns)
    files = tuple(
        FileRange(
            item.slice.partition_path,
            item.slice.file_id,
            item.slice.instant,
            item.size,
            item.rows,
            tuple(item.bounds.get(column) for column in columns),
        )
        for item in found
    )
    name = source.config.name or source.storage.root
    return LayoutReport(name, tuple(columns), files, plan.as_of)


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


def _below(path: str, wanted: Sequence[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") or not one for one in wanted)
