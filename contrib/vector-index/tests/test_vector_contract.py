"""The suites that every index of vectors, and every participant, runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.testing.contracts.crash import CrashTrials
from hoodoo.testing.contracts.participant import ParticipantContract
from hoodoo_vectors.testing.vector_index import VectorIndexContract

SMALL = {"hoodoo.index.vector.least.rows": "1", "hoodoo.index.vector.share": "1"}


class TestIndex(VectorIndexContract):
    def options(self, folder: Path) -> Mapping[str, str]:
        return {**SMALL, "hoodoo.index.vector.columns": "e, e cosine, e dot"}


class TestParticipant(ParticipantContract):
    SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("e", pa.list_(pa.float32()))])

    def rows(self, first: int, count: int, n: int = 0) -> pa.Table:
        ids = list(range(first, first + count))
        vectors = [[float(i), float(n)] for i in ids]
        return pa.table([ids, [n] * count, vectors], schema=self.SCHEMA)

    @pytest.fixture
    def table(self, tmp_path: Path) -> Any:
        return hoodoo.create(
            str(tmp_path / "t"),
            self.SCHEMA,
            record_key="id",
            options={**SMALL, "hoodoo.index.vector.columns": "e"},
        )

    @pytest.fixture
    def said(self) -> Callable[[Any], object]:
        def nearest(table: Any) -> object:
            return table.search("e", [4.0, 0.0], 20, approximate=True).to_pylist()

        return nearest


class TestCrashes(CrashTrials):
    """A process that ends at any step leaves a search that is right."""

    every = 9
    operations = {
        **{name: CrashTrials.operations[name] for name in ("upsert", "rollback", "cluster")},
        "index": lambda t: t.run("index_vectors", again=True),
    }

    def options(self, folder: Path) -> Mapping[str, str]:
        return {**SMALL, "hoodoo.index.vector.columns": "e"}

    def prepare(self, table: Any) -> None:
        """The suite's tables have no vectors: they get a column of them, of a row each."""
        super().prepare(table)
        table.alter(add={"e": "VECTOR(2)"})
        rows = {"id": [1, 3, 7], "v": ["e"] * 3, "region": ["a", "b", "b"]}
        table.upsert(pa.table({**rows, "e": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]}))

    def check(self, table: Any) -> None:
        if "e" not in table.schema.names:
            return
        for query in ([1.0, 0.0], [0.2, 0.9]):
            exact = table.search("e", query, 5)
            assert table.search("e", query, 5, approximate=True).equals(exact)
