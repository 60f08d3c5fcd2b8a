"""The local engine passes the suite that every engine passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hoodoo.engine.local import LocalEngine
from hoodoo.hookspecs.engine import Engine, Workspace
from hoodoo.storage.local import LocalStorage
from hoodoo.testing.contracts.engine import EngineContract


class TestLocal(EngineContract):
    @pytest.fixture
    def engine(self) -> Engine:
        return LocalEngine(2)

    @pytest.fixture
    def workspace(self, tmp_path: Path) -> Workspace:
        return Workspace(LocalStorage(str(tmp_path / "table"), durable=False), "stage")


class TestOneThread(TestLocal):
    @pytest.fixture
    def engine(self) -> Engine:
        return LocalEngine(1)
