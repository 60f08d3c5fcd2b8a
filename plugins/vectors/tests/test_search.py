"""table.search beside NumPy's own computation, on both types of table; what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError, PluginError, SchemaError
from hoodoo_vectors import nearest
from hypothesis import given, settings
from hypothesis import strategies as st

KINDS = {
    "fixed float": pa.list_(pa.float32(), 3),
    "fixed double": pa.list_(pa.float64(), 3),
    "fixed int8": pa.list_(pa.int8(), 3),
    "float": pa.list_(pa.float32()),
    "double": pa.list_(pa.float64()),
}


def documents(ids: range, kind: pa.DataType = KINDS["float"], seed: int = 0) -> pa.Table:
    """Each fifth row has no vector; each id has its own vector, which follows from the seed."""
    vectors = [
        None if i % 5 == 4 else np.random.default_rng([seed, i]).integers(-9, 9, 3).tolist()
        for i in ids
    ]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "city": pa.array(["oslo" if i % 2 else "rome" for i in ids]),
            "ts": pa.array([seed] * len(ids), pa.int64()),
            "e": pa.array(vectors, kind),
        }
    )


def created(path: Path, data: pa.Table, **more: Any) -> hoodoo.Table:
    more = {"record_key": "id", "partition_by": "city", "ordering": "ts", **more}
    table = hoodoo.create(str(path), data.schema, **more)
    table.upsert(data)
    return table


DISTANCES: dict[str, Callable[[Any, Any], Any]] = {
    "l2": lambda x, q: np.sqrt(((x - q) ** 2).sum(axis=-1)),
    "dot": lambda x, q: -(x * q).sum(axis=-1),
    "cosine": lambda x, q: np.clip(
        1
        - np.divide(
            (x * q).sum(axis=-1),
            np.sqrt((x * x).sum(axis=-1) * (q * q).sum(axis=-1)),
            out=np.zeros(x.shape[:-1]),
            where=(x * x).sum(axis=-1) * (q * q).sum(axis=-1) > 0,
        ),
        0,
        2,
    ),
}


def expected(table: pa.Table, vector: list[float], k: int, metric: str) -> list[tuple[str, float]]:
    """Key and distance, the nearest first; equal distances in the order of the keys as texts."""
    pairs = [
        (
            round(float(DISTANCES[metric](np.array(row["e"], float), np.array(vector))), 9),
            str(row["id"]),
        )
        for row in table.to_pylist()
        if row["e"] is not None
    ]
    return [(key, apart) for apart, key in sorted(pairs)[:k]]


def answered(found: pa.Table) -> list[tuple[str, float]]:
    return [(str(row["id"]), round(row["_distance"], 9)) for row in found.to_pylist()]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("table_type", "blocks"),
    [("COPY_ON_WRITE", "avro"), ("MERGE_ON_READ", "avro"), ("MERGE_ON_READ", "parquet")],
)
@pytest.mark.parametrize("kind", KINDS)
def test_searches_stored_vectors(tmp_path: Path, kind: str, table_type: str, blocks: str) -> None:
    """Created, updated, deleted, compacted: vectors come back, and the search finds the newest."""
    stored = KINDS[kind]
    options = {"hoodie.logfile.data.block.format": blocks}
    table = created(
        tmp_path / "t", documents(range(40), stored), table_type=table_type, options=options
    )
    table.upsert(documents(range(20, 60), stored, seed=1))
    table.delete([3, 30])
    whole = pa.concat_tables(
        [documents(range(20), stored), documents(range(20, 60), stored, seed=1)]
    )
    whole = whole.filter(pa.array([i not in (3, 30) for i in range(60)]))
    for _ in range(2):
        assert table.read().to_arrow().sort_by("id")["e"].to_pylist() == whole["e"].to_pylist()
        for metric in DISTANCES:
            found = table.search("e", [1, -2, 3], k=12, metric=metric)
            assert answered(found) == expected(whole, [1, -2, 3], 12, metric)
            assert found.schema.names == ["id", "city", "ts", "e", "_distance"]
        if table_type == "MERGE_ON_READ":
            table.compact()


@pytest.mark.parametrize("name", ["euclidean", "dot_product", "inner_product"])
def test_names_of_other_systems_are_known(tmp_path: Path, name: str) -> None:
    table = created(tmp_path / "t", documents(range(8)))
    metric = "l2" if name == "euclidean" else "dot"
    found = table.search("e", [1, 2, 3], metric=name)
    assert found.equals(table.search("e", [1, 2, 3], metric=metric))


def test_where_and_columns(tmp_path: Path) -> None:
    data = documents(range(50))
    table = created(tmp_path / "t", data)
    found = table.search("e", [0, 0, 1], k=3, where="city = 'oslo' and id > 9", columns=["id"])
    assert found.schema.names == ["id", "_distance"]
    oslo = data.filter(pa.array([i % 2 == 1 and i > 9 for i in range(50)]))
    assert answered(found) == expected(oslo, [0, 0, 1], 3, "l2")
    assert table.search("e", [0, 0, 1], columns=["_hoodie_record_key"]).num_rows == 10
    assert table.search("e", [0, 0, 1], where="id > 1000").num_rows == 0
    assert table.search("e", [0, 0, 1], k=1000).num_rows == 40  # those that have a vector


def test_no_rows_and_no_columns(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), documents(range(1)).schema, record_key="id")
    assert table.search("e", [1, 2, 3]).schema.names == ["id", "city", "ts", "e", "_distance"]
    table.upsert(documents(range(5)))
    assert table.search("e", [1, 2, 3], columns=[]).column_names == ["_distance"]
    assert table.search("e", [[1, 2, 3]], k=10**12, columns=[]).num_rows == 4


def test_many_vectors_at_once(tmp_path: Path) -> None:
    table = created(tmp_path / "t", documents(range(50)))
    vectors = [[1.0, 2.0, 3.0], [-4.0, 0.0, 0.5], [1.0, 2.0, 3.0]]
    found = table.search("e", vectors, k=4, columns=["id"])
    assert found.schema.names == ["id", "_query", "_distance"]
    assert found["_query"].to_pylist() == [0] * 4 + [1] * 4 + [2] * 4
    for number, vector in enumerate(vectors):
        alone = table.search("e", vector, k=4, columns=["id"])
        assert answered(found.slice(4 * number, 4)) == answered(alone)
    assert table.search("e", [[1.0, 2.0, 3.0]], k=1).column_names[-2:] == ["_query", "_distance"]


@pytest.mark.parametrize(
    "vector",
    [
        (1, 2, 3),
        np.array([1, 2, 3], np.float32),
        pa.array([1.0, 2.0, 3.0]),
        pa.array([1, 2, 3], pa.int8()),
        pa.chunked_array([[1.0], [2.0, 3.0]]),
        pa.scalar([1.0, 2.0, 3.0]),
    ],
    ids=lambda vector: type(vector).__name__,
)
def test_vectors_of_all_kinds(tmp_path: Path, vector: Any) -> None:
    table = created(tmp_path / "t", documents(range(8)))
    assert table.search("e", vector).equals(table.search("e", [1.0, 2.0, 3.0]))


def test_arrays_of_vectors(tmp_path: Path) -> None:
    table = created(tmp_path / "t", documents(range(8)))
    vectors = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    found = table.search("e", pa.array(vectors))
    assert found.equals(table.search("e", np.array(vectors)))
    assert found.equals(table.search("e", pa.array(vectors, pa.list_(pa.float32(), 3))))


def test_a_stored_vector_is_at_distance_zero(tmp_path: Path) -> None:
    """0.1 is another number in float32: the query is rounded as the stored vector was."""
    data = pa.table({"id": [1], "e": pa.array([[0.1, 0.2]], pa.list_(pa.float32(), 2))})
    table = created(tmp_path / "t", data, partition_by=(), ordering=())
    assert table.search("e", [0.1, 0.2])["_distance"].to_pylist() == [0.0]


def test_equal_distances_are_ordered_by_key(tmp_path: Path) -> None:
    """In whatever order the rows lie in their files; a key that two partitions have, by the path."""
    data = pa.table(
        {
            "id": ["c", "a", "b", "b", "d"],
            "city": ["rome", "rome", "rome", "oslo", "oslo"],
            "e": [[1.0], [-1.0], [1.0], [-1.0], [5.0]],
        }
    )
    table = created(tmp_path / "t", data, ordering=())
    found = table.search("e", [0.0], k=3, columns=["id", "city"])
    assert found.to_pylist() == [
        {"id": "a", "city": "rome", "_distance": 1.0},
        {"id": "b", "city": "oslo", "_distance": 1.0},
        {"id": "b", "city": "rome", "_distance": 1.0},
    ]


def test_virtual_keys(tmp_path: Path) -> None:
    options = {"hoodie.populate.meta.fields": "false"}
    data = documents(range(20))
    table = created(tmp_path / "t", data, options=options)
    found = table.search("e", [9, 9, 9], k=20)
    assert sorted(answered(found)) == sorted(expected(data, [9, 9, 9], 20, "l2"))


def test_reads_of_other_times_are_searched(tmp_path: Path) -> None:
    table = created(tmp_path / "t", documents(range(20)))
    table.upsert(documents(range(20), seed=1))
    before = table.read(as_of=1).search("e", [1, 2, 3], k=5)
    assert answered(before) == expected(documents(range(20)), [1, 2, 3], 5, "l2")
    table.upsert(documents(range(100, 103)))
    since = table.incremental(table.history(1)[0]["instant"]).search("e", [1, 2, 3])
    assert since.num_rows == 0


numbers = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-100, 100, width=32),
    st.sampled_from([0.0, -0.0, 1e-30, 1e30, -1e30, 3e38, 1e-42]),
)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_agrees_with_brute_force(data: st.DataObject) -> None:
    """Of random vectors, with large and small numbers, ties and nulls, in batches of any size."""
    size, dimension = data.draw(st.integers(0, 30)), data.draw(st.integers(1, 4))
    count, k = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 8))
    metric = data.draw(st.sampled_from(sorted(DISTANCES)))
    kind = data.draw(st.sampled_from([pa.float32(), pa.float64()]))
    vector = st.lists(numbers, min_size=dimension, max_size=dimension)
    stored = data.draw(st.lists(st.none() | vector, min_size=size, max_size=size))
    queries = np.array(data.draw(st.lists(vector, min_size=count, max_size=count)))
    batch = pa.record_batch({"e": pa.array(stored, pa.list_(kind)), "n": np.arange(size)})
    dtype = kind.to_pandas_dtype()
    found = nearest.Nearest("e", queries.astype(dtype), metric, k, batch.schema, ())
    step = data.draw(st.integers(1, 10))
    for start in range(0, size, step):
        found.add(batch.slice(start, step))
    table, of_query, apart = found.result()
    for number in range(count):
        rows_of = table.filter(pa.array(of_query == number))["n"].to_pylist()
        valid = [i for i, one in enumerate(stored) if one is not None]
        vectors = np.array([stored[i] for i in valid], dtype).reshape(-1, dimension)
        query = queries[number].astype(dtype).astype(float)
        reference = nearest.distances(metric, vectors, np.broadcast_to(query, vectors.shape))
        order = np.lexsort((valid, reference))[:k]
        assert rows_of == [valid[i] for i in order]
        assert apart[of_query == number].tolist() == reference[order].tolist()
        if np.abs(vectors).max(initial=0) < 1e6 and np.abs(query).max() < 1e6:
            tiny = (np.abs(vectors) < 1e-20) & (vectors != 0)
            if not tiny.any() and not ((np.abs(query) < 1e-20) & (query != 0)).any():
                independent = DISTANCES[metric](vectors.astype(float), query)
                assert np.allclose(reference, independent, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("metric", sorted(DISTANCES))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_hold(metric: str, dtype: Any) -> None:
    """Where they are known. And they are narrow: few rows need their distance in float64."""
    draw = np.random.default_rng(7)
    vectors = draw.standard_normal((2000, 96)).astype(dtype)
    vectors[:50] += 1000  # cancels out in l2
    queries = np.concatenate([vectors[:3], draw.standard_normal((2, 96))]).astype(dtype)
    lower, upper = nearest.bounds(metric, vectors, queries)
    for number, query in enumerate(queries):
        exact = nearest.distances(metric, vectors, np.broadcast_to(query, vectors.shape))
        assert (lower[:, number] <= exact).all() and (exact <= upper[:, number]).all()
        within = lower[:, number] <= np.sort(upper[:, number])[9]
        assert np.count_nonzero(within) <= 60


def test_memory_does_not_grow_with_rows() -> None:
    """The nearest so far are some times k, however many rows there are, each nearer than before."""

    def batch_of(start: int) -> pa.RecordBatch:
        return pa.record_batch(
            {"e": pa.array([[float(10**6 - i)] for i in range(start, start + 500)])}
        )

    found = nearest.Nearest("e", np.zeros((1, 1)), "l2", 3, batch_of(0).schema, ())
    most = 0
    for start in range(0, 50_000, 500):
        found.add(batch_of(start))
        most = max(most, len(found._rows) + sum(map(len, found._added)))
    assert most < 3000
    assert found.result()[2].tolist() == [950_001.0, 950_002.0, 950_003.0]


def refused() -> Iterator[tuple[str, dict[str, Any], type[HoodooError], str]]:
    vector = [1, 2, 3]
    yield "column that is missing", {"column": "f"}, SchemaError, "column 'f'"
    yield "column without vectors", {"column": "city"}, SchemaError, "its type is string"
    yield "other length", {"vector": [1, 2]}, SchemaError, "a vector of 3 numbers in the row"
    yield "NaN", {"vector": [1, 2, float("nan")]}, ConfigError, "NaN"
    yield "infinity", {"vector": [1, 2, float("inf")]}, ConfigError, "infinity"
    yield "too large", {"vector": [1, 2, 1e300]}, ConfigError, "too large for float"
    yield "null", {"vector": [1, 2, None]}, ConfigError, "None"
    yield "text", {"vector": "abc"}, ConfigError, "'abc'"
    yield "bool", {"vector": [True, False, True]}, ConfigError, "True"
    yield "empty", {"vector": []}, ConfigError, "shape"
    yield "number", {"vector": 3.5}, ConfigError, "shape"
    yield "three dimensions", {"vector": [[vector]]}, ConfigError, "shape"
    yield "ragged", {"vector": [[1, 2, 3], [1]]}, ConfigError, "not a matrix"
    yield "k of 0", {"k": 0}, ConfigError, "k=0"
    yield "k of a bool", {"k": True}, ConfigError, "k=True"
    yield "k of a text", {"k": "3"}, ConfigError, "whole number"
    yield "metric", {"metric": "manhattan"}, ConfigError, "l2, cosine, dot"
    yield "columns", {"columns": ["nothing"]}, SchemaError, "nothing"


CASES = list(refused())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> hoodoo.Table:
    return created(tmp_path_factory.mktemp("vectors") / "t", documents(range(8)))


@pytest.mark.parametrize("case", CASES, ids=[name for name, *_ in CASES])
def test_refuses(small: hoodoo.Table, case: tuple[Any, ...]) -> None:
    _, arguments, error, words = case
    with pytest.raises(error) as raised:
        small.search(**{"column": "e", "vector": [1, 2, 3], **arguments})
    assert words in str(raised.value) and raised.value.fix


@pytest.mark.parametrize("wrong", [[1.0, float("nan")], [1.0, None], [1.0], []], ids=str)
@pytest.mark.parametrize("metric", sorted(DISTANCES))
def test_refuses_stored_vectors(tmp_path: Path, wrong: list[Any], metric: str) -> None:
    """And names the row, which where leaves out."""
    data = pa.table({"id": ["a", "b", "c"], "e": pa.array([[1.0, 2.0], wrong, None])})
    table = created(tmp_path / "t", data, partition_by=(), ordering=())
    with pytest.raises(SchemaError, match="column e: has a vector .*with the key 'b'.*Fix: "):
        table.search("e", [1, 2], metric=metric)
    assert table.search("e", [1, 2], metric=metric, where="id <> 'b'").num_rows == 1


def test_columns_that_the_search_adds(tmp_path: Path) -> None:
    data = pa.table({"id": [1], "e": [[1.0]], "_distance": [0.5], "_query": [7]})
    table = created(tmp_path / "t", data, partition_by=(), ordering=())
    with pytest.raises(SchemaError, match="_distance"):
        table.search("e", [1.0])
    assert table.search("e", [1.0], columns=["id", "_query"])["_query"].to_pylist() == [7]
    with pytest.raises(SchemaError, match="_query"):
        table.search("e", [[1.0]], columns=["id", "_query"])


def test_without_the_plugin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from hoodoo.kernel.registry import kernel

    table = created(tmp_path / "t", documents(range(3)))
    monkeypatch.delitem(kernel().verbs, "search")
    with pytest.raises(PluginError, match="hoodoo-vectors"):
        table.search("e", [1, 2, 3])
