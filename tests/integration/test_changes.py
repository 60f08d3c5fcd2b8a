"""Change reads, against a dictionary; and the logs of change data that rewrites leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError, CorruptTableError, SchemaError
from hoodoo.testing import log_builders
from hoodoo.testing.directory import DirectoryStorage
from small_histories import SCHEMA, Change, History, Kind, Row
from test_incremental import KINDS, create, data

pytestmark = pytest.mark.sampled(4)

MODES = ("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")
LOGGED = [
    *(Kind(version, logged=mode) for version in (9, 6) for mode in MODES),
    Kind(9, True, logged=MODES[2]), Kind(6, True, logged=MODES[1]),
    Kind(9, index="global_simple", ordered=True, logged=MODES[1]),
]  # fmt: skip


def found_in(changes: Any) -> dict[str, list[Change]]:
    """instant -> its changes, sorted by key."""
    found: dict[str, list[Change]] = {}
    for row in pa.table(changes).to_pylist():
        image = row["after"] or row["before"]
        if row["after"] and row["before"]:
            assert all(row["after"][n] == row["before"][n] for n in ("id", "city"))
        before, after = (r and (r["fare"], r["ts"]) for r in (row["before"], row["after"]))
        change = (row["op"], (image["city"], image["id"]), before, after)
        found.setdefault(row["instant"], []).append(change)
    return {instant: sorted(some, key=lambda c: c[1]) for instant, some in found.items()}


def replayed(changes: Any, by_id: bool) -> dict[Any, Any]:
    """The rows that are left when the changes are applied in their order, by key."""
    rows: dict[Any, Any] = {}
    for change in pa.table(changes).to_pylist():
        image = change["after"] or change["before"]
        key = image["id"] if by_id else (image["city"], image["id"])
        if change["op"] == "delete":
            assert rows.pop(key) == change["before"]
        else:
            assert rows.get(key) == change["before"]
            rows[key] = image
    return rows


@pytest.mark.parametrize("kind", [*KINDS, *LOGGED], ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_every_commit_of_a_random_history(tmp_path: Path, kind: Kind, seed: int) -> None:
    history = History(kind, tmp_path / "t", seed).run(9)
    last = len(history.states) - 1
    expected = {}
    for at in range(1, last + 1):
        commit = history.states[at][0]
        assert commit is not None
        if history.changes(at):
            expected[commit.instant] = history.changes(at)
    everything = history.table.changes("earliest")
    assert found_in(everything) == expected
    instants = pa.table(everything).column("instant").to_pylist()
    assert instants == sorted(instants)
    left = replayed(everything, kind.index == "global_simple").values()
    assert {(r["city"], r["id"]): (r["fare"], r["ts"]) for r in left} == {
        key: (row.fare, row.ts) for key, row in history.rows.items()
    }
    for since in range(last):
        for until in range(since, last + 1):
            some = [history.states[at][0].instant for at in range(since + 1, until + 1)]
            wanted = {i: c for i, c in expected.items() if i in some}
            found = history.table.changes(history.point(since), history.point(until))
            assert found_in(found) == wanted, f"({since}, {until}]"


def test_a_replaced_group_whose_files_and_clean_are_forgotten(tmp_path: Path) -> None:
    """Nothing but the commit says that there was something to replace."""
    table = create(tmp_path / "t", hoodie__clean__commits__retained="1",
                   hoodie__keep__min__commits="2", hoodie__keep__max__commits="3")  # fmt: skip
    first = table.upsert(data((1, "oslo", 1.0)))
    second = table.insert_overwrite_table(data((2, "oslo", 1.0)).slice(0, 0))
    for fare in range(9):
        last = table.upsert(data((3, "rome", float(fare))))
    assert table.timeline().find(second.instant) is None
    with pytest.raises(ConfigError, match="needs the file oslo/.* which a clean has taken away"):
        table.changes(first.instant, second.instant)
    assert table.changes(last.instant).count() == 0


def test_what_a_change_looks_like(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    first = table.upsert(data((1, "oslo", 1.0)))
    second = table.upsert(data((1, "oslo", 2.0)))
    changes = table.changes("earliest")
    image = pa.struct(list(SCHEMA))
    fields = [("op", pa.string()), ("instant", pa.string()), ("completed", pa.string())]
    assert changes.schema == pa.schema([*fields, ("before", image), ("after", image)])
    old = {"id": 1, "city": "oslo", "fare": 1.0, "ts": 0}
    new = {**old, "fare": 2.0}
    assert pa.table(changes).to_pylist() == [
        {"op": "insert", "instant": first.instant, "completed": first.completed, "before": None,
         "after": old},
        {"op": "update", "instant": second.instant, "completed": second.completed, "before": old,
         "after": new},
    ]  # fmt: skip
    assert changes.count() == 2 and "2, in 2 units" in changes.explain()
    assert changes.to_reader().schema == changes.schema
    assert table.changes(changes.plan.until).count() == 0


def test_columns_of_the_images(tmp_path: Path) -> None:
    table = create(tmp_path / "t", hoodie__table__cdc__enabled="true")
    table.upsert(data((1, "oslo", 1.0)))
    table.upsert(data((1, "oslo", 2.0)))
    images = pa.table(table.changes("earliest", columns=["fare", "_hoodie_record_key"]))["after"]
    assert images.to_pylist() == [{"fare": fare, "_hoodie_record_key": "1"} for fare in (1.0, 2.0)]
    assert pa.table(table.changes("earliest", columns=[])).num_rows == 2


def test_a_filter_is_asked_of_both_images(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.upsert(data((1, "oslo", 1.0), (2, "oslo", 1.0), (3, "rome", 1.0), (4, "oslo", 9.0)))
    table.upsert(data((1, "oslo", 9.0), (2, "oslo", 2.0)))
    table.upsert(data((1, "oslo", 2.0)))
    table.delete([4, 2])

    def found(where: Any) -> list[tuple[str, int]]:
        rows = pa.table(table.changes("earliest", where=where, columns=["id"])).to_pylist()
        return [(row["op"], (row["after"] or row["before"])["id"]) for row in rows]

    high = [("insert", 4), ("update", 1), ("update", 1), ("delete", 4)]
    assert found(pc.field("fare") > 5) == found("fare > 5") == high
    assert found(pc.field("city") == "rome") == found("city = 'rome'") == [("insert", 3)]
    with pytest.raises(SchemaError, match="Did you mean city"):
        table.changes("earliest", where="cty = 'rome'")
    assert all(
        unit.partition_path == "rome"
        for unit in table.changes("earliest", where=pc.field("city") == "rome").plan.units
    )


def test_keys_that_are_there_twice(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    first = table.insert(data((1, "oslo", 1.0)))
    table.insert(data((1, "oslo", 2.0)))
    changed = table.upsert(data((1, "oslo", 3.0)))
    ops = [
        (row["op"], row["before"] and row["before"]["fare"], row["after"]["fare"])
        for row in pa.table(table.changes(first.instant)).to_pylist()
    ]
    assert ops[0] == ("insert", None, 2.0)
    assert len(ops) == 1 + changed.updated
    assert sorted(op[1] for op in ops[1:]) == [1.0, 2.0][: changed.updated]


@pytest.mark.parametrize("version", [9, 6])
@pytest.mark.parametrize("merged", [False, True])
def test_a_state_before_that_was_cleaned_is_an_error(
    tmp_path: Path, version: int, merged: bool
) -> None:
    history = History(Kind(version, merged), tmp_path / "t", 1)
    for n in range(5):
        history._upsert({("oslo", 1): Row(float(n), 0)})
        if merged:
            history.table.compact()
    history.table.clean(commits_retained=1)
    with pytest.raises(ConfigError, match="clean") as raised:
        history.table.changes(history.point(2))
    assert "since=" in str(raised.value)
    assert pa.table(history.table.changes(history.point(4)))["op"].to_pylist() == ["update"]


# --- logs of change data ------------------------------------------------------------------------------
def logs_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Path of each log -> its rows."""
    found = {}
    for log in sorted(path.rglob(".*.cdc")):
        name = log.relative_to(path).as_posix()
        with log_builders.opened(log) as reader:
            assert not reader.damages
            found[name] = [row for block in reader.blocks for row in reader.rows(block).to_pylist()]
    return found


