"""Vectors in Avro blocks of log files, null ones too."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa


def test_vectors_that_are_null(tmp_path: Path) -> None:
    schema = pa.schema({"id": pa.int64(), "v": hoodoo.vector(2), "d": hoodoo.vector(1, "DOUBLE")})
    options = {"hoodie.logfile.data.block.format": "avro"}
    kind = "MERGE_ON_READ"
    table = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="id", table_type=kind, options=options
    )
    table.insert([{"id": i, "v": [i, 0.5], "d": [i]} for i in range(4)])
    changed = [{"id": 1, "v": None, "d": [2.5]}, {"id": 2, "v": [7.0, 8.0], "d": None}]
    table.upsert(changed)
    assert table.file_slices()[0].log_files
    assert table.read().to_arrow().sort_by("id").to_pylist()[1:3] == changed
