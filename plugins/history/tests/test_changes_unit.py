"""Units of a change read on their way to a task, and how rows of one key are paired."""

from __future__ import annotations

import pickle
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.timeline.timeline import from_names
from hoodoo_history.changes import plan
from hoodoo_history.changes.compare import _pairs
from hoodoo_history.changes.unit import ChangeUnit
from hoodoo_history.window import place, point, upto
from hoodoo_rows.read.step import dealt
from hoodoo_rows.testing.tables import Tuples

OLD = FileSlice("p", "f", "1", BaseFile("p", "f", "1", "0-0-0", size=7))
LOG = LogFile("p", "f", "2", 1, "0-0-0", ".cdc", size=5)
UNITS = [
    ChangeUnit("2", "3", "p", (OLD,), (), "1", ("delete",), 1, 4),
    ChangeUnit("2", "3", "", (), (OLD, OLD), logs=(LOG,)),
]


def test_units_travel() -> None:
    assert pickle.loads(pickle.dumps(UNITS)) == UNITS
    assert [unit.size for unit in UNITS] == [7, 19]
    groups = dealt(UNITS * 3, 2)
    assert len(groups) == 2
    assert [unit for group in groups for unit in group] == UNITS * 3
    assert dealt([], 2) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["a", "b"], ["b", "c", "a"], [(1, 0), (0, 2)]),
        (["a", "a", "a"], ["a", "a"], [(0, 0), (1, 1)]),
        (["a"], ["a", "b", "a"], [(0, 0)]),
        ([], ["a"], []),
    ],
)
def test_pairs(before: list[str], after: list[str], expected: list[tuple[int, int]]) -> None:
    columns = (pa.chunked_array([some], pa.string()) for some in (before, after))
    at, to = _pairs(*columns)
    assert list(zip(at.tolist(), to.tolist(), strict=True)) == expected


def test_points_and_states() -> None:
    config = TableConfig({"hoodie.table.version": "9"})
    first, second = "20260101000000001", "20260101000000002"
    ends = ("20260101000000009", "20260101000000005")
    timeline = from_names(
        [f"{first}_{ends[0]}.commit", f"{second}_{ends[1]}.commit", "20260101000000007.inflight"],
        config,
    )
    assert point(first, timeline) == ends[0] and point(ends[1], timeline) == ends[1]
    assert point("earliest", timeline) == point("000", timeline) == "0" * 17
    assert [place(i) for i in upto(timeline, ends[1]).writes()] == [ends[1]]
    assert len(upto(timeline, ends[0]).instants) == 2
    with pytest.raises(ConfigError):
        point("soon", timeline)


def test_a_large_replacement_is_compared_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = pa.schema([("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64())])
    data = Tuples(schema)
    table = hoodoo.create(
        str(tmp_path / "t"),
        schema,
        record_key="id",
        partition_by="city",
        options={"hoodoo.layout": "new_files"},
    )
    for n in range(3):
        table.upsert(data(*((i, "oslo", float(n)) for i in range(n * 40, n * 40 + 40))))
    before = table.insert_overwrite(data(*((i, "oslo", 9.0) for i in range(20, 140))))
    whole = pa.table(table.changes("earliest")).to_pylist()
    monkeypatch.setattr(plan, "UNIT_BYTES", 2000)
    parts = table.changes("earliest")
    assert max(unit.parts for unit in parts.plan.units) > 3
    assert sorted(map(repr, pa.table(parts).to_pylist())) == sorted(map(repr, whole))
    last = [row["op"] for row in whole if row["instant"] == before.instant]
    counted = {op: last.count(op) for op in ("delete", "update", "insert")}
    assert counted == {"delete": 20, "update": 100, "insert": 20}
