"""Exact search of vectors: beside one pass of NumPy over the bytes in memory, beside the read of the column, and
beside DuckDB and Lance, which search in files of their own. All find the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
from hoodoo_vectors.nearest import Nearest

from tests.bench.measure import Report

ROWS, DIMENSION, K, MANY = 250_000, 256, 10, 64
IN_MEMORY, OF_READ = 1.2, 1.2
_BATCH = 1 << 16


def run(report: Report, folder: str, scale: float, runs: int) -> None:
    count = max(10_000, int(ROWS * scale))
    vectors = np.random.default_rng(11).standard_normal((count, DIMENSION), np.float32)
    _in_memory(report, vectors, runs)
    _in_files(report, folder, vectors, runs)


def _in_memory(report: Report, vectors: Any, runs: int) -> None:
    """Vectors as Arrow has them, one query and many; nothing is decoded."""
    offsets = np.arange(0, vectors.size + 1, DIMENSION, dtype=np.int32)
    batch = pa.record_batch({"e": pa.ListArray.from_arrays(offsets, vectors.ravel())})

    def search(queries: Any, metric: str) -> None:
        nearest = Nearest("e", queries, metric, K, batch.schema, ())
        for start in range(0, len(vectors), _BATCH):
            nearest.add(batch.slice(start, _BATCH))
        assert nearest.result()[1].tolist() == np.repeat(np.arange(len(queries)), K).tolist()

    calls: dict[str, Callable[[int], Any]] = {
        "vectors: sum of all numbers in memory": lambda _: vectors.sum()
    }
    for metric in ("l2", "cosine", "dot"):
        calls[f"vectors: {metric} in memory"] = lambda _, m=metric: search(vectors[:1], m)
    report.in_turn(calls, runs, IN_MEMORY)
    each = {
        "vectors: one product of matrices": lambda _: vectors @ vectors[:MANY].T,
        f"vectors: {MANY} queries in memory": lambda _: search(vectors[:MANY], "l2"),
    }
    report.in_turn(each, runs)


def _in_files(report: Report, folder: str, vectors: Any, runs: int) -> None:
    data = pa.table(
        {
            "id": np.arange(len(vectors)),
            "e": pa.FixedSizeListArray.from_arrays(vectors.ravel(), DIMENSION),
        }
    )
    table = hoodoo.create(f"{folder}/vectors", data.schema, record_key="id")
    table.bulk_insert(data)
    query = vectors[len(vectors) // 2]
    expected = sorted(table.search("e", query, K, columns=["id"])["id"].to_pylist())
    brute = np.argpartition(((vectors - query) ** 2).sum(axis=1), K)[:K]
    assert expected == sorted(brute.tolist())

    def read(_: int) -> None:
        columns = ["e", "_hoodie_record_key", "_hoodie_partition_path"]
        assert sum(batch.num_rows for batch in table.read(columns)) == len(vectors)

    def search(_: int) -> None:
        assert sorted(table.search("e", query, K, columns=["id"])["id"].to_pylist()) == expected

    report.in_turn({"vectors: read the column": read, "vectors: search": search}, runs, OF_READ)
    others: dict[str, Callable[[int], Any]] = {"vectors: search in the table": search}
    others["vectors: DuckDB on its own file"] = _duckdb(folder, data, query, expected)
    lance = _lance(folder, data, query, expected)
    if lance is not None:
        others["vectors: Lance without an index"] = lance
    report.in_turn(others, runs)


def _duckdb(folder: str, data: pa.Table, query: Any, expected: list[int]) -> Callable[[int], Any]:
    import duckdb

    path = Path(folder) / "vectors.duckdb"
    with duckdb.connect(str(path)) as made:
        made.register("data", data)
        made.execute(f"CREATE TABLE v AS SELECT id, e::FLOAT[{DIMENSION}] AS e FROM data")
    text = f"SELECT id FROM v ORDER BY array_distance(e, ?::FLOAT[{DIMENSION}]) LIMIT {K}"

    def search(_: int) -> None:
        with duckdb.connect(str(path), read_only=True) as opened:
            found = opened.execute(text, [query.tolist()]).fetchall()
        assert sorted(row[0] for row in found) == expected

    return search


def _lance(
    folder: str, data: pa.Table, query: Any, expected: list[int]
) -> Callable[[int], Any] | None:
    try:
        import lance
    except ImportError:
        return None
    lance.write_dataset(data, f"{folder}/vectors.lance")

    def search(_: int) -> None:
        nearest = {"column": "e", "q": query, "k": K}
        found = lance.dataset(f"{folder}/vectors.lance").to_table(columns=["id"], nearest=nearest)
        assert sorted(found["id"].to_pylist()) == expected

    return search
