"""A write beside a planned resize puts its rows twice; reads of a stretch of time, and of an older state, have them once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import hoodoo
import pytest
from hashed_rows import SPLIT, contents, expected, rows

pytestmark = pytest.mark.sampled(4)

Make = Callable[..., hoodoo.Table]
CASES = list(
    product([9, 6], ["run", "cancelled", "pending"], ["true", "false"], ["", "DATA_BEFORE_AFTER"])
)


def _values(found: Any) -> list[str]:
    return sorted(found.to_arrow().column("v").to_pylist())


def _news(table: hoodoo.Table, since: str, until: str | None = None) -> list[str]:
    """What the changes of a stretch come to, as who applies them has it."""
    state: dict[str, str] = {}
    for change in table.changes(since, until).to_arrow().to_pylist():
        if change["op"] != "delete":
            state[change["after"]["id"]] = change["after"]["v"]
    return sorted(state.values())


@pytest.mark.parametrize(("version", "end", "metadata", "logs"), CASES)
def test_rows_are_there_once(made: Make, version: int, end: str, metadata: str, logs: str) -> None:
    options = {"hoodie.metadata.enable": metadata}
    if logs:
        options |= {
            "hoodie.table.cdc.enabled": "true",
            "hoodie.table.cdc.supplemental.logging.mode": logs,
        }
    table = made(version=version, options=options)
    one, two, three = rows(range(40), 1), rows(range(30, 50), 2, "b"), rows(range(45, 55), 3, "c")
    first = table.upsert(one).instant
    resize = table.schedule_clustering(options=SPLIT)
    second = table.upsert(two).instant
    if end == "run":
        table.run_clustering(resize)
    elif end == "cancelled":
        table.cancel_clustering(resize)
    table.upsert(three)
    assert contents(table) == expected(one, two, three)
    assert table.verify().ok
    both = [row["v"] for row in expected(two)]
    later = sorted(row["v"] for row in expected(two, three))
    assert _values(table.incremental(first, second)) == sorted(both)
    assert _values(table.incremental(first)) == later
    assert _values(table.incremental("earliest", second)) == sorted(
        row["v"] for row in expected(one, two)
    )
    assert _values(table.read(as_of=second)) == sorted(row["v"] for row in expected(one, two))
    assert _news(table, first, second) == sorted(both)
    assert _news(table, first) == later
    if end != "pending":
        table.compact()
        assert contents(table) == expected(one, two, three) and table.verify().ok
        assert _news(table, first) == later
