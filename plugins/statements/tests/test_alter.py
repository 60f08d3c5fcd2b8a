"""Columns added, widened and made nullable by hand: files from before are read right; what can't be done says why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError, SchemaError

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()), pa.field("n", pa.int32()), pa.field("f", pa.float32()),
        pa.field("price", pa.decimal128(5, 2)), pa.field("must", pa.string(), nullable=False),
        pa.field("s", pa.struct([("a", pa.int32())])),
    ]
)  # fmt: skip


def row(key: int, **more: Any) -> dict[str, Any]:
    return {"id": key, "n": key, "f": 0.5, "price": None, "must": "x", "s": {"a": key}, **more}


@pytest.fixture(params=[("COPY_ON_WRITE", 9), ("MERGE_ON_READ", 9), ("MERGE_ON_READ", 6)], ids=str)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    kind, version = request.param
    made = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", table_type=kind, table_version=version
    )
    made.upsert([row(1), row(2)])
    made.upsert([row(2, n=20)])
    return made


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


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda t: t.alter(), ConfigError, "changes nothing"),
        (lambda t: t.alter(add={"N": "int"}), SchemaError, "there already"),
        (lambda t: t.alter(add={"x": "nosuch"}), ConfigError, "is no type"),
        (lambda t: t.alter(add={"n.x": "int"}), SchemaError, "no struct"),
        (lambda t: t.alter(widen={"m": "int"}), SchemaError, "m"),
        (lambda t: t.alter(widen={"n": "string"}), SchemaError, "incoming|does not become"),
        (lambda t: t.alter(widen={"f": "int"}), SchemaError, "does not become"),
        (lambda t: t.alter(widen={"id": "double"}), HoodooError, "id"),
        (lambda t: t.alter(nullable="nope"), SchemaError, "nope"),
        (lambda t: t.alter(nullable="id"), HoodooError, "id"),
        (lambda t: t.alter(rename={"n": "m"}), SchemaError, r"can't be renamed.*on.read.*table.update"),
        (lambda t: t.alter(rename=["n", "m"]), ConfigError, "Give a dictionary"),
        (lambda t: t.alter(drop=["n"]), SchemaError, r"can't be dropped.*on.read"),
        (lambda t: t.alter(reorder=["n"]), SchemaError, "Read them in your order"),
        (lambda t: t.alter(comments={"n": "x"}), SchemaError, "not kept"),
    ],
)  # fmt: skip
def test_what_can_not_be_done_says_why(
    tmp_path: Path, act: Callable[[Any], object], error: type[Exception], says: str
) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    before = table.schema
    with pytest.raises(error, match=says):
        act(table)
    assert table.schema == before and not table.timeline().instants
