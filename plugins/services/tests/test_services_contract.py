"""Compaction, clean, archive, restore, savepoint, rewriting of keys: each obeys the contract of actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hoodoo.kernel.registry import kernel
from hoodoo.table.table import Table
from hoodoo.testing.contracts.action import ActionContract, rows

pytestmark = pytest.mark.sampled(4)

ON_READ = [(9, "MERGE_ON_READ"), (6, "MERGE_ON_READ")]
# One file at a time: the n-th operation is the same in each trial.
CLEANING = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.clean.commits.retained": "1",
    "hoodie.clean.parallelism": "1",
}


class TestCompaction(ActionContract):
    opened_with = CLEANING
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
    wrong = {"hoodie.compact.inline.max.delta.commits": "0"}

    @pytest.fixture
    def action(self) -> str:
        return "compaction"

    @pytest.fixture(params=ON_READ, ids=str)
    def kind(self, request: Any) -> tuple[int, str]:
        found: tuple[int, str] = request.param
        return found


class TestLogcompaction(TestCompaction):
    opened_with = {**CLEANING, "hoodie.log.compaction.blocks.threshold": "2"}
    inline = {"hoodie.log.compaction.inline": "true"}
    wrong = {"hoodie.log.compaction.blocks.threshold": "0"}

    @pytest.fixture
    def action(self) -> str:
        return "logcompaction"

    def prepare(self, table: Table) -> None:
        super().prepare(table)
        for number in range(3):
            table.upsert(rows((1, f"v{number}", "a"), (3, f"v{number}", "b")))


class TestClean(ActionContract):
    opened_with = CLEANING
    inline = {"hoodie.clean.automatic": "true"}
    wrong = {"hoodie.clean.trigger.max.commits": "0"}

    @pytest.fixture
    def action(self) -> str:
        return "clean"

    def prepare(self, table: Table) -> None:
        super().prepare(table)
        if table.config.table_type == "MERGE_ON_READ":
            table.compact()
            table.upsert(rows((1, "later", "a"), (3, "later", "b")))
            table.compact()
            table.upsert(rows((1, "last", "a")))


class TestArchive(ActionContract):
    opened_with = {
        **CLEANING,
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
    }
    inline = {"hoodie.archive.automatic": "true"}
    wrong = {"hoodie.keep.min.commits": "3"}

    @pytest.fixture
    def action(self) -> str:
        return "archive"

    def prepare(self, table: Table) -> None:
        super().prepare(table)
        for number in range(3):
            table.upsert(rows((1, f"v{number}", "a")))
        table.clean()


class TestRestore(ActionContract):
    """To the write before the newest: one that undoes several goes through what was between them
    (tests/crash/test_crash_services.py)."""

    opened_with = CLEANING
    changes_rows = True

    @pytest.fixture
    def action(self) -> str:
        return "restore"

    def options(self, table: Table) -> Mapping[str, Any]:
        writes = table.timeline().writes()
        return {"instant": writes[-2].requested if writes else "20240101000000000"}


class TestSavepoint(ActionContract):
    opened_with = CLEANING

    @pytest.fixture
    def action(self) -> str:
        return "savepoint"


class TestRewriteKeys(ActionContract):
    opened_with = CLEANING

    @pytest.fixture
    def action(self) -> str:
        return "rewrite_keys"


class TestRewrite(ActionContract):
    opened_with = CLEANING

    @pytest.fixture
    def action(self) -> str:
        return "rewrite"


class TestRewriteGroups(ActionContract):
    opened_with = CLEANING
    effect = "each time"

    @pytest.fixture
    def action(self) -> str:
        return "rewrite_groups"

    @pytest.fixture(params=[(9, "COPY_ON_WRITE"), (6, "COPY_ON_WRITE")], ids=str)
    def kind(self, request: Any) -> tuple[int, str]:
        found: tuple[int, str] = request.param
        return found

    def options(self, table: Table) -> Mapping[str, Any]:
        return {"groups": [(s.partition_path, s.file_id) for s in table.file_slices()]}


class TestRebuildIndex(ActionContract):
    opened_with = CLEANING
    table = {"options": {"hoodie.metadata.enable": "true"}}
    effect = "each time"

    @pytest.fixture
    def action(self) -> str:
        return "rebuild_index"

    @pytest.fixture(params=[(9, "COPY_ON_WRITE")], ids=str)
    def kind(self, request: Any) -> tuple[int, str]:
        found: tuple[int, str] = request.param
        return found


class TestSwitchIndex(ActionContract):
    opened_with = CLEANING

    @pytest.fixture
    def action(self) -> str:
        return "switch_index"

    def options(self, table: Table) -> Mapping[str, Any]:
        return {"index": "global_simple"}


class TestCompareIndexes(ActionContract):
    opened_with = CLEANING
    effect = "never"

    @pytest.fixture
    def action(self) -> str:
        return "compare_indexes"

    def options(self, table: Table) -> Mapping[str, Any]:
        return {"a": "simple", "b": "global_simple"}


class TestCheckIndex(ActionContract):
    opened_with = CLEANING
    effect = "never"

    @pytest.fixture
    def action(self) -> str:
        return "check_index"

    def options(self, table: Table) -> Mapping[str, Any]:
        return {"sample": 3}


class TestLocateKeys(ActionContract):
    opened_with = CLEANING
    effect = "never"

    @pytest.fixture
    def action(self) -> str:
        return "locate_keys"

    def options(self, table: Table) -> Mapping[str, Any]:
        return {"keys": table.read(columns=table.config.record_key_fields).to_arrow()}


def test_every_action_of_services_has_a_suite() -> None:
    offers = [o for o in kernel().offers("action") if o.plugin.distribution == "hoodoo-services"]
    wanted = {f"Test{offer.name.title().replace('_', '')}" for offer in offers}
    assert wanted and wanted <= set(globals())
