"""Exact and approximate search of many vectors, in memory and in a table, beside DuckDB and Lance:

python -m tests.bench.nearest [--rows 1000000] [--dimension 768] [--data clusters|noise] [--others]

Figures are processor time of this process, all its threads, so that others on the machine matter
little; each is the least of some runs. Memory: the vectors, and the index of a quarter of them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
from hoodoo.hookspecs import Settings
from hoodoo_vectors.hookspecs.vector_index import NearRequest
from hoodoo_vectors.nearest import Nearest

from tests.bench import data

K, QUERIES, BLOCK, RUNS = 10, 50, 50_000, 5
_CLUSTERS, _DIRECTIONS = 2000, 96
_BATCH = 1 << 16
_TYPES = {"hoodoo.index.vector.columns": "e"}


def clusters(count: int, dimension: int) -> Iterator[np.ndarray]:
    """Blocks of unit vectors as embeddings of texts are: around centres, of which few have most,
    varying in 96 directions, in the first of them most, and a little in all."""
    draw = np.random.default_rng(0)
    basis = np.linalg.qr(draw.standard_normal((dimension, _DIRECTIONS)))[0].T.astype("f4")
    scale = (1 / np.sqrt(1 + np.arange(_DIRECTIONS))).astype("f4")
    centres = draw.standard_normal((_CLUSTERS, _DIRECTIONS), "f4") * scale
    often = 1 / (1 + np.arange(_CLUSTERS)) ** 0.7
    for start in range(0, count, BLOCK):
        rows = min(BLOCK, count - start)
        chosen = draw.choice(_CLUSTERS, rows, p=often / often.sum())
        within = 0.5 * scale * draw.standard_normal((rows, _DIRECTIONS), "f4")
        found = (centres[chosen] + within) @ basis
        found += np.float32(0.02) * draw.standard_normal((rows, dimension), "f4")
        yield found / np.linalg.norm(found, axis=1, keepdims=True)


def noise(count: int, dimension: int) -> Iterator[np.ndarray]:
    """Numbers that have nothing to do with each other: no index helps much."""
    draw = np.random.default_rng(0)
    for start in range(0, count, BLOCK):
        yield draw.standard_normal((min(BLOCK, count - start), dimension), "f4")


def least(call: Callable[[int], Any], runs: int = RUNS) -> float:
    found = []
    for run in range(runs):
        begun = time.process_time()
        call(run)
        found.append(time.process_time() - begun)
    return min(found)


def say(what: str, seconds: float, against: float | None = None, more: str = "") -> None:
    ratio = "" if against is None else f"  {seconds / against:7.3f} = 1/{against / seconds:.1f}"
    print(f"{what:<58}{seconds * 1000:10.2f} ms{ratio}{more}", flush=True)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=1_000_000)
    asked.add_argument("--dimension", type=int, default=768)
    asked.add_argument("--data", choices=("clusters", "noise"), default="clusters")
    asked.add_argument("--share", help="hoodoo.index.vector.share")
    asked.add_argument("--page", default="1048576", help="hoodie.parquet.page.size, in bytes")
    asked.add_argument("--others", action="store_true", help="Lance and DuckDB, too")
    given = asked.parse_args()
    count, dimension = given.rows, given.dimension
    folder = tempfile.mkdtemp(prefix="hoodoo-nearest-", dir=data.cache())
    try:
        run(folder, count, dimension, given)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: str, count: int, dimension: int, given: argparse.Namespace) -> None:
    made = {"clusters": clusters, "noise": noise}[given.data](count + QUERIES, dimension)
    schema = pa.schema([("id", pa.int64()), ("e", hoodoo.vector(dimension))])
    options = {**_TYPES, "hoodie.parquet.page.size": given.page}
    table = hoodoo.create(f"{folder}/t", schema, record_key="id", options=options)
    vectors = np.empty((count + QUERIES, dimension), "f4")
    at, begun = 0, time.process_time()
    for block in made:
        vectors[at : at + len(block)] = block
        at += len(block)
    drawn, begun = time.process_time() - begun, time.process_time()
    vectors, queries = vectors[:count], vectors[count:].copy()
    for at in range(0, count, 2 * BLOCK):
        part = vectors[at : at + 2 * BLOCK]
        table.bulk_insert(pa.table({"id": np.arange(at, at + len(part)), "e": lists(part)}))
    say(f"draw the vectors ({given.data})", drawn)
    say("write and index", time.process_time() - begun)
    sizes = [p.stat().st_size for p in Path(f"{folder}/t/.hoodie/.hoodoo/vectors").rglob("*_*")]
    print(f"{len(sizes)} files, index: {sum(sizes) / count:.0f} bytes a vector", flush=True)

    wanted = truth(vectors, queries)
    read = least(lambda _: vectors.sum())
    say("sum of all numbers in memory", read)
    exact = least(lambda n: in_memory(vectors, queries[n : n + 1]))
    say("exact search in memory", exact, read, " of the sum")
    share = {} if given.share is None else {"hoodoo.index.vector.share": given.share}
    table = hoodoo.open(f"{folder}/t", share)
    asked_of = index_of(table, share)
    asked_of(queries[:1])
    say("the index alone, in memory", least(lambda n: asked_of(queries[n : n + 1])), exact)
    whole = least(lambda n: table.search("e", queries[n], K, columns=["id"]), 2)
    say("exact search of the table", whole)

    def search(number: int) -> list[int]:
        found = table.search("e", queries[number], K, columns=["id"], approximate=True)
        ids: list[int] = found["id"].to_pylist()
        return ids

    search(0)
    near = least(search)
    right = sum(len(wanted[n] & set(search(n))) for n in range(QUERIES)) / K / QUERIES
    say("approximate search of the table", near, whole, f"  recall {right:.3f}")
    if given.others:
        duckdb_search(folder, vectors, queries, wanted)
        lance_search(folder, vectors, queries, wanted)


def lists(vectors: np.ndarray) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])


def truth(vectors: np.ndarray, queries: np.ndarray) -> list[set[int]]:
    apart = np.empty((len(queries), len(vectors)), "f4")
    for at in range(0, len(vectors), BLOCK):
        part = vectors[at : at + BLOCK]
        apart[:, at : at + BLOCK] = np.einsum("ij,ij->i", part, part) - 2 * queries @ part.T
    return [set(row[:K].tolist()) for row in np.argpartition(apart, K, axis=1)]


def in_memory(vectors: np.ndarray, query: np.ndarray) -> None:
    batch = pa.record_batch({"e": lists(vectors)})
    found = Nearest("e", query, "l2", K, batch.schema, ())
    for start in range(0, len(vectors), _BATCH):
        found.add(batch.slice(start, _BATCH))
    assert len(found.result()[0]) == K


def index_of(table: hoodoo.Table, share: dict[str, str]) -> Callable[[Any], Any]:
    from hoodoo.kernel.registry import kernel
    from hoodoo.kernel.resolve import make

    (offer,) = kernel().offers("vector_index")
    scan = table.read(["e"])
    settings = Settings(table.handle.config, share)
    index, slices = make(offer, settings), tuple(scan.plan.slices)
    storage = table.handle.storage
    return lambda query: index.near(NearRequest(storage, slices, "e", query, "l2", 2 * K))


def duckdb_search(folder: str, vectors: Any, queries: Any, wanted: list[set[int]]) -> None:
    import duckdb

    size = vectors.shape[1]
    opened = duckdb.connect(f"{folder}/v.duckdb")
    each = pa.table({"id": np.arange(len(vectors)), "e": lists(vectors)})
    opened.register("each", each)
    opened.execute(f"CREATE TABLE v AS SELECT id, e::FLOAT[{size}] AS e FROM each")
    text = f"SELECT id FROM v ORDER BY array_distance(e, ?::FLOAT[{size}]) LIMIT {K}"

    def search(number: int) -> None:
        found = opened.execute(text, [queries[number].tolist()]).fetchall()
        assert len({row[0] for row in found} & wanted[number]) >= K - 1  # equal distances

    say("DuckDB, array_distance, its own file", least(search, 2))
    try:
        opened.execute("INSTALL vss; LOAD vss")
    except duckdb.Error as error:
        print(f"DuckDB's vss is not there: {json.dumps(str(error)[:90])}", flush=True)
    opened.close()


def lance_search(folder: str, vectors: Any, queries: Any, wanted: list[set[int]]) -> None:
    import lance

    each = pa.table({"id": np.arange(len(vectors)), "e": lists(vectors)})
    stored = lance.write_dataset(each, f"{folder}/v.lance")

    def search(number: int, **how: Any) -> set[int]:
        asked = {"column": "e", "q": queries[number], "k": K, **how}
        return set(stored.to_table(columns=["id"], nearest=asked)["id"].to_pylist())

    say("Lance, exact", least(search, 2))
    begun = time.process_time()
    stored.create_index(
        "e",
        "IVF_PQ",
        num_partitions=max(16, int(len(vectors) ** 0.5)),
        num_sub_vectors=96 if vectors.shape[1] % 96 == 0 else 16,
    )
    say("Lance, IVF_PQ made", time.process_time() - begun)
    for how in ({}, {"nprobes": 50}, {"nprobes": 50, "refine_factor": 5}):
        search(0, **how)
        spent = least(lambda n, more=how: search(n, **more))
        right = sum(len(wanted[n] & search(n, **how)) for n in range(QUERIES)) / K / QUERIES
        say(f"Lance, IVF_PQ {how}", spent, None, f"  recall {right:.3f}")


if __name__ == "__main__":
    main()
