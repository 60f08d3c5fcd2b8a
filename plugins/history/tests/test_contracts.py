"""Incremental reads, change reads and logs of change data keep their contracts; a call that can't be right says why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CallError, PluginError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.change_log import ChangeLogFormat
from hoodoo.hookspecs.query_type import QueryType
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.testing.contracts.change_log import ChangeLogContract
from hoodoo_history.changes.plan import Changes
from hoodoo_history.incremental import Incremental
from hoodoo_rows.testing.contracts.query_type import QueryTypeContract

pytestmark = pytest.mark.sampled(3)


class _History(QueryTypeContract):
    @pytest.fixture
    def arguments(self) -> Mapping[str, Any]:
        return {"since": "earliest"}


class TestIncremental(_History):
    @pytest.fixture
    def query_type(self) -> QueryType:
        return Incremental()


class TestChanges(_History):
    @pytest.fixture
    def query_type(self) -> QueryType:
        return Changes()


def test_a_query_by_its_name(tmp_path: Path) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), pa.schema([("id", pa.int64()), ("n", pa.int64())]), record_key="id"
    )
    table.upsert([{"id": 1, "n": 1}])
    for name in ("incremental", "changes"):
        by_name, method = table.query(name, since="earliest"), getattr(table, name)("earliest")
        assert type(by_name) is type(method) and by_name.to_arrow() == method.to_arrow()
        with pytest.raises(CallError, match="from_"):
            table.query(name, from_="earliest")
        with pytest.raises(CallError, match="since"):
            table.query(name)
    with pytest.raises(PluginError, match="incremental"):
        table.query("incremetal", since="earliest")


class TestChangeLogs(ChangeLogContract):
    @pytest.fixture(params=["OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"])
    def change_log(self, request: pytest.FixtureRequest) -> ChangeLogFormat:
        table = TableConfig(
            {
                "hoodie.table.name": "t",
                "hoodie.table.cdc.enabled": "true",
                "hoodie.table.cdc.supplemental.logging.mode": request.param,
            }
        )
        found: ChangeLogFormat = resolve("change_log", request.param, Settings(table)).instance
        return found
