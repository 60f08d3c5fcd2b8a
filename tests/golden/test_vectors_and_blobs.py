"""A table of Spark Hudi 1.2 with vectors and a blob: its values are those of its file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import hoodoo
import numpy as np
import pyarrow.parquet as pq
from hoodoo.model.schema import logical
from hoodoo.model.schema.avro import avro_text

NAME, FOOTER = "cow_v9_spark12_vector_blob", b"hoodie.vector.columns"


def test_the_values_are_those_of_the_file(golden: Callable[[str], Path]) -> None:
    path = golden(NAME)
    table = hoodoo.open(path)
    (stored,) = pq.ParquetFile(next(path.glob("*.parquet"))).read().to_pylist()
    (row,) = table.read().to_pylist()
    assert row["emb"] == np.frombuffer(stored["emb"], "<f4").tolist() == [1.0, 2.0, 3.0, 4.0]
    assert row["d"] == np.frombuffer(stored["d"], "<f8").tolist() == [0.5, 1.5]
    assert row["i8"] == np.frombuffer(stored["i8"], "<i1").tolist() == [1, -2, 3]
    assert row["b"] == stored["b"] == {"type": "INLINE", "data": b"hello", "reference": None}
    assert table.read_blob("b")["b"].to_pylist() == [b"hello"]
    kinds = {field.name: logical.text_of(field.type) for field in table.schema}
    said = pq.ParquetFile(next(path.glob("*.parquet"))).metadata.metadata[FOOTER].decode()
    assert said == ",".join(f"{n}:{kinds[n]}" for n in ("emb", "d", "i8"))
    assert kinds["b"] == "BLOB" and kinds["id"] == ""


def test_hoodoo_writes_on(golden: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copytree(golden(NAME), tmp_path / "t")
    table = hoodoo.open(tmp_path / "t")
    before = table.config.create_schema
    table.upsert([{"id": 2, "emb": [4, 3, 2, 1], "d": None, "i8": [0, 0, 1], "b": b"two"}])
    first, second = sorted(table.read().to_pylist(), key=lambda row: int(row["id"]))
    assert first["emb"] == [1.0, 2.0, 3.0, 4.0] and first["b"]["data"] == b"hello"
    assert second["emb"] == [4.0, 3.0, 2.0, 1.0] and second["i8"] == [0, 0, 1]
    # The text that Hoodoo makes of the schema is Spark's, byte for byte.
    assert before == avro_text(table.schema, table.config.name)
