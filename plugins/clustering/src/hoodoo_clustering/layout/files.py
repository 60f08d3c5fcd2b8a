"""Layout: which values of a column each file holds, and how many files a reader of one value must
open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

from attrs import frozen
from hoodoo.errors import SchemaError
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo_rows.api import Reads, StoredFiles

from hoodoo_clustering.bounds import kind_of, with_bounds
from hoodoo_clustering.layout.figures import FileRange, Layout


@frozen
class LayoutReport(Layout):
    """A table at one moment, which can be drawn."""

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


def _below(path: str, wanted: Sequence[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") or not one for one in wanted)
