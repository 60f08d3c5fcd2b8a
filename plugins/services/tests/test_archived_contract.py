"""Both archived timelines under the contract of the family, and a table without them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hoodoo.errors import PluginError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.archived_timeline import ArchivedTimeline
from hoodoo.kernel.archived import archived_timeline, load_archived, oldest
from hoodoo.kernel.registry import Kernel
from hoodoo.model.config import TableConfig
from hoodoo.testing.contracts.archived_timeline import ArchivedTimelineContract
from hoodoo.timeline import create
from hoodoo_standard.storage.local import LocalStorage


class TestHistory(ArchivedTimelineContract):
    version = 9

    @pytest.fixture
    def archived(self, config: TableConfig) -> ArchivedTimeline:
        return archived_timeline(Settings(config))


class TestLog(TestHistory):
    version = 6


class TestNotInstalled:
    def test_a_table_needs_it_only_where_something_is_archived(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        suite, storage = TestHistory(), LocalStorage(str(tmp_path), durable=False)
        values = {"hoodie.table.name": "t", "hoodie.table.version": "9"}
        config = create.init_table(storage, TableConfig(values))
        archived = archived_timeline(Settings(config))
        nothing = Kernel(())
        for module in ("archived", "resolve"):
            monkeypatch.setattr(sys.modules[f"hoodoo.kernel.{module}"], "kernel", lambda: nothing)
        assert load_archived(storage, config) == () and oldest(storage, config) is None
        suite.archive(archived, storage, config, 1)
        with pytest.raises(PluginError, match="hoodoo-services"):
            load_archived(storage, config)
        with pytest.raises(PluginError, match="hoodoo-services"):
            oldest(storage, config)
