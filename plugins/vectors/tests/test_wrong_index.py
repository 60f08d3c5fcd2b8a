"""An index of vectors that answers wrongly costs time, and no row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from hoodoo_vectors import approximate
from hoodoo_vectors.hookspecs.vector_index import NearRequest

Answer = Callable[[NearRequest], Mapping[Any, pa.Array]]


def shifted(moved: int) -> pa.Table:
    numbers = np.arange(40)
    vectors = np.stack([numbers + moved, numbers * 0 + 1], axis=1).astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 2)
    return pa.table({"id": pa.array(numbers), "e": column})


def older(table: hoodoo.Table) -> Answer:
    """The slices of the table before its last write, which have other rows."""
    before = table.read(as_of=1).plan.slices
    return lambda request: {one: pa.array(["3"]) for one in before}


def another(table: hoodoo.Table) -> Answer:
    return lambda request: {evolve(s, file_id="none"): pa.array(["3"]) for s in request.slices}


def nothing(table: hoodoo.Table) -> Answer:
    return lambda request: {}


def foreign_keys(table: hoodoo.Table) -> Answer:
    return lambda request: {one: pa.array(["77", None]) for one in request.slices}


@pytest.mark.parametrize("wrong", [older, another, nothing, foreign_keys])
def test_the_rows_are_those_of_the_exact_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: Callable[[hoodoo.Table], Answer]
) -> None:
    table = hoodoo.create(str(tmp_path / "t"), "id bigint, e VECTOR(2)", record_key="id")
    table.upsert(shifted(0))
    table.upsert(shifted(100))
    index = SimpleNamespace(near=wrong(table))
    monkeypatch.setattr(
        approximate, "kernel", lambda: SimpleNamespace(offers=lambda family: [index])
    )
    monkeypatch.setattr(approximate, "make", lambda offer, given: offer)
    exact = table.search("e", [3.0, 1.0], k=5)
    assert exact.column("id").to_pylist() == [0, 1, 2, 3, 4]
    assert table.search("e", [3.0, 1.0], k=5, approximate=True).equals(exact)
    assert table.search("e", [3.0, 1.0], k=1, approximate=True).equals(exact.slice(0, 1))
