"""The suite that every base file format runs, ours or a stranger's; and what these files hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hoodoo.testing.contracts.file_format import FileFormatContract
from hoodoo_lance.format import LanceFormat
from hoodoo_standard.storage.local import LocalStorage


class TestLance(FileFormatContract):
    """In a store whose files Lance can't open: what it needs of them is copied."""

    nested = False  # maps, and structs that are null: see below

    @pytest.fixture
    def file_format(self) -> Any:
        return LanceFormat()


class TestWhereFilesAre(TestLance):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> LocalStorage:
        return LocalStorage(str(tmp_path / "store"))
