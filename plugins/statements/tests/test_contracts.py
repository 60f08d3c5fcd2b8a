"""The actions delete, update and merge, and hoodoo.sql, keep their contracts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hoodoo.hookspecs import Registration
from hoodoo.table.table import Table
from hoodoo.testing.contracts.action import ActionContract, rows
from hoodoo_rows.testing.contracts.function import FunctionContract
from hoodoo_statements.binding import Wanted
from hoodoo_statements.registrations import hoodoo_functions

pytestmark = pytest.mark.sampled(3)


@pytest.mark.trial
class TestDelete(ActionContract):
    changes_rows = True

    @pytest.fixture
    def action(self) -> Any:
        return "delete"

    def options(self, table: Table) -> Mapping[str, Any]:
        return {"where": "v = 'new'"}


@pytest.mark.trial
class TestMerge(ActionContract):
    changes_rows = True

    @pytest.fixture
    def action(self) -> Any:
        return "merge"

    def options(self, table: Table) -> Mapping[str, Any]:
        return {
            "source": rows((1, "gone", "a"), (9, "came", "b")),
            "matched": (Wanted("when matched, delete", "target.v <> source.v"),),
            "unmatched": (Wanted("by source", "target.v = 'mid'", {"v": "'MID'"}),),
        }


class TestFunctions(FunctionContract):
    @pytest.fixture
    def registrations(self) -> Sequence[Registration]:
        return list(hoodoo_functions())
