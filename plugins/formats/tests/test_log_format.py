"""The suite that every format of log files runs, and how a table names its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hoodoo.errors import PluginError
from hoodoo.hookspecs import Settings
from hoodoo.kernel.log_files import log_files
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.testing.contracts.log_format import LogFormatContract
from hoodoo_formats.log.log_format import HudiLog
from hoodoo_standard.storage.local import LocalStorage


class TestHudiLog(LogFormatContract):
    @pytest.fixture
    def log_format(self) -> Any:
        return HudiLog.from_settings(Settings())


class TestBehindTheSeam(LogFormatContract):
    @pytest.fixture
    def log_format(self) -> Any:
        return resolve("log_format", "hoodie_log").instance


def test_a_format_that_is_not_installed_is_an_error_when_a_file_is_opened(tmp_path: Path) -> None:
    found = log_files(TableConfig({"hoodie.table.log.file.format": "OTHER"}))
    with pytest.raises(PluginError, match="'OTHER'.*HOODIE_LOG"):
        found.reader(LocalStorage(str(tmp_path)), "x.log")
    with pytest.raises(PluginError, match="log_format 'OTHER'"):
        found.writer(str(tmp_path / "x.log"))


def test_they_are_made_once() -> None:
    assert log_files() is log_files(TableConfig())
