"""The store of the tests is a store."""

from __future__ import annotations

from pathlib import Path

import pytest
from hoodoo.testing.contracts.storage import StorageContract
from hoodoo.testing.directory import DirectoryStorage


class TestDirectory(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> DirectoryStorage:
        return DirectoryStorage(str(tmp_path / "table"))
