"""Tables with Hudi's payload classes: what they say of them in each version, and what rows become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError, OptionConflictError, UnsupportedTableError

MODEL = "org.apache.hudi.common.model."
UNAVAILABLE = "__debezium_unavailable_value"
PROPERTY = "hoodie.record.merge.property.hoodie."
FIELD, MARKER = f"{PROPERTY}payload.delete.field", f"{PROPERTY}payload.delete.marker"
MODE, LEGACY = "hoodie.table.partial.update.mode", "hoodie.table.legacy.payload.class"
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("notes", pa.string()),
        ("ts", pa.int64()),
        ("_event_lsn", pa.int64()),
        ("_event_seq", pa.string()),
        ("_event_bin_file", pa.string()),
        ("_event_pos", pa.int64()),
        ("_change_operation_type", pa.string()),
        ("Op", pa.string()),
    ]
)
# Merger, class, and what Spark Hudi 1.2 stores of it in version 9 beside the class.
POSTGRES = {
    "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
    MODE: "FILL_UNAVAILABLE",
    f"{PROPERTY}write.partial.update.unavailable.value": UNAVAILABLE,
    FIELD: "_change_operation_type",
    MARKER: "d",
    "hoodie.table.ordering.fields": "_event_lsn",
}
CLASSES: dict[str, tuple[str, dict[str, str]]] = {
    "partial_update": (
        "PartialUpdateAvroPayload",
        {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING", MODE: "IGNORE_DEFAULTS"},
    ),
    "overwrite_non_defaults": (
        "OverwriteNonDefaultsWithLatestAvroPayload",
        {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING", MODE: "IGNORE_DEFAULTS"},
    ),
    "aws_dms": (
        "AWSDmsAvroPayload",
        {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING", FIELD: "Op", MARKER: "D"},
    ),
    "postgres_debezium": ("debezium.PostgresDebeziumAvroPayload", POSTGRES),
    "mysql_debezium": (
        "debezium.MySqlDebeziumAvroPayload",
        {
            "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
            FIELD: "_change_operation_type",
            MARKER: "d",
            "hoodie.table.ordering.fields": "_event_bin_file,_event_pos",
        },
    ),
}
SAYS = ("hoodie.record.merge", "payload", "partial.update", "ordering", "precombine")


def said(table: Any) -> dict[str, str]:
    """What the table says of how its rows merge."""
    found = hoodoo.open(table.path).config.properties
    return {key: found[key] for key in found if any(part in key for part in SAYS)}


def made(path: Path, merger: str | None, **more: Any) -> Any:
    ordering = "ts" if merger == "partial_update" else ()
    return hoodoo.create(
        str(path), SCHEMA, **{"record_key": "id", "ordering": ordering, "merger": merger, **more}
    )


def row(id: int, notes: str | None, at: int, operation: str = "u") -> dict[str, Any]:
    return {
        "id": id,
        "notes": notes,
        "ts": at,
        "_event_lsn": at,
        "_event_seq": f"{at:06}.{at}",
        "_event_bin_file": f"mysql-bin.{at:06}",
        "_event_pos": at,
        "_change_operation_type": operation,
        "Op": operation.upper(),
    }


def notes(table: Any) -> dict[int, str | None]:
    found = table.read(columns=["id", "notes"]).to_pylist()
    return {one["id"]: one["notes"] for one in found}


@pytest.mark.parametrize("by", ["name", "class"])
@pytest.mark.parametrize("merger", CLASSES)
def test_what_version_9_says(tmp_path: Path, merger: str, by: str) -> None:
    java, properties = CLASSES[merger]
    options = {"hoodie.datasource.write.payload.class": MODEL + java}
    if by == "name":
        table = made(tmp_path / "t", merger)
    else:
        ordering = "ts" if merger == "partial_update" else ()
        table = made(tmp_path / "t", None, ordering=ordering, options=options)
    expected = {LEGACY: MODEL + java, **properties}
    if merger == "partial_update":
        expected["hoodie.table.ordering.fields"] = "ts"
    assert said(table) == expected
    hoodoo.open(table.path, options)  # the option of the job that made it


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [6, 8])
@pytest.mark.parametrize("merger", CLASSES)
def test_what_older_versions_say_and_back(tmp_path: Path, merger: str, version: int) -> None:
    java, properties = CLASSES[merger]
    table = made(tmp_path / "t", merger, table_version=version, table_type="MERGE_ON_READ")
    before = said(table)
    assert before["hoodie.compaction.payload.class"] == MODEL + java
    assert before.get("hoodie.record.merge.mode") == (None if version == 6 else "CUSTOM")
    table.upsert([row(1, "one", 3)])
    table.upsert([row(1, "late", 2), row(2, "two", 3)])
    rows = table.read().to_pylist()
    table.upgrade(9)
    after = said(table)
    assert after.items() >= {LEGACY: MODEL + java, **properties}.items()
    assert "hoodie.compaction.payload.class" not in after
    assert table.read().to_pylist() == rows
    table.downgrade(version)
    assert said(table) == before
    assert table.read().to_pylist() == rows


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("merger", CLASSES)
def test_what_rows_become(tmp_path: Path, merger: str, table_type: str, version: int) -> None:
    table = made(tmp_path / "t", merger, table_version=version, table_type=table_type)
    table.upsert([row(n, "old", 5) for n in range(1, 5)])
    missing = UNAVAILABLE if merger == "postgres_debezium" else None
    table.upsert([row(1, "new", 6), row(2, missing, 6), row(3, "late", 4), row(4, "old", 7, "d")])
    by_time = merger in ("partial_update", "postgres_debezium", "mysql_debezium")
    deletes = merger not in ("partial_update", "overwrite_non_defaults")
    fills = merger not in ("aws_dms", "mysql_debezium")
    expected: dict[int, str | None] = {1: "new", 2: "old" if fills else None}
    expected[3] = "old" if by_time else "late"
    expected |= {} if deletes else {4: "old"}
    assert notes(table) == expected
    assert {one["id"]: one["ts"] for one in table.read().to_pylist()}[2] == 6
    if table_type == "MERGE_ON_READ":
        table.compact()
        assert notes(table) == expected
    # What comes after a delete is new.
    table.upsert([row(4, missing, 8)])
    assert notes(table) == {**expected, 4: missing if deletes else "old"}


def test_rows_that_take_nothing_do_not_change(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "partial_update")
    first = table.upsert([row(1, "old", 5), row(2, None, 5)])
    commit = table.upsert([row(1, "late", 4), row(2, "late", 4)])
    assert (commit.inserted, commit.updated, commit.deleted) == (0, 1, 0)
    assert notes(table) == {1: "old", 2: "late"}
    (change,) = table.incremental(first.instant).to_pylist()
    assert (change["id"], change["ts"]) == (2, 5)


def test_binlog_positions_are_numbers_before_version_9(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "mysql_debezium", table_version=8)
    table.upsert([{**row(1, "old", 1), "_event_seq": "9.95"}])
    table.upsert([{**row(1, "file", 1), "_event_seq": "10.4"}])
    table.upsert([{**row(1, "place", 1), "_event_seq": "000010.30"}])
    table.upsert([{**row(1, "late", 1), "_event_seq": "10.4"}])
    assert notes(table) == {1: "place"}
    with pytest.raises(DataError, match="no number of a binlog file and a position"):
        table.upsert([{**row(1, "wrong", 1), "_event_seq": "mysql-bin"}])
    # The first row of a bootstrap has none.
    table.upsert([{**row(2, "snapshot", 1), "_event_seq": None}])
    table.upsert([{**row(2, "event", 1), "_event_seq": "1.1"}])
    assert notes(table)[2] == "event"


def test_marks_of_ones_own(tmp_path: Path) -> None:
    options = {"hoodie.payload.delete.field": "notes", "hoodie.payload.delete.marker": "gone"}
    table = made(tmp_path / "t", None, ordering="ts", options=options)
    assert said(table).items() >= {FIELD: "notes", MARKER: "gone"}.items()
    table.upsert([row(1, "one", 1), row(2, "two", 5), row(3, "gone", 1)])
    commit = table.upsert([row(1, "gone", 2), row(2, "gone", 4)])
    assert (notes(table), commit.deleted) == ({2: "two"}, 1)


def test_a_mode_of_ones_own(tmp_path: Path) -> None:
    table = made(tmp_path / "t", None, options={MODE: "ignore_defaults"})
    table.upsert([row(1, "one", 1)])
    table.upsert([row(1, None, 2)])
    assert notes(table) == {1: "one"}
    with pytest.raises(OptionConflictError, match="whose partial update mode is IGNORE_DEFAULTS"):
        made(tmp_path / "u", "partial", options={MODE: "IGNORE_DEFAULTS"})
    with pytest.raises(UnsupportedTableError, match="partial.update.mode=IGNORE_DEFAULTS"):
        table.downgrade(8)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_columns_that_a_mode_keeps(tmp_path: Path, table_type: str) -> None:
    table = made(tmp_path / "t", None, table_type=table_type, options={MODE: "KEEP_VALUES"})
    table.upsert([row(1, "one", 1)])
    table.upsert([{"id": 1, "ts": 2}])
    assert [(one["notes"], one["ts"]) for one in table.read().to_pylist()] == [("one", 2)]


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with pytest.raises(OptionConflictError, match="orders rows by _event_lsn"):
        made(path, "postgres_debezium", ordering="ts")
    with pytest.raises(ConfigError, match="each means nothing alone"):
        made(path, None, options={"hoodie.payload.delete.field": "Op"})
    with pytest.raises(ConfigError, match="is a property of tables of version 9"):
        made(path, None, table_version=8, options={MODE: "IGNORE_DEFAULTS"})
    with pytest.raises(OptionConflictError, match="contradicts the merger aws_dms"):
        made(path, "aws_dms", options={MODE: "IGNORE_DEFAULTS"})
    assert not path.exists()
    table = made(path, None)
    table.upsert([row(1, "one", 1)])
    with pytest.raises(OptionConflictError, match="contradicts the table, which does not have it"):
        hoodoo.open(str(path), {MODE: "IGNORE_DEFAULTS"}).upsert([row(1, None, 1)])


def test_statements(tmp_path: Path) -> None:
    """A statement says what a row becomes, and is refused where the table would not keep it."""
    table = made(tmp_path / "t", "overwrite_non_defaults")
    table.upsert([row(1, "one", 1), row(2, "two", 1)])
    table.update({"notes": "'new'"}, where="id = 1")
    assert notes(table) == {1: "new", 2: "two"}
    with pytest.raises(DataError, match="that the table would not keep"):
        table.update({"notes": "null"}, where="id = 1")
    table.delete(where="id = 2")
    assert notes(table) == {1: "new"}


def test_marks_of_a_table_have_no_older_version(tmp_path: Path) -> None:
    """Rows that are marked as deleted would be rows again there."""
    own = {"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "d"}
    rows = pa.table({"id": [1, 2], "op": ["i", "d"], "ts": [1, 1]})
    table = hoodoo.create(tmp_path / "t", rows.schema, record_key="id", ordering="ts", options=own)
    table.upsert(rows)
    before = table.to_arrow().sort_by("id")
    with pytest.raises(UnsupportedTableError, match=r"delete.field=op and .*delete.marker=d"):
        table.downgrade(8)
    assert table.to_arrow().sort_by("id") == before and table.config.version == 9
