"""The vectors that are searched for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hoodoo.errors import ConfigError
from numpy.typing import NDArray

_FIX = "Give a vector such as [0.1, 0.7], or a 2-D array with one vector in each row."


def queries_of(vector: Any, column: str, kind: pa.DataType) -> tuple[NDArray[np.floating], bool]:
    """``vector`` as a matrix with one query in each row, and whether several were given (2-D).

    ``kind`` is the type of the numbers of ``column``: a query of a column of float32 is rounded as
    the stored vectors were. Raises ConfigError for anything but finite numbers.
    """
    obj = f"the vector to search for in column {column}"
    try:
        given = np.asarray(_plain(vector))
    except (
        ValueError,
        TypeError,
        pa.ArrowException,
    ):  # vectors of different lengths, or no numbers
        raise ConfigError(obj, "is not a vector, and not a matrix of vectors.", _FIX) from None
    if given.dtype.kind not in "fiu":
        raise ConfigError(obj, f"has other values than numbers ({_first_other(given)!r}).", _FIX)
    if given.ndim not in (1, 2) or not given.size:
        raise ConfigError(obj, f"has the shape {given.shape}.", _FIX)
    with np.errstate(over="ignore"):
        rows = np.atleast_2d(given).astype(np.float32 if kind == pa.float32() else np.float64)
    if not np.isfinite(rows).all():
        raise ConfigError(
            obj,
            f"has NaN, infinity, or a number that is too large for {kind}.",
            "Search for a vector of finite numbers.",
        )
    return np.ascontiguousarray(rows), given.ndim == 2


def _plain(vector: Any) -> Any:
    """Arrow's lists as what NumPy makes an array of."""
    if isinstance(vector, pa.Scalar):
        return vector.as_py()
    if isinstance(vector, (pa.Array, pa.ChunkedArray)):  # few: these are the queries, not the rows
        return vector.to_pylist()
    return vector


def _first_other(given: NDArray[Any]) -> Any:
    """A value that is no number, to be named in an error."""
    values = given.ravel().tolist()
    return next((v for v in values if type(v) not in (int, float)), values[0] if values else None)
