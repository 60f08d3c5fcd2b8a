"""Columns renamed, dropped and moved by hand: no file is rewritten, and files of any age are read right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import CommitConflictError, CorruptTableError, HoodooError, SchemaError
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_rows.evolution.history import History, loaded

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("city", pa.string()),
        ("at", pa.int64()),
        ("fare", pa.float64()),
        ("seats", pa.int32()),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
    ]
)
KINDS = [(kind, version) for kind in ("cow", "mor") for version in (9, 6)]


def ride(key: int, fare: float | None, **more: Any) -> dict[str, Any]:
    return {"id": key, "city": "oslo", "at": 1, "fare": fare, **more}


def made(path: Path, kind: str = "cow", version: int = 9, **options: str) -> hoodoo.Table:
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", ordering="at", table_type=kind,
        table_version=version, options=options,
    )  # fmt: skip
    table.upsert([ride(n, float(n), seats=n, s={"x": n, "y": "a"}) for n in range(4)])
    table.upsert([ride(1, 1.5, seats=1, s=None)])
    return table


def files(path: Path) -> set[str]:
    return {str(p.relative_to(path)) for p in path.rglob("*") if p.is_file()}


def by_id(table: Any, **how: Any) -> dict[int, dict[str, Any]]:
    return {row["id"]: row for row in table.read(**how).to_pylist()}


@pytest.mark.parametrize(("kind", "version"), KINDS)
def test_a_rename_is_one_commit_without_files(tmp_path: Path, kind: str, version: int) -> None:
    table = made(tmp_path / "t", kind, version)
    before, last = files(tmp_path / "t"), table.timeline().writes()[-1].requested
    commit = table.alter(
        rename={"fare": "price", "s.x": "z"}, drop="seats", reorder=["id", "price"]
    )
    assert commit.operation == "alter_schema" and not commit.files
    new = files(tmp_path / "t") - before
    assert all(name.startswith(".hoodie/") for name in new)
    assert table.schema.names == ["id", "price", "city", "at", "s"]
    assert by_id(table)[3] == {
        "id": 3, "price": 3.0, "city": "oslo", "at": 1, "s": {"z": 3, "y": "a"},
    }  # fmt: skip
    assert by_id(table, as_of=last)[3] == ride(3, 3.0, seats=3, s={"x": 3, "y": "a"})
    table.upsert([{"id": 3, "city": "oslo", "at": 2, "price": 30.0, "s": {"z": 9, "y": "b"}}])
    assert {k: r["price"] for k, r in by_id(table).items()} == {0: 0.0, 1: 1.5, 2: 2.0, 3: 30.0}
    assert [r["id"] for r in table.read(where=pc.field("price") == 2.0).to_pylist()] == [2]
    assert [r["price"] for r in table.incremental(since=last).to_pylist()] == [30.0]
    images = table.changes(since=last).to_arrow().to_pylist()
    assert [(r["before"]["price"], r["after"]["price"]) for r in images] == [(3.0, 30.0)]
    assert table.verify().findings == ()


def test_hand_written_log_of_changes_has_the_names_of_now(tmp_path: Path) -> None:
    table = made(tmp_path / "t", **{"hoodie.table.cdc.enabled": "true"})
    start = table.timeline().writes()[0].requested
    table.alter(rename={"fare": "price", "s.x": "z"}, drop="seats")
    found = table.changes(since=start).to_arrow().to_pylist()
    assert [(r["op"], r["before"]["price"], r["after"]["price"]) for r in found] == [
        ("update", 1.0, 1.5)
    ]
    assert found[0]["before"]["s"] == {"z": 1, "y": "a"}


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"rename": {"id": "key"}}, "record key"),
        ({"drop": "city"}, "partition path"),
        ({"rename": {"at": "when"}}, "order of rows"),
        ({"drop": ["fare", "at"]}, "order of rows"),
        ({"rename": {"fare": "seats"}}, "as seats int32 is"),
    ],
)
def test_what_rows_are_found_by_stays(tmp_path: Path, how: dict[str, Any], says: str) -> None:
    table = made(tmp_path / "t")
    before = files(tmp_path / "t")
    with pytest.raises(SchemaError, match=says):
        table.alter(**how)
    assert files(tmp_path / "t") == before


def test_the_column_of_an_index_stays(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.alter(add={"name": "string"})
    table.create_index("by_name", ["name"])
    before = files(tmp_path / "t")
    for how in ({"rename": {"name": "called"}}, {"drop": "name"}):
        with pytest.raises(SchemaError, match=r'index by_name is of it.*drop_index\("by_name"\)'):
            table.alter(**how)
    assert files(tmp_path / "t") == before
    table.create_index("by_seats", ["seats"])
    with pytest.raises(SchemaError, match=r"index by_seats is of it"):  # its entries are texts
        table.alter(widen={"seats": "double"})
    table.alter(widen={"seats": "bigint"})
    table.drop_index("by_name")
    table.alter(rename={"name": "called"})
    table.upsert([{"id": 9, "city": "oslo", "at": 1, "called": "x"}])
    table.create_index("by_name", ["called"])
    assert [r["id"] for r in table.read(where="called = 'x'").to_pylist()] == [9]


def test_no_column_gets_the_name_of_one_that_was_dropped(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.alter(drop="fare", rename={"seats": "places"})
    before = files(tmp_path / "t")
    for how in (
        {"rename": {"places": "fare"}},
        {"add": {"fare": "double"}},
        {"add": {"seats": "int"}, "rename": {"places": "chairs"}},
    ):
        with pytest.raises(SchemaError, match="dropped or renamed: older files have its values"):
            table.alter(**how)
    with pytest.raises(SchemaError, match="dropped or renamed"):
        table.upsert([ride(7, 1.0)], add_columns=True)
    assert files(tmp_path / "t") == before
    table.alter(rename={"places": "seats"})  # its own
    assert by_id(table)[3]["seats"] == 3


def test_a_name_that_was_another_columns_leaves_out_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark Hudi lets it be; what is stored of the columns of older files is of that other column."""
    stats = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
    table = made(tmp_path / "t", **stats)
    monkeypatch.setattr(History, "was_another", lambda *given: False)
    table.alter(drop="fare", rename={"seats": "places"})
    table.alter(add={"fare": "double"})
    table.upsert([ride(8, 80.0, places=8)])
    assert {k: r["fare"] for k, r in by_id(table).items()} == {
        0: None,
        1: None,
        2: None,
        3: None,
        8: 80.0,
    }
    for where, ids in (("fare is null", [0, 1, 2, 3]), ("places = 3", [3]), ("fare = 80.0", [8])):
        assert sorted(r["id"] for r in table.read(where=where).to_pylist()) == ids


