"""``hoodoo.aio``: the methods of a table for programs with ``async``, and what a cancel leaves."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import HoodooError, NotATableError
from hoodoo.table.table import Table

ROWS = [{"id": n, "fare": n / 2} for n in range(10)]


@pytest.fixture(params=["cow", "mor"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> hoodoo.Table:
    return hoodoo.create(tmp_path / "t", ROWS, record_key="id", table_type=request.param)


class Slow:
    """A store whose operation ``at`` waits until somebody lets it go on."""

    def __init__(self, inner: Any, at: str) -> None:
        self.inner, self.at = inner, at
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name != self.at:
            return found

        def wait(*arguments: Any, **more: Any) -> Any:
            self.reached.set()
            assert self.go_on.wait(60)
            return found(*arguments, **more)

        return wait


def slow(table: hoodoo.Table, at: str) -> tuple[Slow, hoodoo.Table]:
    store: Any = Slow(table.handle.storage, at)
    return store, Table(store, table.handle.config, table.handle.options)


def test_methods_are_awaited_and_the_loop_goes_on(table: hoodoo.Table) -> None:
    async def main() -> None:
        trips = hoodoo.aio(table.path)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        commit = await trips.upsert([{"id": 99, "fare": 1.0}])
        assert commit.inserted == 1 and ticks > 10
        ticking.cancel()
        both = await asyncio.gather(trips.count(), trips.count(as_of=1))
        assert both == [11, 10]
        assert (await trips.head(2)).num_rows == 2
        sizes = [batch.num_rows async for batch in trips.batches(["id"], where="id < 5")]
        assert sum(sizes) == 5
        async for _ in trips.batches():
            break

    asyncio.run(main())
    assert table.count() == 11


def test_errors_are_those_of_the_table(tmp_path: Path, table: hoodoo.Table) -> None:
    async def main() -> None:
        with pytest.raises(NotATableError):
            await hoodoo.aio(tmp_path / "none").count()
        trips = hoodoo.aio(table)
        with pytest.raises(HoodooError):
            await trips.upsert([{"id": None, "fare": 1.0}])
        for name in ("nothing", "path", "_table_"):
            with pytest.raises(AttributeError):
                getattr(trips, name)
        with pytest.raises(AttributeError, match="'upsrt'. Fix: upsert."):
            _ = trips.upsrt
        with pytest.raises(AttributeError, match=r"Fix: hoodoo.open\(path\).schema"):
            _ = trips.schema

    asyncio.run(main())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("at", ["put_file_if_absent", "put_if_absent", "list"])
def test_a_write_that_is_canceled_has_ended_and_is_undone(table: hoodoo.Table, at: str) -> None:
    store, waiting = slow(table, at)

    async def main() -> None:
        write = asyncio.create_task(hoodoo.aio(waiting).upsert([{"id": 99, "fare": 1.0}]))
        await asyncio.to_thread(store.reached.wait, 60)
        write.cancel()
        await asyncio.sleep(0.01)
        assert not write.done()  # it ends at the next operation of the store, not in one
        store.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await write

    asyncio.run(main())
    before = table.count()
    assert before in (10, 11)  # 11: it had committed
    assert hoodoo.open(table.path).upsert([{"id": 100, "fare": 1.0}]).inserted == 1
    assert table.count() == before + 1
    assert not hoodoo.open(table.path).timeline().pending()
    assert hoodoo.open(table.path).verify().ok


def test_a_time_limit(table: hoodoo.Table) -> None:
    store, waiting = slow(table, "list")
    threading.Timer(0.2, store.go_on.set).start()

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(hoodoo.aio(waiting).count(), 0.05)

    asyncio.run(main())
