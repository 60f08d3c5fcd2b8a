"""Data frames of all rows of a read."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hoodoo.errors import EngineError
from hoodoo_rows.api import Rows

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def to_pandas(self: Rows, **options: Any) -> pd.DataFrame:
    """All rows as a pandas DataFrame; ``options`` are those of ``pyarrow.Table.to_pandas``.

    Raises EngineError if pandas is not installed.
    """
    if find_spec("pandas") is None:
        raise absent("to_pandas", "pandas")
    return self.to_arrow().to_pandas(**options)


def to_polars(self: Rows) -> pl.DataFrame:
    """All rows as a polars DataFrame. Raises EngineError if polars is not installed."""
    try:
        import polars
    except ImportError as error:
        raise absent("to_polars", "polars") from error
    return polars.from_arrow(self.to_arrow())


def absent(function: str, library: str) -> EngineError:
    return EngineError(
        function, f"needs {library}, which is not installed.", f"pip install {library}."
    )
