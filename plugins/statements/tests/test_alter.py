"""Columns added, widened and made nullable by hand, by calls and SQL: files from before are read right; what can't be done
says why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError, SchemaError

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()), pa.field("n", pa.int32()), pa.field("f", pa.float32()),
        pa.field("price", pa.decimal128(5, 2)), pa.field("must", pa.string(), nullable=False),
        pa.field("s", pa.struct([("a", pa.int32())])),
    ]
)  # fmt: skip


def row(key: int, **more: Any) -> dict[str, Any]:
    return {"id": key, "n": key, "f": 0.5, "price": None, "must": "x", "s": {"a": key}, **more}


KINDS = [(kind, version) for kind in ("COPY_ON_WRITE", "MERGE_ON_READ") for version in (9, 6)]


@pytest.fixture(params=KINDS, ids=str)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    kind, version = request.param
    made = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", table_type=kind, table_version=version
    )
    made.upsert([row(1), row(2)])
    made.upsert([row(2, n=20)])
    return made


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """For what changes nothing."""
    return hoodoo.create(str(tmp_path_factory.mktemp("empty") / "t"), SCHEMA, record_key="id")


def test_columns_are_added_widened_and_made_nullable(table: Any) -> None:
    before = table.timeline().writes()[-1].requested
    commit = table.alter(
        add={"tip": "double", "s.b": pa.string(), "tags": pa.list_(pa.string())},
        widen={"n": "bigint", "f": "double", "price": "decimal(9, 2)", "s.a": "long"},
        nullable="must",
    )
    assert commit.instant and commit.operation == "alter_schema" and not commit.files
    schema = table.schema
    assert schema.names == [*SCHEMA.names, "tip", "tags"]
    assert [schema.field(n).type for n in ("n", "f", "tip")] == [
        pa.int64(),
        pa.float64(),
        pa.float64(),
    ]
    assert schema.field("price").type == pa.decimal128(9, 2) and schema.field("must").nullable
    assert schema.field("s").type == pa.struct([("a", pa.int64()), ("b", pa.string())])
    found = {r["id"]: r for r in table.read(schema.names).to_pylist()}
    assert found[2] == {**row(2, n=20, s={"a": 2, "b": None}), "tip": None, "tags": None}
    # Rows of both ages, in one file group.
    table.upsert(
        [row(3, n=2**40, must=None, s={"a": 3, "b": "q"}, tip=1.5, tags=["t"], price=None)]
    )
    assert table.update({"tip": "n + 0.5"}, where="id = 1").updated == 1
    found = {r["id"]: r for r in table.read(schema.names).to_pylist()}
    assert (found[1]["tip"], found[2]["tip"], found[3]["tip"]) == (1.5, None, 1.5)
    assert found[3]["n"] == 2**40 and found[3]["must"] is None and found[3]["s"]["b"] == "q"
    # Older moments are as they were.
    assert table.read(as_of=before).schema.field("n").type == pa.int32()
    assert "tip" not in table.read(as_of=before).schema.names
    assert table.verify().ok


def test_integers_become_floating_where_all_fit(table: Any) -> None:
    table.alter(widen={"n": pa.float64()})
    assert sorted(r["n"] for r in table.read(["n"]).to_pylist()) == [1.0, 20.0]


def test_what_is_so_already_is_no_commit(table: Any) -> None:
    before = len(table.timeline().instants)
    assert table.alter(widen={"n": "int"}).instant == ""
    assert len(table.timeline().instants) == before


def test_fields_in_lists_and_maps(table: Any) -> None:
    of_one = pa.struct([("x", pa.int32())])
    table.alter(add={"stops": pa.list_(of_one), "by": "map<string, struct<x: int>>"})
    was = row(7, stops=[{"x": 1}, None], by={"k": {"x": 1}})
    table.upsert([was])
    table.alter(
        add={"stops.element.zone": "array<string>", "by.value.y": "decimal(4, 1)"},
        widen={"stops.element.x": "bigint", "by.value.x": "double"},
    )
    zone = pa.field("zone", pa.list_(pa.string()))
    assert table.schema.field("stops").type.value_type == pa.struct([("x", pa.int64()), zone])
    found = {r["id"]: r for r in table.read(["id", "stops", "by"]).to_pylist()}
    assert found[7]["stops"] == [{"x": 1, "zone": None}, None] and found[1]["stops"] is None
    assert dict(found[7]["by"]) == {"k": {"x": 1.0, "y": None}}
    table.upsert([{**was, "id": 8, "stops": [{"x": 2**40, "zone": ["z"]}], "by": None}])
    found = {r["id"]: r for r in table.read(["id", "stops"]).to_pylist()}
    assert found[8]["stops"] == [{"x": 2**40, "zone": ["z"]}] and found[7]["stops"][1] is None
    with pytest.raises(SchemaError, match="is its element"):
        table.alter(add={"stops.y": "int"})
    with pytest.raises(SchemaError, match="in no list or map"):
        table.alter(nullable="stops.element.x")


def test_what_takes_the_place_of_a_new_name(table: Any) -> None:
    """As the errors say it."""
    table.alter(add={"m": "int", "s.b": "int"})
    table.update({"m": "n", "s": "named_struct('a', null, 'b', s.a)"})
    table.update({"n": None})
    found = {r["id"]: r for r in table.read(["id", "n", "m", "s"]).to_pylist()}
    assert found[2] == {"id": 2, "n": None, "m": 20, "s": {"a": None, "b": 2}}


ALTERED = [
    ("ADD COLUMNS (tip DOUBLE, s.b STRING, tags ARRAY<STRING>)", {"tip", "tags", "s"}),
    ("ADD COLUMN IF NOT EXISTS n INT", set()),
    ("ADD COLUMNS (code VARCHAR(10), codes ARRAY<CHAR(3)>)", {"code", "codes"}),
    ("ADD COLUMN place STRUCT<lat: DOUBLE, of: MAP<STRING, BIGINT>>", {"place"}),
    ("CHANGE COLUMN N n BIGINT", {"n"}),
    ("ALTER COLUMN n TYPE DOUBLE", {"n"}),
    ("ALTER COLUMN s.a TYPE BIGINT", {"s"}),
    ("ALTER COLUMN `price` SET DATA TYPE DECIMAL(9, 2)", {"price"}),
    ("ALTER COLUMN must DROP NOT NULL", set()),
]


def test_alter_table(table: Any) -> None:
    before = {r["id"]: r for r in table.read(["id", "n", "s"]).to_pylist()}
    for text, changed in ALTERED:
        was = {f.name: f.type for f in table.schema}
        commit = hoodoo.sql(f"ALTER TABLE t {text}", {"t": table})
        assert {f.name for f in table.schema if f.type != was.get(f.name)} == changed, text
        assert bool(commit.instant) == bool(changed)
    assert table.schema.field("code").type == pa.string()  # of any length
    assert table.schema.field("codes").type.value_type == pa.string()
    assert table.schema.field("place").type.field("of").type == pa.map_(pa.string(), pa.int64())
    after = {r["id"]: r for r in table.read(["id", "n", "s"]).to_pylist()}
    assert after == {k: {**r, "s": {**r["s"], "b": None}} for k, r in before.items()}


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("RENAME COLUMN id TO m", SchemaError, r"can't be renamed: the record key"),
        ("RENAME COLUMN n TO f", SchemaError, "would be called f, as f float is"),
        ("DROP COLUMN id", SchemaError, "can't be dropped: the record key"),
        ("DROP COLUMN s.a", SchemaError, "is all that there is"),
        ("DROP COLUMNS (f, nope)", SchemaError, "nope"),
        ("ALTER COLUMN n AFTER nope", SchemaError, "nope"),
        ("ALTER COLUMN n COMMENT 'x'", SchemaError, "not stored"),
        ("ALTER COLUMN s.a COMMENT 'x'", SchemaError, "not stored"),
        ("ALTER COLUMN n SET NOT NULL", SchemaError, "can't be made NOT NULL"),
        ("ALTER COLUMN n SET DEFAULT 3", ConfigError, "not known here"),
        ("ALTER COLUMN n TYPE STRING", SchemaError, "not a compatible change"),
        ("ALTER COLUMN nope TYPE BIGINT", SchemaError, "nope"),
        ("ADD COLUMN x INT NOT NULL", SchemaError, "Leave NOT NULL out"),
        ("ADD COLUMN x INT DEFAULT 3", SchemaError, "UPDATE the table"),
        ("ADD COLUMN x INT COMMENT 'y'", SchemaError, "comments on columns are not stored"),
        ("ADD COLUMN x INT FIRST", SchemaError, "new columns come last"),
        ("ADD COLUMN x UUID", ConfigError, "type uuid is not known"),
        ("ADD COLUMN x", ConfigError, "not understood"),
        ("ADD COLUMN n INT", SchemaError, "there already"),
        ("DROP PARTITION (n = 1)", ConfigError, "delete_partitions"),
        ("REPLACE COLUMNS (n INT)", ConfigError, "ADD COLUMNS, DROP COLUMNS"),
        ("RENAME TO u", ConfigError, "not known here"),
        ("SET TBLPROPERTIES ('a' = 'b')", ConfigError, "not known here"),
        ("UNSET TBLPROPERTIES ('a')", ConfigError, "not understood"),
    ],
)  # fmt: skip
def test_what_alter_table_can_not_do_says_why(
    empty: Any, text: str, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        hoodoo.sql(f"ALTER TABLE t {text}", {"t": empty})
    assert not empty.timeline().instants


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda t: t.alter(), ConfigError, "changes nothing"),
        (lambda t: t.alter(add={"N": "int"}), SchemaError, "there already"),
        (lambda t: t.alter(add={"x": "nosuch"}), ConfigError, "type nosuch is not known"),
        (lambda t: t.alter(add={"n.x": "int"}), SchemaError, "no struct"),
        (lambda t: t.alter(widen={"m": "int"}), SchemaError, "m"),
        (lambda t: t.alter(widen={"n": "string"}), SchemaError, "incoming|does not become"),
        (lambda t: t.alter(widen={"f": "int"}), SchemaError, "does not become"),
        (lambda t: t.alter(widen={"id": "double"}), HoodooError, "id"),
        (lambda t: t.alter(nullable="nope"), SchemaError, "nope"),
        (lambda t: t.alter(nullable="id"), HoodooError, "id"),
        (lambda t: t.alter(rename=["n", "m"]), ConfigError, "Give a dictionary|takes a dict"),
        (lambda t: t.alter(rename={"nope": "m"}), SchemaError, "nope.*is not in the table"),
        (lambda t: t.alter(rename={"id": "m"}), SchemaError, r"can't be renamed.*into a new table"),
        (lambda t: t.alter(rename={"n": "n.m"}), SchemaError, "lies elsewhere"),
        (lambda t: t.alter(rename={"s.a": "f.a"}), SchemaError, "lies elsewhere"),
        (lambda t: t.alter(rename={"n": "m-1"}), SchemaError, "a name has letters"),
        (lambda t: t.alter(rename={"n": "_hoodie_m"}), SchemaError, "Hudi's own"),
        (lambda t: t.alter(rename={"n": "F"}), SchemaError, "as f float is"),
        (lambda t: t.alter(rename={"n": 5}), ConfigError, "does not say what becomes what"),
        (lambda t: t.alter(rename={"n": "m"}, drop="n"), ConfigError, "in rename= and in drop="),
        (lambda t: t.alter(rename={"n": "m"}, widen={"m": "double"}), ConfigError, "twice"),
        (lambda t: t.alter(rename={"n": "m"}, widen={"m": "string"}), SchemaError, "does not become|compatible"),
        (lambda t: t.alter(drop="s.a"), SchemaError, "is all that there is"),
        (lambda t: t.alter(drop="id"), SchemaError, r"can't be dropped.*into a new table"),
        (lambda t: t.alter(drop="s.nope"), SchemaError, "nope.*is not in the table"),
        (lambda t: t.alter(drop=5), ConfigError, "does not name columns|takes a text"),
        (lambda t: t.alter(reorder=["nope"]), SchemaError, "nope.*is not in the table"),
        (lambda t: t.alter(reorder={"n": 1}), ConfigError, "does not name columns|takes a text"),
        (lambda t: t.alter(comments={"n": "x"}), SchemaError, "not stored"),
        (lambda t: t.alter(comments={"nope": "x"}), SchemaError, "nope.*is not in the table"),
        (lambda t: t.alter(comments="x"), ConfigError, "Give a dictionary|takes a dict"),
        (lambda t: t.alter(nullable=5), ConfigError, "does not name columns|takes a text"),
        (lambda t: t.alter(nullable="n", widen={"n": "bigint"}), ConfigError, "twice"),
        (lambda t: t.alter(add={5: "int"}), ConfigError, "names no column"),
        (lambda t: t.alter(add={"x": "decimal(50, 2)"}), ConfigError, "has not 1 to 38 digits"),
        (lambda t: t.alter(add={"x": "array<uuid>"}), ConfigError, "type uuid is not known"),
        (lambda t: t.alter(add={"nope.x": "int"}), SchemaError, "is not there"),
    ],
)  # fmt: skip
def test_what_can_not_be_done_says_why(
    empty: Any, act: Callable[[Any], object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        act(empty)
    assert not empty.timeline().instants
