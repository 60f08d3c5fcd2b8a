"""The nearest rows of a read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hoodoo.errors import ConfigError, SchemaError
from hoodoo_rows.api import Rows

from hoodoo_vectors.metrics import NAMES
from hoodoo_vectors.nearest import Nearest
from hoodoo_vectors.queries import queries_of
from hoodoo_vectors.stored import KEY, PATH, numbers_of

DISTANCE, QUERY = "_distance", "_query"


def search(self: Rows, column: str, vector: Any, k: int = 10, metric: str = "l2") -> pa.Table:
    """The ``k`` rows of the read whose vectors in ``column`` are nearest to ``vector``, the nearest
    first, with the distance in the column ``_distance``. The arguments, ``metric`` too, are those
    of ``table.search``. Rows at the same distance come in the order of their record keys if the
    read has the column ``_hoodie_record_key``, otherwise in that of the read.

    Raises what ``table.search`` raises.
    """
    return nearest(self, column, vector, k, metric, self.schema.names)


def nearest(
    rows: Rows, column: str, vector: Any, k: int, metric: str, columns: Sequence[str]
) -> pa.Table:
    """:func:`search` with ``columns`` of its result."""
    if isinstance(k, bool) or k < 1:
        raise ConfigError(f"k={k!r}", "is not a number of rows.", "Give 1 or more, such as k=10.")
    if metric not in NAMES:
        raise ConfigError(f"metric={metric!r}", "is not known.", f"Give one of {', '.join(NAMES)}.")
    queries, several = queries_of(vector, column, numbers_of(rows.schema, column))
    added = [QUERY, DISTANCE] if several else [DISTANCE]
    for name in added:
        if name in columns:
            raise SchemaError(
                f"column {name}",
                "is the name of a column that the search adds.",
                "Name other columns of the table in columns.",
            )
    ties = tuple(name for name in (KEY, PATH) if name in rows.schema.names)
    found = Nearest(column, queries, NAMES[metric], k, rows.schema, ties)
    batches = rows.to_batches()
    try:
        for batch in batches:
            found.add(batch)
    finally:
        close = getattr(batches, "close", None)
        if close is not None:  # a generator, whose files would stay open for some time
            close()
    table, numbers, distances = found.result()
    table = table.select(list(columns))
    if several:
        table = table.append_column(QUERY, pa.array(numbers, pa.int64()))
    return table.append_column(DISTANCE, pa.array(distances, pa.float64()))