def logged(path: Path, mode: str, version: int = 9, schema: pa.Schema = SCHEMA) -> hoodoo.Table:
    options = {
        "hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": mode,
    }  # fmt: skip
    return hoodoo.create(
        str(path), schema, record_key="id", partition_by="city", table_version=version,
        options=options,
    )  # fmt: skip


@pytest.mark.parametrize("version", [9, 6])
@pytest.mark.parametrize("mode", MODES)
def test_rewrites_leave_logs(tmp_path: Path, mode: str, version: int) -> None:
    table = logged(tmp_path / "t", mode, version)
    table.upsert(data((1, "oslo", 1.0), (2, "oslo", 1.0)))
    assert not logs_of(tmp_path / "t"), "new files need none"
    commit = table.upsert(data((1, "oslo", 2.0), (3, "oslo", 2.0)))
    table.delete([2])
    table.insert(data((4, "oslo", 4.0)))
    logs = logs_of(tmp_path / "t")
    rows = [row for log in sorted(logs) for row in sorted(logs[log], key=lambda r: r["op"])]
    assert [row["op"] for row in rows] == ["i", "u", "d", "i"]
    if mode != "DATA_BEFORE_AFTER":
        assert [row["record_key"] for row in rows] == ["3", "1", "2", "4"]
    else:
        assert rows[0]["ts_ms"] == commit.instant
        assert [row["after"] and row["after"]["id"] for row in rows] == [3, 1, None, 4]
    if mode != "OP_KEY_ONLY":
        assert [row["before"] and row["before"]["fare"] for row in rows] == [None, 1.0, 1.0, None]
    storage = DirectoryStorage(str(tmp_path / "t"))
    told: dict[str, int] = {}
    for instant in table.timeline().writes():
        for stat in table.timeline().metadata(storage, instant).stats:
            told |= stat.extra.get("cdcStats") or {}
    assert told == {name: (tmp_path / "t" / name).stat().st_size for name in logs}
    scan = table.read()
    assert scan.count() == 3 and not any(s.log_files for s in scan.plan.slices)