def test_a_service_that_was_planned_before_has_the_names_of_then(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "mor")
    table.upsert([ride(2, 2.5, seats=2)])
    planned = table.schedule_compaction()
    table.alter(rename={"fare": "price"}, drop="seats")
    table.upsert([{"id": 3, "city": "oslo", "at": 2, "price": 30.0}])
    wanted = {0: 0.0, 1: 1.5, 2: 2.5, 3: 30.0}
    table.run_compaction(planned)
    assert {k: r["price"] for k, r in by_id(table).items()} == wanted
    assert by_id(table, as_of=planned)[2] == ride(2, 2.5, seats=2, s=None)
    clustering = table.schedule_clustering()
    table.alter(rename={"price": "cost"})
    if clustering:
        table.run_clustering(clustering)
    table.compact()
    table.cluster()
    assert {k: r["cost"] for k, r in by_id(table).items()} == wanted


def test_a_writer_that_began_before_does_not_commit(tmp_path: Path) -> None:
    table, other = made(tmp_path / "t"), hoodoo.open(str(tmp_path / "t"))

    def arriving() -> Iterator[pa.RecordBatch]:
        other.alter(rename={"fare": "price"})
        yield pa.RecordBatch.from_pylist([ride(7, 7.0, seats=7, s=None)], SCHEMA)

    with pytest.raises(CommitConflictError, match="changed the schema"):
        table.upsert(pa.RecordBatchReader.from_batches(SCHEMA, arriving()))
    assert sorted(by_id(table)) == [0, 1, 2, 3]
    assert by_id(table)[3]["price"] == 3.0


def test_without_the_history_nothing_is_guessed(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.alter(rename={"fare": "price"})
    folder = tmp_path / "t" / ".hoodie" / ".schema"
    (file,) = folder.iterdir()
    history = json.loads(file.read_text())
    file.write_text(json.dumps({"schemas": history["schemas"][1:]}))
    storage = DirectoryStorage(str(tmp_path / "t"))
    latest = json.dumps(history["schemas"][0], separators=(",", ":"))
    import hoodoo_rows.evolution.history as module

    module._loaded.clear()
    with pytest.raises(CorruptTableError, match="what the columns were called before"):
        hoodoo.open(str(tmp_path / "t")).read().to_arrow()
    file.unlink()
    with pytest.raises(HoodooError):
        loaded(storage, latest)


def test_texts_of_schemas_that_can_not_be_read_name_what_they_are_of(tmp_path: Path) -> None:
    storage = DirectoryStorage(str(tmp_path))
    for text in (
        "[" * 50_000,
        "no json",
        '{"fields":[{"id":1}]}',
        '{"fields":5}',
        '{"version_id":1}',
    ):
        with pytest.raises(CorruptTableError, match="evolution on read"):
            loaded(storage, text)


def test_readers_of_other_formats_find_columns_by_name(tmp_path: Path) -> None:
    shown = made(tmp_path / "shown", **{"hoodoo.open.formats": "delta"})
    with pytest.raises(SchemaError, match="readers of delta find columns by name"):
        shown.alter(rename={"fare": "price"})
    table = made(tmp_path / "t")
    table.alter(rename={"fare": "price"})
    with pytest.raises(HoodooError, match="column price .*readers of delta find columns by name"):
        table.publish("delta")


def test_old_files_of_schemas_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoodoo_rows.evolution.history.KEPT", 3)
    table = made(tmp_path / "t")
    first = table.timeline().writes()[-1].requested
    altered = table.alter(rename={"fare": "price"}).instant
    for key in range(5):
        table.upsert([{"id": key, "city": "oslo", "at": 5, "price": 5.0}])
    table.alter(rename={"price": "cost"})
    assert len(list((tmp_path / "t" / ".hoodie" / ".schema").iterdir())) == 3
    assert by_id(table)[1]["cost"] == 5.0
    assert by_id(table, as_of=altered)[1]["price"] == by_id(table, as_of=first)[1]["fare"] == 1.5
