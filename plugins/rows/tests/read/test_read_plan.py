"""What a plan decides: instant, schema, slices."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import (
    ConfigError,
    CorruptTableError,
    HoodooError,
    SchemaError,
    UnsupportedTableError,
)
from hoodoo.model.meta import META_COLUMNS
from hoodoo.testing.stores import RecordingStorage

T1, T2, T3 = "20260101000000001", "20260101000000002", "20260101000000003"
Make = Callable[..., Any]


@pytest.fixture
def two_cities(hand: Make, rows: Make) -> Any:
    """paris k0 k1, rome k2; then rome's file is rewritten with k2 k3."""
    table = hand(RecordingStorage)
    table.file(rows("paris", [0, 1]), "paris", "f-1", T1)
    table.file(rows("rome", [2]), "rome", "f-2", T1)
    table.commit(T1)
    table.file(rows("rome", [2, 3]), "rome", "f-2", T2)
    table.commit(T2)
    return table


def opened(table: Any) -> list[str]:
    return sorted(path for op, path in table.storage.calls if op == "open")


def ids(scan: Any) -> list[str]:
    return sorted(scan.to_arrow().column("id").to_pylist())


def test_newest_snapshot(two_cities: Any) -> None:
    scan = two_cities.read()
    assert scan.plan.instant == T2
    assert ids(scan) == ["k0", "k1", "k2", "k3"]


def test_meta_columns_come_where_they_are_wanted(two_cities: Any) -> None:
    own = two_cities.read().schema.names
    assert not set(own) & set(META_COLUMNS)
    both = two_cities.read(meta=True)
    assert both.schema.names == [*own, *META_COLUMNS]
    assert both.to_arrow().select(own) == two_cities.read().to_arrow()
    named = two_cities.read(columns=["_hoodie_record_key", "n"])
    assert named.to_arrow().column_names == ["_hoodie_record_key", "n"]
    some = two_cities.read(columns=["_hoodie_record_key", "n"], meta=True).schema.names
    assert some[:2] == ["_hoodie_record_key", "n"] and sorted(some[2:]) == sorted(
        set(META_COLUMNS) - {"_hoodie_record_key"}
    )
    where = pc.field("_hoodie_commit_time") == T2
    assert (
        two_cities.read(columns=["id"], where=where).count()
        == two_cities.read(where=where).count()
        > 0
    )
    for wrong in ("id", ["id", "id"], ["nothing"]):
        with pytest.raises(HoodooError):
            two_cities.read(columns=wrong, meta=True)


def test_planning_opens_no_base_file(two_cities: Any) -> None:
    two_cities.read(where=pc.field("city") == "rome")
    assert opened(two_cities) == []


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        (T1, ["k0", "k1", "k2"]),
        (T2, ["k0", "k1", "k2", "k3"]),
        ("20260101000000999", ["k0", "k1", "k2", "k3"]),
        ("2026-01-01T01:00:00.001+01:00", ["k0", "k1", "k2"]),
        (datetime(2026, 1, 1, 0, 0, 0, 1000, tzinfo=timezone.utc), ["k0", "k1", "k2"]),
        ("20251231235959999", []),
    ],
)
def test_as_of_is_inclusive(two_cities: Any, as_of: Any, expected: list[str]) -> None:
    assert ids(two_cities.read(as_of=as_of)) == expected


def test_before_the_first_commit_the_schema_is_the_tables(two_cities: Any) -> None:
    scan = two_cities.read(as_of="20200101000000000")
    assert scan.plan.instant is None
    assert scan.to_arrow().schema == two_cities.read().schema
    assert scan.count() == 0


@pytest.mark.parametrize("as_of", ["yesterday", "2026-01-01T00:00:00", 5, datetime(2026, 1, 1)])
def test_a_moment_that_is_none(two_cities: Any, as_of: Any) -> None:
    with pytest.raises(ConfigError):
        two_cities.read(as_of=as_of)


def test_other_partitions_are_not_opened(two_cities: Any) -> None:
    scan = two_cities.read(where=(pc.field("city") == "rome") & (pc.field("n") > 2))
    assert ids(scan) == ["k3"]
    assert opened(two_cities) == [f"rome/f-2_0-0-0_{T2}.parquet"]
    assert (scan.plan.considered, scan.plan.pruned_by_partition) == (2, 1)
    assert "2 considered, 1 pruned by partition, 1 to read" in str(scan.plan)


@pytest.mark.parametrize(
    ("where", "left"),
    [
        (pc.field("city") != "paris", {"rome"}),
        (pc.field("city").is_null(), {"__HIVE_DEFAULT_PARTITION__"}),
        (pc.field("city").is_valid(), {"paris", "rome"}),
        (pc.field("city").isin(["paris", "oslo"]), {"paris"}),
        (
            (pc.field("city") == "paris") | (pc.field("n") == 4),
            {"paris", "rome", "__HIVE_DEFAULT_PARTITION__"},
        ),
        (pc.field("n") == 4, {"paris", "rome", "__HIVE_DEFAULT_PARTITION__"}),
        (pc.field("city") == "oslo", set()),
    ],
)
def test_pruning_never_loses_a_row(hand: Make, rows: Make, where: Any, left: set[str]) -> None:
    table = hand()
    for number, city in enumerate(["paris", "rome", None]):
        path = city or "__HIVE_DEFAULT_PARTITION__"
        table.file(rows(city, [number, number + 3]), path, f"f-{number}", T1)
    table.commit(T1)
    scan = table.read(where=where)
    # A null filter drops the row: the null partition may stay in the plan, its rows may not.
    assert {s.partition_path for s in scan.plan.slices} - {"__HIVE_DEFAULT_PARTITION__"} == left - {
        "__HIVE_DEFAULT_PARTITION__"
    }
    everything = table.read().to_arrow()
    assert scan.to_arrow().equals(everything.filter(where))


