"""The local engine passes the suite that every engine passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hoodoo.hookspecs.engine import Engine, Workspace
from hoodoo_rows.testing import engine_steps as steps
from hoodoo_rows.testing.contracts.engine import EngineContract
from hoodoo_rows.testing.contracts.engine_streams import ROWS, by_key, rows
from hoodoo_rows.testing.metered import MeteredEngine
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.serialize.packed import ArrowSerializer
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled


class TestLocal(EngineContract):
    @pytest.fixture
    def engine(self) -> Engine:
        return LocalEngine(2)

    @pytest.fixture
    def workspace(self, tmp_path: Path) -> Workspace:
        return Workspace(LocalStorage(str(tmp_path / "table"), durable=False), "stage")


class TestMetered(TestLocal):
    @pytest.fixture
    def engine(self) -> Engine:
        return MeteredEngine(LocalEngine(2))


def test_a_metered_engine_counts_each_exchange() -> None:
    engine = MeteredEngine(LocalEngine(2), steps.Backwards())
    table = rows(100)
    stream = engine.map(engine.source(table), steps.Route(ROWS, 2, 1))
    found = engine.collect(engine.exchange(stream, 2, ArrowSerializer()))
    assert by_key(found).select(ROWS.names) == table
    assert [exchange.read().rows for exchange in engine.exchanges] == [100]
    assert engine.total().bytes > 0


class TestOneThread(TestLocal):
    @pytest.fixture
    def engine(self) -> Engine:
        return LocalEngine(1)
