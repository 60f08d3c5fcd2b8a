"""Leaves: fields of structs, such as ``address.city``, as columns that rows can be sorted by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc


def top(name: str, there: Collection[str]) -> str:
    """The column that ``name`` is, or is in, of a table with the columns ``there``."""
    return name if name in there else name.partition(".")[0]


def tops(names: Iterable[str], there: Collection[str]) -> list[str]:
    """The same of several, each once."""
    return list(dict.fromkeys(top(name, there) for name in names))


def leaf(rows: pa.Table, name: str) -> pa.ChunkedArray:
    """The column ``name`` of ``rows``, or the field of a struct: null where the struct is."""
    if name in rows.schema.names:
        return rows.column(name)
    first, *rest = name.split(".")
    return pc.struct_field(rows.column(first), rest)


def with_leaves(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """``rows`` with all of ``names`` as columns."""
    for name in names:
        if name not in rows.schema.names:
            rows = rows.append_column(name, leaf(rows, name))
    return rows
