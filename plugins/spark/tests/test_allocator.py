"""Arrow's memory in a worker: the C library's while a task of ours runs, the usual pool before and after."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hoodoo_spark.allocator import of_the_system
from hoodoo_spark.runner import as_function

USUAL = "mimalloc"


def pool() -> str:
    return str(pa.default_memory_pool().backend_name)


@pytest.fixture(autouse=True)
def usual_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.mimalloc_memory_pool())
    yield
    pa.set_memory_pool(before)


def test_a_task_takes_memory_from_the_system_and_gives_the_pool_back() -> None:
    seen = []

    def runner(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            seen.append(pool())
            yield batch

    batch = pa.record_batch([pa.array([1])], names=["n"])
    assert list(as_function(runner)(iter([batch, batch]))) == [batch, batch]
    assert (seen, pool()) == (["system"] * 2, USUAL)


def test_a_task_that_fails_or_is_abandoned_gives_the_pool_back() -> None:
    def fails(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield next(batches)
        raise ValueError

    batch = pa.record_batch([pa.array([1])], names=["n"])
    with pytest.raises(ValueError):
        list(as_function(fails)(iter([batch])))
    assert pool() == USUAL
    begun = iter(as_function(fails)(iter([batch])))
    next(begun)
    assert pool() == "system"
    begun.close()  # type: ignore[attr-defined]
    assert pool() == USUAL


def test_what_somebody_has_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", USUAL)
    with of_the_system():
        assert pool() == USUAL
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL")
    pa.set_memory_pool(pa.system_memory_pool())
    with of_the_system():
        assert pool() == "system"
    assert pool() == "system"
