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
from hoodoo.errors import ConfigError

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


def text_of(kind: pa.DataType) -> str:
    """What Hudi calls the type: its first child says it."""
    said = kind.field(0).metadata if kind.num_fields else None
    return said[b"hudi_type"].decode() if said else ""


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
    assert text_of(table.schema.field("d").type) == "VECTOR(2, DOUBLE)"


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


@pytest.mark.parametrize("role", ["record_key", "partition_by", "ordering"])
@pytest.mark.parametrize("column", ["emb", "b"])
def test_no_key_path_or_order_is_of_such_a_type(tmp_path: Path, role: str, column: str) -> None:
    wanted = {"record_key": "id", role: column}
    with pytest.raises(ConfigError, match=f"column {column}"):
        hoodoo.create(tmp_path / "t", "id bigint, emb VECTOR(2), b BLOB", **wanted)
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
    kinds = [text_of(field.type) for field in table.schema]
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
