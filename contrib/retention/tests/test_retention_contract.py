"""The suite that every action runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hoodoo.hookspecs import Registration
from hoodoo.table.table import Table
from hoodoo.testing.contracts.action import ActionContract, rows
from hoodoo.testing.contracts.command import CommandContract
from hoodoo.testing.contracts.crash import CrashTrials
from hoodoo_retention import plugin


class TestRetention(ActionContract):
    table = {"partition_by": "region"}
    opened_with = {
        "hoodie.partition.ttl.management.strategy.type": "KEEP_BY_EVENT_TIME",
        "hoodie.partition.ttl.strategy.days.retain": "30",
        "hoodie.partition.ttl.strategy.partition.selected": "2024-01-01",
    }
    changes_rows = True
    inline = {"hoodie.partition.ttl.inline": "true"}
    wrong = {"hoodie.partition.ttl.strategy.event.time.format": "yyyy-QQ"}

    @pytest.fixture
    def action(self) -> str:
        return "retention"

    def prepare(self, table: Table) -> None:
        super().prepare(table)
        table.upsert(rows((5, "old", "2024-01-01"), (6, "old", "2024-01-01")))
        table.upsert(rows((5, "new", "2024-01-01")))


class TestWithMetadataTable(TestRetention):
    table = {**TestRetention.table, "options": {"hoodie.metadata.enable": "true"}}

    @pytest.fixture(params=[(9, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")], ids=str)
    def kind(self, request: Any) -> tuple[int, str]:
        found: tuple[int, str] = request.param
        return found


class TestCrashes(CrashTrials):
    """The process ends while partitions are dropped."""

    table = {"options": {"hoodie.metadata.enable": "true"}}
    operations = {"retention": lambda t: t.run("retention")}
    every = 4

    def options(self, folder: Path) -> Mapping[str, str]:
        return TestRetention.opened_with

    def prepare(self, table: Table) -> None:
        super().prepare(table)
        table.upsert(rows((8, "old", "2024-01-01"), (9, "old", "2024-01-01")))


class TestUndone(TestCrashes):
    """The process ends while the drop is taken back."""

    operations = {name: CrashTrials.operations[name] for name in ("rollback", "restore")}

    def prepare(self, table: Table) -> None:
        super().prepare(table)
        assert table.run("retention").partitions


class TestCommand(CommandContract):
    @pytest.fixture
    def registrations(self) -> Sequence[Registration]:
        return plugin.hoodoo_commands()
