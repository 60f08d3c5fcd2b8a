"""The suite that every merger runs, ours or a stranger's."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hoodoo.errors import MissingColumnError
from hoodoo.hookspecs.merger import Merger
from hoodoo.testing.contracts.merger import MergerContract
from hoodoo_keep_first import KeepFirst


class TestKeepFirst(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        return KeepFirst()


class TestUnlessNull(MergerContract):
    @pytest.fixture
    def merger(self) -> Merger:
        return KeepFirst(unless_null="email")


@pytest.mark.parametrize(
    ("older", "newer", "wins"),
    [("a", "b", False), ("a", None, False), (None, "b", True), (None, None, False)],
)
def test_null_gives_way(older: str | None, newer: str | None, wins: bool) -> None:
    one, other = (pa.table({"email": pa.array([v], pa.string())}) for v in (older, newer))
    assert KeepFirst("email").merge(one, other).newer_wins.to_pylist() == [wins]


def test_names_the_column_it_misses() -> None:
    rows = pa.table({"name": ["a"]})
    with pytest.raises(MissingColumnError, match=r"column email"):
        KeepFirst("email").merge(rows, rows)
