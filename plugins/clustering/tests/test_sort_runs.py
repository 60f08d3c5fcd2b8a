"""Sorting within bounded memory: the same rows in the same order, whatever the memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import EngineError
from hoodoo_clustering.sort_runs import sort_rows
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sampled(3)

MIB = 1 << 20


def unsorted(count: int, distinct: int = 1 << 30, seed: int = 3) -> pa.Table:
    """``n`` numbers the rows, which come in no order of ``k``."""
    rng = np.random.default_rng(seed)
    k = rng.integers(0, distinct, count)
    return pa.table(
        {
            "k": pa.array(k, mask=k % 13 == 0),
            "n": np.arange(count),
            "text": pa.array(rng.integers(0, 1 << 40, count)).cast(pa.string()),
            "word": pa.array(["one", "two", "three"]).take(pa.array(k % 3)),
        }
    )


def by_k(table: pa.Table) -> Sequence[pa.ChunkedArray]:
    return [table.column("k")]


def expected(table: pa.Table) -> list[int]:
    k = [-1 if v is None else v for v in table.column("k").to_pylist()]
    return np.argsort(np.array(k), kind="stable").tolist()


def found(table: pa.Table, memory: int, batch: int, threads: int = 1) -> tuple[pa.Table, int]:
    batches = iter(table.to_batches(max_chunksize=batch))
    made = sort_rows(batches, by_k, memory, threads=threads)
    assert made.rows == table.num_rows
    blocks = [b.cast(table.schema) for b in made.blocks]
    return pa.concat_tables(blocks) if blocks else table.slice(0, 0), made.runs


@pytest.mark.parametrize("distinct", [1, 20, 1 << 30])
@pytest.mark.parametrize(("memory", "runs"), [(64 * MIB, 0), (MIB, 4), (MIB // 8, 20)])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_in_order_and_equal_ones_as_they_came(
    distinct: int, memory: int, runs: int, threads: int
) -> None:
    table = unsorted(50_000, distinct)
    made, there = found(table, memory, 700, threads)
    assert (there >= runs) if runs else there == 0
    assert made.column("n").to_pylist() == expected(table)
    assert made.equals(table.take(made.column("n")))


@settings(deadline=None, max_examples=50)
@given(
    count=st.integers(0, 300),
    distinct=st.integers(1, 300),
    memory=st.integers(1, 20_000),
    batch=st.integers(1, 50),
    seed=st.integers(0, 9),
)
def test_whatever_the_memory(count: int, distinct: int, memory: int, batch: int, seed: int) -> None:
    table = unsorted(count, distinct, seed)
    made, _ = found(table, memory, batch)
    assert made.column("n").to_pylist() == expected(table)


def test_dictionaries_stay_and_mix_with_plain_text() -> None:
    plain = unsorted(4000, 500)
    at = plain.schema.get_field_index("word")
    encoded = plain.set_column(at, "word", plain.column("word").dictionary_encode())
    other = pa.chunked_array([pa.array(["four", "one"] * 2000).dictionary_encode()])
    again = plain.set_column(at, "word", other)
    for parts in ([encoded, again], [encoded, plain], [plain, again, encoded]):
        batches = [b for part in parts for b in part.to_batches(max_chunksize=300)]
        for memory in (64 * MIB, 60_000):
            made = list(sort_rows(iter(batches), by_k, memory).blocks)
            if all(part is not plain for part in parts):
                assert {b.schema.field("word").type.id for b in made} == {pa.lib.Type_DICTIONARY}
            whole = pa.concat_tables([b.cast(plain.schema) for b in made])
            all_rows = pa.concat_tables([part.cast(plain.schema) for part in parts])
            assert whole.equals(all_rows.take(pa.array(expected(all_rows))))


_MEASURED = """
import tracemalloc
import numpy as np, pyarrow as pa
from hoodoo_clustering.sort_runs import sort_rows

def batches(count):
    rng = np.random.default_rng(1)
    for _ in range(count):
        k = rng.integers(0, 1 << 40, 4096)
        yield pa.record_batch({"k": k, **{f"c{i}": k + i for i in range(7)}})

list(sort_rows(batches(1), lambda rows: [rows.column("k")], 1 << 20).blocks)  # imports things
tracemalloc.start()
made = sort_rows(batches(256), lambda rows: [rows.column("k")], 4 << 20)
last = total = size = 0
for block in made.blocks:
    keys = block.column("k").to_numpy()
    assert keys[0] >= last and (np.diff(keys) >= 0).all()
    last, total, size = int(keys[-1]), total + len(keys), size + block.nbytes
assert total == made.rows == 256 * 4096
peak = pa.default_memory_pool().max_memory() + tracemalloc.get_traced_memory()[1]
print(made.runs, size, peak)
"""


def test_memory_is_bounded() -> None:
    """Sixteen times as many bytes as may be held. In a process of its own, whose peak is this sort's."""
    told = subprocess.run(
        [sys.executable, "-c", _MEASURED], check=True, capture_output=True, text=True
    )
    runs, size, peak = map(int, told.stdout.split())
    assert size == 16 * 4 * MIB
    assert runs > 15
    assert peak < 1.5 * 4 * MIB


def test_a_full_disk_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        "hoodoo_rows.engine.spill.tempfile.mkdtemp", lambda **_: str(tmp_path / "gone")
    )
    with pytest.raises(EngineError, match="Free some space"):
        sort_rows(iter(unsorted(9000).to_batches(max_chunksize=1000)), by_k, 1000)
