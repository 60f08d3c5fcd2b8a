"""What every query type promises: the contract of :class:`hoodoo.hookspecs.query_type.QueryType` as
tests.

Usage::

    class TestMine(QueryTypeContract):
        @pytest.fixture
        def query_type(self):
            return MyQueryType(...)

        @pytest.fixture
        def arguments(self):
            return {"since": "earliest"}
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.query_type import QueryPlan, QueryType
from hoodoo.kernel.answers import Who, checked, plain
from hoodoo.table.table import create

from hoodoo_rows.read.query import ReadUnits, planned
from hoodoo_rows.read.step import PAYLOAD, dealt

_SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64())])


def _rows(count: int, city: str, fare: float) -> pa.Table:
    made = [{"id": n, "city": city, "fare": fare} for n in range(count)]
    return pa.Table.from_pylist(made, _SCHEMA)


def _files(path: Path) -> dict[str, tuple[bytes, int]]:
    found = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in found}


class QueryTypeContract:
    """Subclass, and answer the fixture ``query_type``; ``arguments``, too, if it needs some."""

    @pytest.fixture
    def query_type(self) -> QueryType:
        raise NotImplementedError("override the fixture `query_type`")

    @pytest.fixture
    def arguments(self) -> Mapping[str, Any]:
        return {}

    @pytest.fixture
    def table(self, tmp_path: Path) -> Any:
        """Inserts, updates and deletes in two partition paths; override it for tables of another
        kind."""
        table = create(
            str(tmp_path / "table"),
            _SCHEMA,
            record_key="id",
            partition_by="city",
            ordering="fare",
        )
        table.upsert(_rows(9, "oslo", 1.0))
        table.upsert(_rows(6, "rome", 2.0))
        table.upsert(_rows(4, "oslo", 3.0))
        table.delete(_rows(2, "oslo", 4.0))
        return table

    def plan_of(
        self, query_type: QueryType, table: Any, arguments: Mapping[str, Any]
    ) -> tuple[Any, QueryPlan]:
        source = table.handle.source()
        known = checked("query_type", query_type, Who("query_type", type(query_type).__name__))
        return source, known.plan(source, **arguments)

    def test_a_plan_changes_nothing(
        self, query_type: QueryType, arguments: Mapping[str, Any], table: Any, tmp_path: Path
    ) -> None:
        before = _files(tmp_path)
        _source, plan = self.plan_of(query_type, table, arguments)
        assert plan.brief() and str(plain(plan))
        assert all(unit.size >= 0 for unit in plan.units)
        assert _files(tmp_path) == before, "a read changes nothing"

    def test_rows_come_out_alike_each_time(
        self, query_type: QueryType, arguments: Mapping[str, Any], table: Any
    ) -> None:
        source, plan = self.plan_of(query_type, table, arguments)
        query = planned(source, plan)
        rows = query.to_arrow()
        assert rows.schema == plan.schema == query.schema
        assert query.to_arrow() == rows and query.count() == rows.num_rows
        assert query.head(3) == rows.slice(0, 3)
        again = planned(*self.plan_of(query_type, table, arguments))
        assert again.to_arrow() == rows

    @pytest.mark.parametrize("tasks", [1, 2, 50])
    def test_units_and_their_reader_travel(
        self, query_type: QueryType, arguments: Mapping[str, Any], table: Any, tasks: int
    ) -> None:
        source, plan = self.plan_of(query_type, table, arguments)
        step = pickle.loads(pickle.dumps(ReadUnits(plan.schema, plan.reader(source))))
        found: list[pa.RecordBatch] = []
        for number, units in enumerate(dealt(plan.units, tasks)):
            payload = pa.record_batch({PAYLOAD: pa.array([pickle.dumps(units)], pa.binary())})
            found += step(iter([payload]), Task(number))
        rows = pa.Table.from_batches(found, plan.schema)
        assert rows == planned(source, plan).to_arrow()

    def test_a_reader_may_be_left_early(
        self, query_type: QueryType, arguments: Mapping[str, Any], table: Any
    ) -> None:
        source, plan = self.plan_of(query_type, table, arguments)
        reader = plan.reader(source)
        for unit in plan.units:
            batches = reader.rows(unit)
            next(batches, None)
            close = getattr(batches, "close", None)
            if close is not None:
                close()
