"""Frames of a whole table: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from hoodoo.table.handle import TableHandle
from hoodoo_rows.api import Reads

from hoodoo_frames import eager

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def to_pandas(
    table: TableHandle,
    columns: Sequence[str] | None = None,
    where: Any = None,
    as_of: str | date | int | None = None,
) -> pd.DataFrame:
    """All rows as a pandas DataFrame. The arguments are those of ``read``. Raises EngineError if
    pandas is not installed."""
    return eager.to_pandas(Reads.read(table, columns, where, as_of))


def to_polars(
    table: TableHandle,
    columns: Sequence[str] | None = None,
    where: Any = None,
    as_of: str | date | int | None = None,
) -> pl.DataFrame:
    """All rows as a polars DataFrame; ``hoodoo.scan_polars`` reads only what a query needs. The
    arguments are those of ``read``. Raises EngineError if polars is not installed."""
    return eager.to_polars(Reads.read(table, columns, where, as_of))
