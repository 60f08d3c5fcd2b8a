"""Clustering obeys the contract of actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hoodoo.table.table import Table
from hoodoo.testing.contracts.action import ActionContract, rows

pytestmark = pytest.mark.sampled


class TestClustering(ActionContract):
    opened_with = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    inline = {
        "hoodie.clustering.inline": "true",
        "hoodie.clustering.inline.max.commits": "1",
        "hoodie.clustering.plan.strategy.sort.columns": "id",
    }
    wrong = {"hoodie.clustering.inline.max.commits": "0"}

    @pytest.fixture
    def action(self) -> str:
        return "clustering"

    def prepare(self, table: Table) -> None:
        table.append(rows((1, "old", "a"), (4, "old", "b")))
        table.append(rows((2, "old", "a"), (3, "old", "b")))

    def options(self, table: Table) -> Mapping[str, Any]:
        return {"order": "linear", "columns": "id"}
