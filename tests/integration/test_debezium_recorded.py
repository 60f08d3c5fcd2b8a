"""Events that Debezium wrote of a real Postgres (tests/golden/data/debezium): whatever the batches, the table has the
rows that Postgres has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "golden/data/debezium"
UNAVAILABLE = "__debezium_unavailable_value"
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("city", pa.string()),
        ("balance", pa.int64()),
        ("notes", pa.string()),
        ("_change_operation_type", pa.string()),
        ("_event_lsn", pa.int64()),
    ]
)
Event = dict[str, Any]


def events() -> list[Event]:
    """Without the tombstones, which say a second time that a row was deleted."""
    lines = (FOLDER / "accounts.jsonl").read_text("utf-8").splitlines()
    return [event for line in lines if (event := json.loads(line)) is not None]


def flat(event: Event) -> Event:
    row = event["before"] if event["op"] == "d" else event["after"]
    return {**row, "_change_operation_type": event["op"], "_event_lsn": event["source"]["lsn"]}


def wanted() -> list[Event]:
    found: list[Event] = json.loads((FOLDER / "accounts_at_the_end.json").read_text("utf-8"))
    return found


def test_the_recording_has_each_kind_of_event() -> None:
    found = events()
    assert {event["op"] for event in found} == {"r", "c", "u", "d"}
    rows = [event["after"] for event in found if event["after"]]
    assert any(row["notes"] == UNAVAILABLE for row in rows), "large texts that did not change"
    assert all(len(event["before"]) == 4 for event in found if event["op"] == "d")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("version", [9, 8, 6])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_rows_are_those_of_postgres(tmp_path: Path, kind: str, version: int, size: int) -> None:
    """Each batch comes twice, as a stream that goes on after a crash sends it."""
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", merger="postgres_debezium",
        ordering="_event_lsn", table_type=kind, table_version=version,
    )  # fmt: skip
    rows = [flat(event) for event in events()]
    for start in range(0, len(rows), size):
        batch = pa.Table.from_pylist(rows[start : start + size], SCHEMA)
        table.upsert(batch)
        table.upsert(batch)
    names = ["id", "city", "balance", "notes"]

    def check() -> None:
        found = hoodoo.open(table.path).read(names).to_arrow().sort_by("id")
        assert found.to_pylist() == wanted()

    check()
    if kind == "MERGE_ON_READ":
        table.compact()
        check()
    assert table.verify().findings == ()
