"""What a write knows of its rows before it plans: how many arrive where, and their keys where they are few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.hookspecs.engine import Task
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY
from hoodoo_rows.model.internal_row import OP
from hoodoo_rows.produce.summary import PLACE_BYTES, Arrivals, Summarise, arrivals


def batch(*keys: str, path: str = "p") -> pa.RecordBatch:
    columns: dict[str, Any] = {
        RECORD_KEY: pa.array(keys, pa.string()),
        PARTITION_PATH: pa.array([path] * len(keys), pa.string()),
        OP: pa.array(np.zeros(len(keys), np.int8)),
    }
    return pa.RecordBatch.from_pydict(columns)


def told(step: Summarise, *tasks: list[pa.RecordBatch]) -> Arrivals:
    found = [out for n, mine in enumerate(tasks) for out in step(iter(mine), Task(n))]
    return arrivals(pa.Table.from_batches(found, step.out_schema))


TASKS = [[batch("a", "b"), batch("b", path="q")], [], [batch("c").slice(0, 0), batch("d")]]
KEYS = {"record_key": ["a", "b", "b", "d"], "partition_path": ["p", "p", "q", "p"]}


@pytest.mark.parametrize("few", [True, False])
def test_keys_come_where_they_are_few(few: bool) -> None:
    found = told(Summarise(1000 if few else 0), *TASKS)
    assert found.rows == {"p": 3, "q": 1} and found.total == 4 and found.key_bytes == 4
    assert (found.keys.to_pydict() if found.keys is not None else None) == (KEYS if few else None)


def test_keys_do_not_come_where_one_task_has_more_than_its_share() -> None:
    size = sum(batch("a", "b").column(n).nbytes for n in (0, 1)) + 2 * PLACE_BYTES
    whole = Summarise(3 * size)
    assert told(whole, [], [], [batch("a", "b")]).keys is not None
    found = told(whole, [], [], [], [batch("a", "b")])  # a fourth, of a third
    assert found.keys is None and found.total == 2
    found = told(whole, [batch("x")], [], [], [batch("a", "b")])  # some without others are none
    assert found.keys is None and found.total == 3


def test_a_task_with_too_many_keys_gives_none() -> None:
    size = sum(batch("a", "b").column(n).nbytes for n in (0, 1)) + 2 * PLACE_BYTES
    given = [batch("a", "b"), batch("c", "d"), batch("e", "f")]
    found = list(Summarise(2 * size)(iter(given), Task(0)))
    assert [out.column("keys").null_count for out in found] == [1]
    assert arrivals(pa.Table.from_batches(found)).total == 6


def test_a_write_without_rows_has_no_keys_to_look_for() -> None:
    found = told(Summarise(10), [], [])
    assert found.total == 0 and found.keys is not None and not found.keys.num_rows
