"""Five hundred tables: their list costs seconds, and one server of all of them stays small."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests/bench"))

import many_tables

MANY = 500
MOST_MB = 400


@pytest.mark.trial
def test_five_hundred_tables(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    many_tables.make(lake, MANY)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    listed = many_tables.timed("ls", str(lake), "--json")
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert (listed["exit"], listed["tables"]) == (0, MANY)
    assert took < 10, f"{took:.1f} s"  # of processor time: a busy machine is no failure
    served = many_tables.served(str(lake), [], 1200.0)
    assert served["tables"] == MANY and served["first_of_all"], served
    assert int(str(served["peak_mb"])) < MOST_MB, served
