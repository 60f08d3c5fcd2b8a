"""What every index of vectors promises: the contract of
:class:`hoodoo_vectors.hookspecs.vector_index.VectorIndex` as tests.

Usage::

    class TestMine(VectorIndexContract):
        recall = 0.9

        def options(self, folder):  # of create and open
            return {"mine.columns": "e"}

        def learn(self, table):  # what brings your index up, where a write does not
            table.run("mine")

The plugin is installed. The suite makes tables of the columns ``id``, ``city`` and ``e``, a
``VECTOR(8)``, of both types, and searches them beside the exact search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.table.table import Table, create
from hoodoo.table.table import open as open_table

DIMENSION = 8
TEXT = "id bigint, city string, e VECTOR(8)"


class VectorIndexContract:
    """Subclass, and say what your plugin needs."""

    # The part of the nearest rows that a search has to find at least.
    recall: ClassVar[float] = 0.9
    metrics: ClassVar[tuple[str, ...]] = ("l2", "cosine", "dot")

    def options(self, folder: Path) -> Mapping[str, str]:
        return {}

    def learn(self, table: Table) -> object:
        """Bring the index up by hand, where a write does not."""

    @pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
    def table(self, tmp_path: Path, request: Any) -> Table:
        path, options = str(tmp_path / "t"), self.options(tmp_path)
        create(
            path,
            TEXT,
            record_key="id",
            partition_by="city",
            table_type=request.param,
            options={**options, "hoodie.compact.inline": "false"},
        )
        return open_table(path, options)

    def rows(self, ids: Any, seed: int = 0) -> pa.Table:
        """Each id has a vector of its own, which follows from the seed; each seventh has none."""
        drawn = np.random.default_rng([seed, 1]).standard_normal((len(ids), DIMENSION), np.float32)
        vectors = [None if i % 7 == 3 else v for i, v in zip(ids, drawn, strict=True)]
        cities = ["oslo" if i % 2 else "rome" for i in ids]
        kind = pa.list_(pa.float32(), DIMENSION)
        return pa.table({"id": list(ids), "city": cities, "e": pa.array(vectors, kind)})

    def compare(self, table: Table, where: Any = None, metric: str = "l2") -> float:
        """What part of the nearest an approximate search finds; all that it says is true."""
        queries = np.random.default_rng(5).standard_normal((12, DIMENSION), np.float32)
        wanted = ["id", "city", "e"]
        each = [
            table.search("e", queries, 6, metric, where, wanted, approximate=by_index)
            for by_index in (False, True)
        ]
        exact, found = (
            {(r["_query"], r["id"]): r["_distance"] for r in one.to_pylist()} for one in each
        )
        assert each[0].schema == each[1].schema and len(exact) == len(found)
        order = [(r["_query"], r["_distance"]) for r in each[1].to_pylist()]
        assert order == sorted(order)
        true = {r["id"]: r for r in table.read(wanted, where).to_pylist()}
        assert all(true[r["id"]]["e"] == r["e"] for r in each[1].to_pylist())
        same = exact.keys() & found.keys()
        assert all(exact[key] == found[key] for key in same)
        return len(same) / len(exact) if exact else 1.0

    def test_most_of_the_nearest_are_found(self, table: Table) -> None:
        table.bulk_insert(self.rows(range(600)))
        self.learn(table)
        for metric in self.metrics:
            assert self.compare(table, metric=metric) >= self.recall

    def test_all_that_is_done_to_a_table(self, table: Table) -> None:
        """Whatever the index has learned of it."""
        done: list[Callable[[], object]] = [
            lambda: table.upsert(self.rows(range(300))),
            lambda: self.learn(table),
            lambda: table.upsert(self.rows(range(100, 400), 1)),
            lambda: table.delete(self.rows(range(50)).select(["id", "city"])),
            lambda: self.learn(table),
            lambda: table.rollback(table.timeline().writes()[-1].requested),
            lambda: table.cluster(),
            lambda: table.upsert(self.rows(range(20), 2)),
            lambda: table.restore(table.timeline().writes()[1].requested),
            lambda: table.clean(),
            lambda: self.learn(table),
        ]
        for step in done:
            step()
            assert self.compare(table) >= self.recall
            assert self.compare(table, "city = 'oslo' and id < 120") >= self.recall

    def test_a_filter_that_leaves_few_rows(self, table: Table) -> None:
        table.bulk_insert(self.rows(range(600)))
        self.learn(table)
        for few in ("id < 9", "id = 598", "id = 599", "id < 0"):
            assert self.compare(table, few) == 1.0

    def test_a_column_that_gets_another_name(self, table: Table) -> None:
        """What was learned of the old name is of it alone."""
        table.upsert(self.rows(range(200)))
        self.learn(table)
        table.alter(rename={"e": "moved"})
        query = [0.5] * DIMENSION
        exact = table.search("moved", query, 6)
        assert table.search("moved", query, 6, approximate=True).equals(exact)

    def test_searching_changes_nothing(self, table: Table, tmp_path: Path) -> None:
        table.upsert(self.rows(range(50)))
        before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        self.compare(table)
        after = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
        assert before == after
