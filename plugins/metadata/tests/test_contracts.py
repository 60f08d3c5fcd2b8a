"""The metadata table and its pruners under their contract suites."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.hookspecs.pruner import Pruner
from hoodoo.testing.contracts.participant import ParticipantContract
from hoodoo.testing.contracts.pruner import PrunerContract
from hoodoo.timeline.timeline import load
from hoodoo_metadata.partitions.files.listing import told_files
from hoodoo_metadata.partitions.record_index.index import RecordIndex
from hoodoo_metadata.partitions.record_index.location_changes import LocationChanges
from hoodoo_metadata.path_pruner import PathPruner
from hoodoo_metadata.pruners import KeyPruner, RangePruner
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_rows.testing.contracts.query_type import QueryTypeContract


class TestMetadataTable(ParticipantContract):
    @pytest.fixture
    def table(self, tmp_path: Path) -> Any:
        return hoodoo.create(
            str(tmp_path / "t"), self.SCHEMA, record_key="id", index="record_index"
        )

    @pytest.fixture
    def said(self) -> Callable[[Any], object]:
        def said(table: Any) -> object:
            storage = table.handle.storage
            timeline = load(storage, hoodoo.open(table.path).config)
            keys = RecordIndex.open(storage, timeline).locations(pa.array(map(str, range(100))))
            there = {row["record_key"]: row["file_id"] for row in keys.to_pylist()}
            counted = (timeline.contains_or_before_start, MetadataTable.open(storage, timeline))
            files = {e.path for e in told_files(counted[1]) if not e.path.endswith(".tmp")}
            return there, files

        return said


class TestPruners(PrunerContract):
    @pytest.fixture(params=[KeyPruner, RangePruner, PathPruner])
    def pruner(self, request: pytest.FixtureRequest) -> Pruner:
        made: Pruner = request.param()
        return made

    @pytest.fixture
    def table(self, tmp_path: Path) -> Any:
        schema = pa.schema([("id", pa.int64()), ("city", pa.string())])
        table = hoodoo.create(
            str(tmp_path / "t"), schema, record_key="id", partition_by="city", index="record_index"
        )
        cities = [f"c{n}" for n in range(6)]
        table.upsert(pa.table([list(range(60)), cities * 10], schema=schema))
        return table


class TestLocationChanges(QueryTypeContract):
    @pytest.fixture
    def query_type(self) -> LocationChanges:
        return LocationChanges()

    @pytest.fixture
    def arguments(self) -> dict[str, Any]:
        return {"since": "earliest"}

    @pytest.fixture
    def table(self, tmp_path: Path) -> Any:
        table = hoodoo.create(
            str(tmp_path / "table"),
            pa.schema([("id", pa.int64()), ("fare", pa.float64())]),
            record_key="id",
            index="record_index",
        )
        for first in (0, 5):
            ids = list(range(first, first + 9))
            table.upsert(pa.table({"id": ids, "fare": [float(first)] * 9}))
        table.delete([1, 2])
        return table
