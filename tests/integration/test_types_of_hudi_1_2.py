"""Tables with columns of the types VECTOR and BLOB: written, changed, read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import ConfigError, SchemaError, StorageError
from hoodoo.model.schema import logical

SCHEMA = "id bigint, emb VECTOR(3), d VECTOR(2, DOUBLE), i VECTOR(3, INT8), more VECTOR(3), b BLOB"
TABLES: Mapping[str, tuple[str, dict[str, str]]] = {
    "copy on write": ("COPY_ON_WRITE", {}),
    "change data": ("COPY_ON_WRITE", {"hoodie.table.cdc.enabled": "true"}),
    "avro blocks": ("MERGE_ON_READ", {}),
    "parquet blocks": ("MERGE_ON_READ", {"hoodie.logfile.data.block.format": "parquet"}),
}


def row(number: int, version: int) -> dict[str, Any]:
    out = {"external_path": f"files/{number}", "offset": number, "length": None, "managed": False}
    inline = {"type": "INLINE", "data": b"%d" % version, "reference": None}
    return {
        "id": number,
        "emb": [number + 0.5, float(version), 2.0] if number % 3 else None,
        "d": [float(number), 0.1],
        "i": [-1, 2, version],
        "more": [0.0, 1.0, float(number)],
        "b": inline if number % 2 else {"type": "OUT_OF_LINE", "data": None, "reference": out},
    }


def rows_of(table: Any) -> dict[int, dict[str, Any]]:
    return {one["id"]: one for one in table.read().to_pylist()}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_keeps_vectors_and_blobs_through_all_that_is_done_to_it(
    tmp_path: Path, kind: str
) -> None:
    table_type, options = TABLES[kind]
    table = hoodoo.create(
        tmp_path / "t", SCHEMA, record_key="id", table_type=table_type, options=options
    )
    table.upsert([row(n, 1) for n in range(1, 8)])
    table.upsert([row(n, 2) for n in (2, 3, 9)])
    table.upsert([row(n, 3) for n in (2, 3, 10)])
    table.delete(where="id = 4")
    wanted = {n: row(n, 1) for n in (1, 5, 6, 7)} | {9: row(9, 2)}
    wanted |= {n: row(n, 3) for n in (2, 3, 10)}
    assert rows_of(table) == wanted
    changes = table.changes("0").to_pylist()
    assert row(3, 1) in [c["before"] for c in changes] or row(3, 3) in [c["after"] for c in changes]
    assert {r["id"]: r["emb"] for r in table.incremental("0").to_pylist()} == {
        n: r["emb"] for n, r in wanted.items()
    }
    if table_type == "MERGE_ON_READ":
        table.compact()
        assert rows_of(table) == wanted
    table.cluster()
    assert rows_of(table) == wanted
    assert {r["id"]: r for r in table.read(as_of=1).to_pylist()} == {
        n: row(n, 1) for n in range(1, 8)
    }
    nearest = table.search("emb", [10.5, 3, 2], k=1, columns=["id"])
    assert nearest.to_pylist() == [{"id": 10, "_distance": 0.0}]
    assert logical.text_of(table.schema.field("d").type) == "VECTOR(2, DOUBLE)"


def test_base_files_have_vectors_as_hudi_writes_them(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", SCHEMA, record_key="id")
    table.upsert([row(1, 1), row(2, 1)])
    (path,) = (tmp_path / "t").glob("*.parquet")
    file = pq.ParquetFile(path)
    stored = {c.path: c for c in (file.schema.column(i) for i in range(len(file.schema)))}
    assert stored["emb"].physical_type == "FIXED_LEN_BYTE_ARRAY" and stored["emb"].length == 12
    said = file.metadata.metadata[b"hoodie.vector.columns"].decode()
    assert said == "emb:VECTOR(3),d:VECTOR(2, DOUBLE),i:VECTOR(3, INT8),more:VECTOR(3)"
    little = np.array([1.5, 1, 2], "<f4").tobytes()
    assert little in file.read(["emb"])["emb"].to_pylist()
    names = [
        f["type"][1] for f in json.loads(file.metadata.metadata[b"parquet.avro.schema"])["fields"]
    ]
    assert "vector_float_3" in names  # the second column of the type
    assert {"vector_double_2", "blob"} <= {n["name"] for n in names if isinstance(n, dict)}


def test_every_way_into_a_table_gives_the_same_vectors(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, emb VECTOR(2)", record_key="id")
    given: list[Any] = [
        pa.array([[1, 2]], pa.list_(pa.float32(), 2)),
        pa.array([[1, 2]], pa.large_list(pa.float64())),
        pa.array([[1, 2]], pa.list_(pa.int64())),
        pa.array([np.array([1, 2], "<f4").tobytes()], pa.binary()),
        pa.array([np.array([1, 2], "<f4").tobytes()], pa.binary(8)),
        pa.array([[1, 2]], hoodoo.vector(2)),
        pa.FixedSizeListArray.from_arrays(pa.array([0.0, 0, 1, 2], pa.float32()), 2).slice(1),
    ]
    for number, array in enumerate(given):
        table.upsert(pa.table({"id": [number], "emb": array}))
    table.upsert(pa.table({"id": [100], "emb": pa.nulls(1)}))
    found = {r["id"]: r["emb"] for r in table.read().to_pylist()}
    assert found == {**{n: [1.0, 2.0] for n in range(len(given))}, 100: None}


@pytest.mark.parametrize("how", ["bulk_insert", "insert", "upsert"])
def test_arrow_lists_of_the_same_length_are_vectors_of_the_table(tmp_path: Path, how: str) -> None:
    """Arrow takes the type of such lists for equal to that of the column."""
    table = hoodoo.create(str(tmp_path / "t"), "id bigint, v VECTOR(2)", record_key="id")
    lists = pa.FixedSizeListArray.from_arrays(pa.array([1, 2, 3, 4], pa.float32()), 2)
    rows = pa.table({"id": [1, 2], "v": lists})
    getattr(table, how)(rows)
    assert table.to_arrow().sort_by("id")["v"].to_pylist() == [[1.0, 2.0], [3.0, 4.0]]
    wrong = pa.FixedSizeListArray.from_arrays(pa.array([1, np.nan], pa.float32()), 2)
    with pytest.raises(SchemaError, match="NaN"):
        getattr(table, how)(pa.table({"id": [3], "v": wrong}))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1.0]], "a vector of 1 elements came"),
        ([[1.0, float("nan")]], "NaN or infinity"),
        ([[1.0, None]], "with null"),
        ([["a", "b"]], "column emb"),
        ([b"1234"], "4 bytes"),
        ([1.0], "the incoming one is double"),
    ],
)
def test_bad_vectors_are_refused_and_nothing_is_written(
    tmp_path: Path, values: list[Any], words: str
) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, emb VECTOR(2)", record_key="id")
    table.upsert([{"id": 1, "emb": [1, 2]}])
    before = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(SchemaError, match=words):
        table.upsert(pa.table({"id": [2], "emb": values}))
    assert sorted(tmp_path.rglob("*.parquet")) == before
    assert rows_of(table) == {1: {"id": 1, "emb": [1.0, 2.0]}}


def test_whole_numbers_alone_are_int8(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, i VECTOR(2, INT8)", record_key="id")
    table.upsert(pa.table({"id": [1], "i": [[1.0, -128.0]]}))
    for wrong in ([1.5, 0.0], [128, 0]):
        with pytest.raises(SchemaError, match="column i"):
            table.upsert(pa.table({"id": [1], "i": [wrong]}))
    assert rows_of(table)[1]["i"] == [1, -128]


@pytest.mark.parametrize("role", ["record_key", "partition_by", "ordering"])
@pytest.mark.parametrize("column", ["emb", "b"])
def test_no_key_path_or_order_is_of_such_a_type(tmp_path: Path, role: str, column: str) -> None:
    wanted = {"record_key": "id", role: column}
    with pytest.raises(ConfigError, match=f"column {column}"):
        hoodoo.create(tmp_path / "t", "id bigint, emb VECTOR(2), b BLOB", **wanted)
    assert not (tmp_path / "t").exists()


def test_a_dimension_stays(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, emb VECTOR(2)", record_key="id")
    longer = pa.table({"id": [1], "emb": pa.array([[1, 2, 3]], hoodoo.vector(3))})
    with pytest.raises(SchemaError, match=r"type is VECTOR\(2\), and a vector of 3 elements"):
        table.upsert(longer)
    with pytest.raises((SchemaError, ConfigError)):
        table.alter(widen={"emb": hoodoo.vector(3)})
    table.alter(rename={"emb": "embedding"})
    with pytest.raises(SchemaError, match=r"type is VECTOR\(2\), and a vector of 3 elements"):
        table.upsert(longer.rename_columns(["id", "embedding"]))


@pytest.mark.parametrize("text", ["VECTOR", "VECTOR(0)", "VECTOR(2, HALF)", "array<VECTOR(2)>"])
def test_types_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SchemaError, match="column"):
        hoodoo.create(tmp_path / "t", f"id bigint, emb {text}", record_key="id")
    assert not (tmp_path / "t").exists()


def test_sql_declares_fills_and_searches(tmp_path: Path) -> None:
    session = hoodoo.session()
    session.sql(
        "CREATE TABLE t (id BIGINT, emb VECTOR(2), d VECTOR(2, DOUBLE), i VECTOR(2, INT8), b BLOB) "
        f"USING hudi LOCATION '{tmp_path / 't'}' TBLPROPERTIES (primaryKey='id')"
    )
    session.sql(
        "INSERT INTO t VALUES (1, array(1.5, 2.5), array(0.5, 1.5), array(1, -2), "
        "named_struct('type','INLINE','data',cast('hello' as binary),'reference',null))"
    )
    session.sql("ALTER TABLE t ADD COLUMNS (v VECTOR(3), c BLOB)")
    table = hoodoo.open(tmp_path / "t")
    kinds = [logical.text_of(field.type) for field in table.schema]
    declared = ["VECTOR(2)", "VECTOR(2, DOUBLE)", "VECTOR(2, INT8)", "BLOB"]
    assert kinds == ["", *declared, "VECTOR(3)", "BLOB"]
    assert rows_of(table)[1]["emb"] == [1.5, 2.5]
    table.update({"emb": "array(7.0, 8.0)"}, where="id = 1")
    found = hoodoo.sql(
        "SELECT id, _hudi_distance FROM hudi_vector_search('t', 'emb', ARRAY(7.0, 8.0), 1, 'l2')",
        tables={"t": table},
    )
    assert found.to_pylist() == [{"id": 1, "_hudi_distance": 0.0}]
    answer = hoodoo.sql("SELECT id, read_blob(b) AS data FROM t WHERE id = 1", tables={"t": table})
    assert answer.to_pylist() == [{"id": 1, "data": b"hello"}]
    with pytest.raises(ConfigError, match="read_blob"):
        hoodoo.sql("SELECT length(read_blob(b)) FROM t", tables={"t": table})


def blobs(tmp_path: Path, *references: dict[str, Any], **options: str) -> Any:
    table = hoodoo.create(
        tmp_path / "t", "id bigint, b BLOB", record_key="id", options=options or None
    )
    (tmp_path / "t/files").mkdir()
    (tmp_path / "t/files/a").write_bytes(b"0123456789")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside/c").write_bytes(b"beside")
    made = [{"type": "OUT_OF_LINE", "reference": one} for one in references]
    table.upsert([{"id": n, "b": one} for n, one in enumerate(made)])
    return table


def test_blobs_are_read_where_they_are(tmp_path: Path) -> None:
    table = blobs(
        tmp_path,
        {"external_path": "files/a"},
        {"external_path": f"{tmp_path}/t/files/a", "offset": 2, "length": 3},
        {"external_path": f"file://{tmp_path}/t/files/a", "offset": 8},
    )
    table.upsert(pa.table({"id": [7, 8], "b": pa.array([b"inline", None])}))
    found = table.read_blob("b").sort_by("id")
    assert found["b"].to_pylist() == [b"0123456789", b"234", b"89", b"inline", None]
    assert table.read(where="id = 1").read_blob("b")["b"].to_pylist() == [b"234"]
    assert table.read_blob("b", where="id = 2", columns=["id"]).to_pylist() == [
        {"id": 2, "b": b"89"}
    ]
    sql = hoodoo.sql("SELECT read_blob(b) FROM t WHERE id = 1", tables={"t": table})
    assert sql.to_pylist() == [{"read_blob(b)": b"234"}]
    with pytest.raises(SchemaError, match="has no blobs"):
        table.read_blob("id")
    for wrong, error in ((pa.array([1]), SchemaError), (b"bytes", ConfigError)):
        with pytest.raises(error, match="blobs"):
            table.blob_bytes(wrong)


def test_rows_of_python_have_bytes_beside_references(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), "id bigint, b BLOB", record_key="id")
    where = {"type": "OUT_OF_LINE", "reference": {"external_path": "f"}}
    table.upsert([{"id": 0, "b": b"x"}, {"id": 1, "b": where}, {"id": 2, "b": None}])
    kinds = [b and b["type"] for b in table.read().to_arrow().sort_by("id")["b"].to_pylist()]
    assert kinds == ["INLINE", "OUT_OF_LINE", None]
    with pytest.raises(SchemaError, match="column b"):
        table.upsert([{"id": 3, "b": where}, {"id": 4, "b": 7}])
    assert table.count() == 3


def test_a_reference_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "beside")
    paths = ("../beside/c", f"{tmp_path}/beside/c", f"{tmp_path}/t/../beside/c")
    table = blobs(tmp_path, *({"external_path": one} for one in paths))
    (tmp_path / "t/files/link").symlink_to(tmp_path / "beside/c")
    linked = {"type": "OUT_OF_LINE", "reference": {"external_path": "files/link"}}
    table.upsert([{"id": 3, "b": linked}])
    assert table.read().count() == 4  # which opens no such file
    for number in range(4):
        with pytest.raises(ConfigError, match="outside of the table"):
            table.read_blob("b", where=f"id = {number}")
    allowed = hoodoo.open(tmp_path / "t", options={"hoodoo.blob.folders": f"{tmp_path}/beside"})
    assert allowed.read_blob("b")["b"].to_pylist() == [b"beside"] * 4
    folders = [f"{tmp_path}/beside"]
    assert table.read(where="id = 0").read_blob("b", folders)["b"].to_pylist() == [b"beside"]


def test_files_that_are_lost_or_short_are_named(tmp_path: Path) -> None:
    table = blobs(
        tmp_path,
        {"external_path": "files/lost"},
        {"external_path": "files/a", "offset": 5, "length": 9},
    )
    for number, words in enumerate(("file files/lost of a blob", "has 10 bytes")):
        with pytest.raises(StorageError, match=words):
            table.read_blob("b", where=f"id = {number}")


def test_wrong_blobs_are_refused(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, b BLOB", record_key="id")
    reference = {"external_path": "a", "managed": True}
    for wrong in ({"type": "INLINE"}, {"type": "OUT_OF_LINE", "reference": reference}):
        with pytest.raises(SchemaError, match="column b"):
            table.upsert([{"id": 1, "b": wrong}])
    assert table.read().count() == 0