def test_replaced_file_groups_are_gone(two_cities: Any) -> None:
    two_cities.commit(T3, replaced={"paris": ["f-1"]})
    assert ids(two_cities.read()) == ["k2", "k3"]
    assert ids(two_cities.read(as_of=T2)) == ["k0", "k1", "k2", "k3"]


def test_a_commit_without_schema_keeps_the_one_before(two_cities: Any) -> None:
    schema = two_cities.read().schema
    two_cities.commit(T3, schema=None)
    assert two_cities.read().schema == schema


def test_a_table_service_does_not_set_the_schema(two_cities: Any) -> None:
    schema = two_cities.read().schema
    two_cities.commit(T3, schema=pa.schema([("id", pa.string())]), operation="CLUSTER", replaced={})
    assert two_cities.read().schema == schema


def test_no_commit_has_a_schema(hand: Make, rows: Make) -> None:
    table = hand()
    table.file(rows("paris", [1]), "paris", "f-1", T1)
    table.commit(T1, schema=None)
    assert table.read().schema.names == rows("paris", []).schema.names
    assert table.read().count() == 1


def test_nothing_tells_the_schema(hand: Make) -> None:
    table = hand()
    assert table.read().count() == 0  # nobody has written yet
    table.commit(T1, schema=None)
    with pytest.raises(CorruptTableError, match="schema"):
        table.read()


def test_an_empty_table(hand: Make) -> None:
    text = '{"type":"record","name":"r","fields":[{"name":"id","type":["null","string"]}]}'
    scan = hand(hoodie__table__create__schema=text).read()
    assert scan.schema.names == ["id"]
    assert scan.to_arrow().num_rows == scan.count() == 0
    assert list(scan.to_batches()) == []


def test_virtual_keys_have_no_meta_columns(hand: Make, rows: Make) -> None:
    table = hand(hoodie__populate__meta__fields="false")
    table.file(rows("paris", [1]), "paris", "f-1", T1)
    table.commit(T1)
    assert table.read().schema.names[0] == "id"
    found = table.read(columns=["_hoodie_record_key", "id"]).to_arrow()
    assert found.to_pydict() == {"_hoodie_record_key": [None], "id": ["k1"]}


def test_unknown_columns(two_cities: Any) -> None:
    with pytest.raises(SchemaError, match="did you mean city"):
        two_cities.read(columns=["id", "citi"])
    with pytest.raises(SchemaError, match="did you mean city"):
        two_cities.read(where=pc.field("City") == "rome")
    with pytest.raises(SchemaError, match="s.b"):
        two_cities.read(where=pc.field("s", "b") == 1)
    with pytest.raises(SchemaError, match="twice"):
        two_cities.read(columns=["id", "id"])
    with pytest.raises(ConfigError, match=r"\['id'\]"):
        two_cities.read(columns="id")


@pytest.mark.parametrize(
    "where", [pc.field("city") > 3, pc.field("n") + 1, pc.field(0) == "k", pc.field("s") == 1]
)
def test_filters_that_do_not_fit(two_cities: Any, where: Any) -> None:
    with pytest.raises(SchemaError, match="filter"):
        two_cities.read(where=where)


def test_a_filter_that_is_no_expression(two_cities: Any) -> None:
    with pytest.raises(ConfigError, match="pyarrow"):
        two_cities.read(where=["n > 3"])


def test_only_needed_columns_are_physical(two_cities: Any) -> None:
    spec = two_cities.read(columns=["id"], where=pc.field("s", "a") > 1).plan.spec
    assert spec.schema.names == ["id", "s"]
    assert spec.where_columns == ("s",)


def test_what_is_not_read(hand: Make, rows: Make, tmp_path: Any) -> None:
    table = hand()
    table.file(rows("paris", [1]), "paris", "f-1", T1)
    table.commit(T1)
    with pytest.raises(ConfigError, match="mode"):
        table.read(mode="latest")
    log = table.path / "paris" / f".f-1_{T1}.log.1_0-0-0"
    log.write_bytes(b"")
    with pytest.raises(UnsupportedTableError, match="log files"):
        table.read()
    assert table.read(mode="read_optimized").count() == 1
    log.unlink()
    (table.path / "paris" / f"f-9_0-0-0_{T1}.orc").write_bytes(b"")
    with pytest.raises(UnsupportedTableError, match="'orc'"):
        table.read()


def test_dropped_partition_columns_are_refused(hand: Make) -> None:
    with pytest.raises(UnsupportedTableError, match="drop.partition.columns"):
        hand(hoodie__datasource__write__drop__partition__columns="true").read()