def test_changes_outlive_the_file_before_where_logs_say_all(tmp_path: Path) -> None:
    for mode in MODES:
        table = logged(tmp_path / mode, mode)
        first = table.upsert(data((1, "oslo", 1.0), (2, "oslo", 1.0)))
        table.upsert(data((1, "oslo", 2.0), (3, "oslo", 2.0)))
        expected = sorted(map(repr, pa.table(table.changes(first.instant)).to_pylist()))
        (tmp_path / mode / first.files[0]).unlink()
        if mode == "OP_KEY_ONLY":
            with pytest.raises(CorruptTableError, match=first.files[0]):
                table.changes(first.instant)
            continue
        found = pa.table(table.changes(first.instant)).to_pylist()
        assert sorted(map(repr, found)) == expected


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    table = logged(tmp_path / "t", "DATA_BEFORE_AFTER")
    first = table.upsert(data((1, "oslo", 1.0)))
    table.upsert(data((1, "oslo", 2.0)))
    (log,) = (tmp_path / "t").rglob(".*.cdc")
    log.write_bytes(log.read_bytes()[:-9])
    with pytest.raises(CorruptTableError, match=r"\.cdc"):
        table.changes(first.instant).to_arrow()
    log.unlink()
    with pytest.raises(CorruptTableError, match=r"\.cdc"):
        table.changes(first.instant)


@pytest.mark.parametrize("mode", MODES[1:])
def test_nested_and_evolved_images(tmp_path: Path, mode: str) -> None:
    nested = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])
    schema = pa.schema(
        [
            ("id", pa.int64()), ("city", pa.string()), ("s", nested),
            ("d", pa.decimal128(9, 2)), ("t", pa.timestamp("us", "UTC")),
        ]
    )  # fmt: skip
    table = logged(tmp_path / "t", mode, schema=schema)
    rows = [
        {"id": 1, "city": "oslo", "s": {"a": 1, "b": ["x", None]}, "d": None, "t": 5},
        {"id": 2, "city": "oslo", "s": None, "d": None, "t": None},
    ]
    first = table.upsert(pa.Table.from_pylist(rows, schema))
    wide = schema.append(pa.field("more", pa.string()))
    table.upsert(pa.Table.from_pylist([{**rows[0], "s": {"a": 2, "b": []}}], schema))
    table.upsert(pa.Table.from_pylist([{**rows[1], "more": "new"}], wide), add_columns=True)
    found = pa.table(table.changes(first.instant))
    assert found.schema.field("after").type == pa.struct(list(table.schema))
    one, two = found.to_pylist()
    assert one["before"]["s"] == {"a": 1, "b": ["x", None]} and one["after"]["s"] == {
        "a": 2,
        "b": [],
    }
    assert one["before"]["more"] is None and one["before"]["t"] == one["after"]["t"]
    assert two["before"]["more"] is None and two["after"]["more"] == "new"
    assert len(logs_of(tmp_path / "t")) == 2


def test_a_mode_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="SOMETHING"):
        logged(tmp_path / "t", "SOMETHING")
    assert not (tmp_path / "t").exists()


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
def test_logs_and_changes_by_spark(
    tmp_path: Path, spark: Any, collected: Callable[[Any], pa.Table]
) -> None:
    table = logged(tmp_path / "t", "DATA_BEFORE_AFTER")
    first = table.upsert(data((1, "oslo", 1.0), (2, "rome", 1.0)), engine="spark")
    table.upsert(data((1, "oslo", 2.0), (3, "rome", 2.0)), engine="spark")
    assert sum(len(rows) for rows in logs_of(tmp_path / "t").values()) == 2
    ours = table.changes(first.instant)
    theirs = collected(ours.to_spark(spark))
    assert sorted(map(repr, theirs.to_pylist())) == sorted(map(repr, pa.table(ours).to_pylist()))
    assert sorted(theirs["op"].to_pylist()) == ["insert", "update"]
