"""What every plugin that says what a new table is promises: the contract of ``hoodoo_new_table`` as
tests.

Usage::

    class TestMine(CreationContract):
        @pytest.fixture
        def new_table(self):
            return my_module.hoodoo_new_table
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from hoodoo.errors import HoodooError
from hoodoo.hookspecs.creation import NewTable
from hoodoo.model.config import TableConfig
from hoodoo.model.table_version import VERSIONS

New = Callable[[NewTable], TableConfig | None]
_SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("at", pa.int64())])
_WANTED = [
    NewTable("file:///data/trips", _SCHEMA, {}),
    NewTable("trips", _SCHEMA, {}, record_key="id", table_type="MERGE_ON_READ", ordering="at"),
    NewTable("trips", _SCHEMA, {}, name="t", record_key=["id", "at"], partition_by=["city"]),
]


class CreationContract:
    """Subclass, and answer the fixture ``new_table``."""

    @pytest.fixture
    def new_table(self) -> New:
        raise NotImplementedError("override the fixture `new_table`")

    @pytest.mark.parametrize("wanted", _WANTED, ids=("bare", "ordered", "partitioned"))
    def test_says_what_is_asked_for(self, new_table: New, wanted: NewTable) -> None:
        found = new_table(wanted)
        assert isinstance(found, TableConfig)
        assert all(isinstance(x, str) for pair in found.properties.items() for x in pair)
        assert found.name and found.version in VERSIONS
        assert found.table_type == wanted.table_type or wanted.table_type is None
        assert ",".join(found.partition_fields) == ",".join(wanted.partition_by)
        assert found == new_table(wanted)

    @pytest.mark.parametrize("argument", ["record_key", "partition_by", "ordering"])
    def test_columns_that_do_not_exist(self, new_table: New, argument: str) -> None:
        arguments: dict[str, Any] = {argument: "none"}
        with pytest.raises(HoodooError):
            new_table(NewTable("trips", _SCHEMA, {}, **arguments))
