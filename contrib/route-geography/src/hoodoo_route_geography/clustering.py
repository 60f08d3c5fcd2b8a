"""Flights by the geography of their route.

Sorted by the code of an airport, flights to Boston lie beside those to Bogotá. Here a file holds
flights that leave from one region and land in one region, so that who asks about a region opens few
files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo_clustering.hookspecs.clustering import ClusteredGroup

from hoodoo_route_geography.airports import read_airports
from hoodoo_route_geography.curve import Words, along, on_map


@frozen(eq=False)
class RouteGeography:
    """Implements :class:`hoodoo_clustering.hookspecs.clustering.Clustering`. ``columns``: of the
    codes of the airports that flights leave from and go to. ``airports``: faa, lat, lon."""

    airports: pa.Table
    columns: tuple[str, ...] = ("origin", "dest")
    sample_rows: int = 0  # where airports are is known: nothing has to be learnt from rows

    @classmethod
    def from_settings(cls, settings: Settings) -> RouteGeography:
        """ConfigError for other than two columns, and for airports that can't be read."""
        text = settings.options.get("hoodoo.route_geography.columns") or "origin,dest"
        columns = tuple(name.strip() for name in text.split(","))
        if len(columns) != 2 or not all(columns):
            raise ConfigError(
                "option hoodoo.route_geography.columns",
                f"is {text!r}.",
                "Name two columns, of the airports a flight leaves from and goes to.",
            )
        return cls(read_airports(settings.options.get("hoodoo.route_geography.airports")), columns)

    def fitted(self, sample: pa.Table) -> RouteGeography:
        return self

    def keys(self, rows: pa.Table) -> Sequence[pa.ChunkedArray | pa.Array]:
        """The place of the route on a curve through both ends; then the codes, which tell apart
        airports that nobody knows the place of."""
        places = [self._places(rows.column(name)) for name in self.columns]
        axes = [axis for place in places for axis in place]
        return [pa.array(along(axes)), *(rows.column(name) for name in self.columns)]

    def told(self, groups: Sequence[ClusteredGroup]) -> Mapping[str, str]:
        files = [file for group in groups for file in group.files]
        return {
            "hoodoo.route_geography": json.dumps(
                {"files": len(files), "airports": self.airports.num_rows}
            )
        }

    def _places(self, codes: pa.ChunkedArray) -> tuple[Words, Words]:
        """On the map; (0, 0), beside it, for a code that is null or unknown."""
        plain = codes.cast(pa.string())
        found = pc.index_in(plain, value_set=self.airports.column("faa").cast(pa.string()))
        known = pc.is_valid(found).to_numpy()
        at = pc.fill_null(found, 0).to_numpy()
        if not self.airports.num_rows:
            nowhere = np.zeros(len(codes), np.uint64)
            return nowhere, nowhere.copy()
        across, up = on_map(self._degrees("lat"), self._degrees("lon"))
        nowhere = np.uint64(0)
        return np.where(known, across[at], nowhere), np.where(known, up[at], nowhere)

    def _degrees(self, name: str) -> Any:
        return self.airports.column(name).cast(pa.float64()).to_numpy()
