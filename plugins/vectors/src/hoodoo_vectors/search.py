"""The nearest rows of a read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.hookspecs.registration import Settings
from hoodoo_rows.api import Reads, Rows, Scan
from numpy.typing import NDArray

from hoodoo_vectors.approximate import approximate as by_indexes
from hoodoo_vectors.metrics import NAMES
from hoodoo_vectors.nearest import Nearest
from hoodoo_vectors.queries import queries_of
from hoodoo_vectors.stored import KEY, PATH, numbers_of

DISTANCE, QUERY = "_distance", "_query"


def search(
    self: Rows,
    column: str,
    vector: Any,
    k: int = 10,
    metric: str = "l2",
    approximate: bool = False,
) -> pa.Table:
    """The ``k`` rows of the read whose vectors in ``column`` are nearest to ``vector``, the nearest
    first, with the distance in the column ``_distance``. The arguments, ``metric`` and
    ``approximate`` too, are those of ``table.search``. Rows at the same distance come in the order
    of their record keys if the read has the column ``_hoodie_record_key``, otherwise in that of the
    read.

    Raises what ``table.search`` raises.
    """
    names = self.schema.names
    rows = self
    if approximate and isinstance(self, Scan):  # the keys are what indexes name rows by
        needed = [*names, *(name for name in (KEY, PATH) if name not in names)]
        rows = evolve(self, plan=Reads.narrowed(self.source, self.plan, needed))
    return nearest(rows, Asked(column, vector, k, metric, approximate), names)


@frozen
class Asked:
    """The arguments of a search. ``settings``: those that the plugins of indexes get; None: the
    properties of the table alone."""

    column: str
    vector: Any = field(repr=False)
    k: int = 10
    metric: str = "l2"
    approximate: bool = False
    settings: Settings | None = field(default=None, repr=False)


def nearest(rows: Rows, asked: Asked, columns: Sequence[str]) -> pa.Table:
    """:func:`search` with ``columns`` of its result."""
    column, k, metric = asked.column, asked.k, asked.metric
    if isinstance(k, bool) or k < 1:
        raise ConfigError(f"k={k!r}", "is not a number of rows.", "Give 1 or more, such as k=10.")
    if metric not in NAMES:
        raise ConfigError(f"metric={metric!r}", "is not known.", f"Give one of {', '.join(NAMES)}.")
    queries, several = queries_of(asked.vector, column, numbers_of(rows.schema, column))
    added = [QUERY, DISTANCE] if several else [DISTANCE]
    for name in added:
        if name in columns:
            raise SchemaError(
                f"column {name}",
                "is the name of a column that the search adds.",
                "Name other columns of the table in columns.",
            )
    ties = tuple(name for name in (KEY, PATH) if name in rows.schema.names)
    name = NAMES[metric]

    def fresh(queries: NDArray[np.floating]) -> Nearest:
        return Nearest(column, queries, name, k, rows.schema, ties)

    found = None
    if asked.approximate:
        found = by_indexes(rows, asked.settings, (column, name, k), fresh, queries)
    table, numbers, distances = _together(found or [_whole(rows, fresh(queries))])
    table = table.select(list(columns))
    if several:
        table = table.append_column(QUERY, pa.array(numbers, pa.int64()))
    return table.append_column(DISTANCE, pa.array(distances, pa.float64()))


def _whole(rows: Rows, found: Nearest) -> Nearest:
    """The exact search: all rows are compared."""
    batches = rows.to_batches()
    try:
        for batch in batches:
            found.add(batch)
    finally:
        close = getattr(batches, "close", None)
        if close is not None:  # a generator, whose files would stay open for some time
            close()
    return found


def _together(found: list[Nearest]) -> tuple[pa.Table, NDArray[np.int64], NDArray[np.float64]]:
    """One result for all queries, or one for each of them."""
    parts = [one.result() for one in found]
    if len(parts) == 1:
        return parts[0]
    numbers = [np.full(len(rows), at) for at, (rows, _numbers, _far) in enumerate(parts)]
    tables, far = [rows for rows, _numbers, _far in parts], [apart for *_, apart in parts]
    return pa.concat_tables(tables), np.concatenate(numbers), np.concatenate(far)
