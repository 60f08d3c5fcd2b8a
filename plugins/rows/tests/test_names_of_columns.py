"""Names of columns that Hoodoo, or a library that it uses, has or had for its own columns, are names like any other.

Debezium's flattened messages have a column ``__op``, for example.
"""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.hookspecs.engine import PART, SLOT
from hoodoo_rows.engine.row_shape import IS_INDEX
from hoodoo_rows.model.internal_row import OP
from hoodoo_rows.produce.columns import BUCKET, FILE_ID, SEQ

OWN = (PART, SLOT, OP, IS_INDEX, BUCKET, FILE_ID, SEQ)
NAMES = (
    *(f"__{name}" for name in ("op", "seq", "part", "slot", "bucket", "file_id", "row", "at", "size", "is_index_record")),
    *("__filename", "__fragment_index", "__batch_index", "__last_in_fragment", "__index_level_0__"),
    *("record_key", "partition_path", "file_id", "instant_time", "operation_type", "is_index_record", "row_data"),
    *("op", "instant", "completed", "before", "after", "target", "source", "part", "slot", "seq", "row"),
)  # fmt: skip
# The types that columns of Hoodoo with such names have, and one that none has.
KINDS = {
    "__file_id": pa.string(),
    "__op": pa.int8(),
    "__part": pa.int32(),
    "__slot": pa.int32(),
    "__bucket": pa.int32(),
}
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("p", pa.string()),
        *((n, KINDS.get(n, pa.int64())) for n in NAMES),
        ("v", pa.string()),
    ]
)


def rows(*found: tuple[int, str, int, str]) -> pa.Table:
    """Of key, partition, the value of all columns in between, and ``v``."""
    kinds = {n: (str if pa.types.is_string(SCHEMA.field(n).type) else int) for n in NAMES}
    made = [{"id": k, "p": p, **{n: kinds[n](x) for n in NAMES}, "v": v} for k, p, x, v in found]
    return pa.Table.from_pylist(made, SCHEMA)


def test_own_columns_have_names_that_no_table_has(tmp_path: Path) -> None:
    for name in OWN:
        with pytest.raises(hoodoo.errors.SchemaError, match="are reserved for Hudi's own columns"):
            hoodoo.create(
                str(tmp_path / name),
                pa.schema([("id", pa.int64()), (name, pa.int64())]),
                record_key="id",
            )


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize(
    ("index", "serializer"),
    [
        ("simple", "arrow"),
        ("global_simple", "avro"),
        ("bucket", "pickle"),
        ("record_index", "avro"),
    ],
)
@pytest.mark.sampled(2)
def test_every_operation(tmp_path: Path, kind: str, index: str, serializer: str) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="p", ordering="__op", table_type=kind, index=index,
        options={"hoodoo.serializer": serializer} | ({"hoodie.bucket.index.num.buckets": 2} if index == "bucket" else {}),
    )  # fmt: skip
    first = table.upsert(rows((1, "x", 1, "a"), (2, "x", 2, "b"), (3, "y", 3, "c")))
    table.upsert(rows((1, "x", 0, "late"), (2, "x", 5, "B")))
    table.update({"v": "'C'"}, where="__op = 3 and __seq = 3")
    table.merge(rows((3, "y", 7, "D"), (4, "y", 1, "new")), on="id").when_matched_update(
        {"v": "source.v", "__op": "source.__op"}
    ).when_not_matched_insert_all().execute()
    table.bulk_insert(rows((5, "x", 1, "gone")))
    table.delete(where="__seq = 1 and v = 'gone'")
    found = table.read().to_arrow().sort_by("id").to_pylist()
    assert [(r["id"], r["__op"], r["__seq"], r["__file_id"], r["v"]) for r in found] == [
        (1, 1, 1, "1", "a"), (2, 5, 5, "5", "B"), (3, 7, 3, "3", "D"), (4, 1, 1, "1", "new"),
    ]  # fmt: skip
    kinds = sorted(c["op"] for c in table.changes(first.instant).to_pylist())
    assert kinds == ["delete", "insert", "insert", "update", "update", "update"]
    if kind == "MERGE_ON_READ":
        table.compact()
    if index != "bucket":
        table.cluster(columns=["__op"])
    table.insert_overwrite(rows((9, "y", 9, "z")))
    assert sorted(table.read(["id"]).to_arrow()["id"].to_pylist()) == [1, 2, 9]
    assert table.verify().ok


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [6, 9])
def test_letters_of_all_alphabets(tmp_path: Path, kind: str, version: int) -> None:
    """Avro in Java takes them, and so Spark Hudi makes such columns."""
    schema = pa.schema(
        [
            ("schlüssel", pa.string()),
            ("größe", pa.int64()),
            ("город", pa.string()),
            ("名", pa.struct([("前", pa.int32())])),
        ]
    )
    table = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="schlüssel", partition_by="город", ordering="größe",
        table_type=kind, table_version=version, index="record_index",
    )  # fmt: skip
    row = {"schlüssel": "k", "größe": 1, "город": "м", "名": {"前": 1}}
    table.upsert([row, {**row, "schlüssel": "l"}])
    table = hoodoo.open(table.path)
    table.upsert([{**row, "größe": 2}])
    table.delete([{**row, "schlüssel": "l", "größe": 3}])
    if kind == "MERGE_ON_READ":
        assert hoodoo.open(table.path).to_arrow().to_pylist() == [{**row, "größe": 2}]
        table.compact()
    assert hoodoo.open(table.path).to_arrow().to_pylist() == [{**row, "größe": 2}]
    assert table.read(where="größe > 1 and город = 'м'").count() == 1
    assert table.verify().ok


@pytest.mark.parametrize("name", ["½", "x²", "٣", "a\u0301", "𝒳", "a b", "a.b", "1a", ""])
def test_what_is_no_letter_there_either(tmp_path: Path, name: str) -> None:
    with pytest.raises(hoodoo.errors.SchemaError, match="has letters, digits and _ only"):
        hoodoo.create(str(tmp_path), pa.schema([("id", pa.int64()), (name, pa.int64())]))
