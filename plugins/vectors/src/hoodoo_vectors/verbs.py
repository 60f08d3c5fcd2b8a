"""Calls that become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve
from hoodoo.table.handle import TableHandle
from hoodoo_rows.api import Reads

from hoodoo_vectors.search import Asked, nearest
from hoodoo_vectors.stored import KEY, PATH


def search(
    table: TableHandle,
    column: str,
    vector: Any,
    k: int = 10,
    metric: str = "l2",
    where: Any = None,
    columns: Sequence[str] | None = None,
    approximate: bool = False,
) -> pa.Table:
    """The ``k`` rows of the newest snapshot whose vectors in ``column`` are nearest to ``vector``,
    the nearest first, as a pyarrow Table with the distance in the column ``_distance``. The search
    is exact, unless it may be ``approximate``: then an index of a plugin, such as
    hoodoo-vector-index, says which rows are compared, and some of the nearest may be missing.
    Distances are exact, and what the index does not know is searched whole.

    ``column`` has lists of float, double or int8, of one length; rows with null are left out.
    ``vector`` is a list, a NumPy or an Arrow array of that length. A 2-D array is a vector in each
    row: the result has ``k`` rows for each, with its number in the column ``_query``. ``metric`` is
    ``"l2"`` (Euclidean distance), ``"cosine"`` (1 minus the cosine; 1.0 for a vector of zeros), or
    ``"dot"`` (the negated inner product), as in Hudi's ``hudi_vector_search``. ``where`` and
    ``columns`` are those of ``read``; ``columns`` need not contain ``column``.

    Raises SchemaError for a column that is missing or has no vectors, for stored vectors of another
    length, with NaN or null; ConfigError for a vector that is none, an unknown ``metric`` and for
    ``k`` below 1; PluginError for an approximate search where no plugin has an index.
    """
    scan = Reads.read(table, columns, where)
    wanted = scan.schema.names
    needed = [*wanted, *(name for name in (column, KEY, PATH) if name not in wanted)]
    rows = evolve(scan, plan=Reads.narrowed(scan.source, scan.plan, needed))
    asked = Asked(column, vector, k, metric, approximate, table.settings)
    return nearest(rows, asked, wanted)
