"""Rows of changelogs in log files: Spark Hudi leaves out the same ones."""

from __future__ import annotations

import hoodoo
import pyarrow as pa
import pytest
from both import Both, same_rows
from hoodoo_rows.testing.tables import Tuples

SCHEMA = pa.schema(
    [("id", pa.string()), ("ts", pa.int64()), ("_hoodie_operation", pa.string())]
)  # fmt: skip

rows = Tuples(SCHEMA)


@pytest.mark.parametrize(("version", "blocks"), [(9, "avro"), (6, "parquet")])
def test_rows_that_say_that_they_are_gone(both: Both, version: int, blocks: str) -> None:
    table = hoodoo.create(
        str(both.path), SCHEMA, name="t", record_key="id", ordering="ts", table_version=version,
        table_type="MERGE_ON_READ", options={"hoodie.logfile.data.block.format": blocks},
    )  # fmt: skip
    table.upsert(rows(*[(str(n), 5, "I") for n in range(7)]))
    later = [(6, "U"), (6, "D"), (6, "-U"), (4, "D"), (5, "D"), (6, "I")]
    table.upsert(rows(*[(str(n), ts, said) for n, (ts, said) in enumerate(later)]))
    ours = table.read(meta=True).to_arrow()
    assert sorted(ours.column("id").to_pylist()) == ["0", "3", "5", "6"]
    same_rows(ours, both.spark.read(both.path), f"version {version}, {blocks}")
